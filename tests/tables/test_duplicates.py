"""Equal rows get one number, in every kind of table."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from likewise.tables import row_digests, row_groups

COLUMNS = {
    "id": [1, 2, 3, 4, 5],
    "price": [1.5, 0.0, 1.5, -0.0, 1.5],
    "kind": ["boot", None, "boot", None, "sandal"],
    "made": [date(2024, 3, 5), None, date(2024, 3, 5), None, date(2024, 3, 5)],
    "vector": [[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 4.0], [1.0, 2.0]],
}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_rows_are_compared_in_every_column_but_the_ignored(frame):
    assert row_groups(frame(COLUMNS), ["id"]).tolist() == [0, 1, 0, 1, 2]
    assert row_groups(frame(COLUMNS)).tolist() == [0, 1, 2, 3, 4]


def test_missing_numbers_are_equal():
    X = np.array([[np.nan, 1], [2, 1], [np.nan, 1], [-np.nan, 1]])
    assert row_groups(X).tolist() == [0, 1, 0, 0]


def test_sparse_rows_are_compared_by_value():
    X = csr_array(([1.0, 2.0, 2.0, 1.0, 0.0], [0, 3, 3, 0, 1], [0, 2, 5, 5]), shape=(3, 4))
    assert row_groups(X).tolist() == [0, 0, 1]
    assert row_groups(X.toarray()).tolist() == [0, 0, 1]


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_digests_of_equal_rows_are_equal_in_any_table(form):
    X = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 2.0], [1.0, -0.0, 2.0]])
    digests = row_digests(form(X))
    assert digests.dtype == np.uint64
    assert digests[0] == digests[2] != digests[1]
    np.testing.assert_array_equal(row_digests(form(X[::-1])), digests[::-1])
    np.testing.assert_array_equal(row_digests(form(X.astype(np.float32))), digests)
