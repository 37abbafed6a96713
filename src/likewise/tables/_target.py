"""The target of a table: classes, or numbers to predict."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise._validation import check_choice

TASKS = ("auto", "classification", "regression")
_MAX_CLASSES = 20  # different numbers that may be classes in any case


def infer_task(values: Any) -> str:
    """Return "regression" for measurements and "classification" for classes.

    Measurements are more than 20 different numbers, at least one of them with decimals or
    occurring only once.

    Examples
    --------
    >>> infer_task(["red", "blue", "red"]), infer_task([1, 2, 2, 1]), infer_task(range(100, 200))
    ('classification', 'classification', 'regression')
    """
    if not _are_numbers(values):
        return "classification"
    different, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    has_decimals = (different != np.round(different)).any()
    is_measured = len(different) > _MAX_CLASSES and (has_decimals or counts.min() == 1)
    return "regression" if is_measured else "classification"


def target_values(values: Any, target: str, task: str = "auto") -> np.ndarray:
    """Return the target as classes (integers or text), or as floats for regression.

    Parameters
    ----------
    values : sequence
        Without missing values.
    target : str
        Its name, for messages.
    task : {"auto", "classification", "regression"}, default="auto"
        Inferred by default.
    """
    check_choice(task, "task", TASKS)
    if (infer_task(values) if task == "auto" else task) == "regression":
        for row, value in enumerate(values):
            if not _are_numbers([value]) or not np.isfinite(float(value)):
                raise ValueError(
                    f"{target} must hold numbers for regression, but row {row} holds {value!r}."
                )
        return np.asarray(values, dtype=np.float64)
    if _are_numbers(values):
        numbers = np.asarray(values, dtype=np.float64)
        if (numbers == np.round(numbers)).all():
            return numbers.astype(np.int64)
    return np.array([str(value) for value in values])


def _are_numbers(values: Sequence[Any]) -> bool:
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "iuf"
    return all(
        isinstance(value, int | float | np.number) and not isinstance(value, bool)
        for value in values
    )
