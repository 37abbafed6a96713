"""Columns that name rows are the ids, and no features."""

import numpy as np
import pandas as pd
import pytest

from likewise.tables import Columns


@pytest.mark.parametrize("name", ["customer_id", "CustomerID", "orderId", "order-key", "Nr"])
@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_unique_values_under_such_a_name_are_ids(name, kind):
    ids = [7, 3, 9, 1] if kind == "numbers" else ["c7", "c3", "c9", "c1"]
    columns = Columns().fit(pd.DataFrame({name: ids, "x": [1.0, 2.0, 3.0, 5.0]}))
    assert columns.id_ == name
    assert columns.columns_ == ["x"]
    assert columns.sentences_[0] == f"{name}: the ids of the rows."


@pytest.mark.parametrize("name", ["grid", "paid", "candid", "price", "valid"])
def test_other_names_are_not(name):
    columns = Columns().fit(pd.DataFrame({name: [7, 3, 9, 1], "x": [1.0, 2.0, 3.0, 5.0]}))
    assert columns.id_ is None
    assert columns.columns_ == [name, "x"]


@pytest.mark.parametrize("values", [[7, 7, 9, 1], [7.5, 3.5, 9.5, 1.5], [7, None, 9, 1]])
def test_values_that_repeat_or_measure_are_features(values):
    columns = Columns().fit(pd.DataFrame({"store_id": values, "x": [1.0, 2.0, 3.0, 5.0]}))
    assert columns.id_ is None
    assert "store_id" in columns.columns_


def test_copies_of_rows_may_repeat_their_id():
    frame = pd.DataFrame({"customer_id": [7, 3, 7, 1], "x": [1.0, 2.0, 1.0, 5.0]})
    assert Columns().fit(frame).id_ == "customer_id"
    assert Columns().fit(frame.assign(x=np.arange(4.0))).id_ is None


def test_a_second_name_of_the_rows_is_not_used_either():
    frame = pd.DataFrame({"customer_id": [7, 3, 9], "id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]})
    columns = Columns().fit(frame)
    assert columns.id_ == "id"
    assert columns.columns_ == ["x"]
    assert "customer_id: not used; it names rows, as the ids do." in columns.sentences_


def test_a_parameter_has_the_last_word():
    frame = pd.DataFrame({"customer_id": [7, 3, 9], "code_id": [1, 2, 3], "x": [1.0, 2.0, 3.0]})
    assert Columns(numeric=["customer_id"]).fit(frame).id_ == "code_id"
    assert Columns(id="x").fit(frame).id_ == "x"
