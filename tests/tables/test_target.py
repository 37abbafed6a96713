"""Whether a target is classes or numbers."""

import numpy as np
import pyarrow as pa
import pytest

from likewise.tables import Table, infer_task, target_values

TWICE = np.repeat(np.arange(25), 2)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["red", "blue"] * 30, "classification"),
        ([True, False] * 30, "classification"),
        (list(range(20)) * 2, "classification"),
        (list(range(20)), "classification"),  # few numbers may be classes, even once each
        (TWICE, "classification"),  # many classes, each of which can be tested
        (np.append(TWICE, 99), "regression"),  # a value that occurs once is no class
        (np.arange(21), "regression"),
        (np.repeat(np.arange(21) / 4, 3), "regression"),
        (np.repeat(np.arange(20) / 4, 3), "classification"),
        ([1, 2, "x"] * 30, "classification"),
    ],
)
def test_more_than_twenty_numbers_with_decimals_or_single_ones_are_measurements(values, task):
    assert infer_task(values) == task


def test_classes_are_integers_or_text_and_numbers_are_floats():
    assert target_values([1.0, 2.0], "y").dtype == np.int64
    assert target_values(["b", "a"], "y").tolist() == ["b", "a"]
    assert target_values([0.5, 1.5], "y").tolist() == ["0.5", "1.5"]
    assert target_values([1, 2], "y", "regression").dtype == np.float64
    assert target_values(np.arange(50), "y", "classification").dtype == np.int64


@pytest.mark.parametrize("value", ["dear", None, np.nan, np.inf])
def test_what_is_no_number_is_refused_with_its_row(value):
    with pytest.raises(ValueError, match="price must hold numbers for regression, but row 1 holds"):
        target_values([1.0, value], "price", "regression")
    with pytest.raises(ValueError, match=r"task must be one of .* Did you mean 'regression'\?"):
        target_values([1.0], "price", "regresion")


def test_a_table_takes_its_target_as_either():
    table = Table("x", pa.table({"a": [1.0, 2.0, 3.0], "price": [10, None, 30]}))
    found = table.with_target("price", "regression")
    assert found.labels.tolist() == [10.0, 30.0]
    assert found.labels.dtype == np.float64
    assert found.with_target("price", "classification").labels.dtype == np.int64
