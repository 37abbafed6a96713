"""Checks of arguments: one sentence that names the argument, what was given and what is needed.

Also the only door to what other packages keep private.
"""

import math
import numbers
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np

Rows: TypeAlias = Any  # a 2-D array or a scipy CSR container, which is not typed

__all__ = [
    "Rows",
    "as_objects",
    "call_on_pair",
    "check_choice",
    "check_classes",
    "check_labels",
    "check_number",
    "check_rows",
    "check_same_length",
    "check_whole_number",
    "is_sparse",
    "n_rows",
    "sample_rows",
    "take",
    "unknown_name",
]


def is_sparse(rows: Any) -> bool:
    """Tell whether `rows` is a scipy sparse container, without importing scipy."""
    return not isinstance(rows, np.ndarray) and hasattr(rows, "tocsr") and hasattr(rows, "nnz")


def check_rows(rows: Any, name: str, *, n_features: int | None = None, finite: bool = True) -> Rows:
    """Return `rows` as a finite 2-D array, C-contiguous float32 or float64, or as CSR.

    float32 stays float32; every other number becomes float64. Nothing is copied that is already
    as it should be. With `finite` false the numbers themselves are not looked at.
    """
    checked = _as_csr(rows, name) if is_sparse(rows) else _as_dense(rows, name)
    if checked.shape[0] == 0:
        raise ValueError(f"{name} has no rows; at least one is needed.")
    if checked.shape[1] == 0:
        raise ValueError(f"{name} has no columns; at least one is needed.")
    if n_features is not None and checked.shape[1] != n_features:
        raise ValueError(f"{name} has {checked.shape[1]} columns, but {n_features} are needed.")
    if finite:
        _refuse_non_finite(checked, name)
    return checked


def _as_dense(rows: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(rows)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be rows of numbers: {error}.") from error
    _refuse_other_than_numbers(array, name)
    _refuse_other_than_rows(array, name)
    kept = array.dtype if array.dtype in (np.float32, np.float64) else np.float64
    return np.ascontiguousarray(array, dtype=kept)


def _as_csr(rows: Any, name: str) -> Rows:
    _refuse_other_than_numbers(rows, name)
    _refuse_other_than_rows(rows, name)
    csr = rows.tocsr()
    if csr.dtype not in (np.float32, np.float64):
        csr = csr.astype(np.float64)
    if not csr.has_canonical_format:
        if csr is rows:  # what the caller handed over is not ours to change
            csr = csr.copy()
        csr.sum_duplicates()
    return csr


def _refuse_other_than_numbers(rows: Any, name: str) -> None:
    if rows.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be rows of numbers, but {rows.dtype} was given.")


def _refuse_other_than_rows(rows: Any, name: str) -> None:
    if rows.ndim != 2:
        hint = f"; one row is written {name}.reshape(1, -1)" if rows.ndim == 1 else ""
        raise ValueError(
            f"{name} must be 2-D, a row for each sample, but {rows.ndim}-D was given{hint}."
        )


def _refuse_non_finite(rows: Rows, name: str) -> None:
    values = rows.data if is_sparse(rows) else rows
    # The sum of finite numbers is finite, short of an overflow, and needs no array of booleans.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()) or np.isfinite(values).all():
            return
    if is_sparse(rows):
        at = np.flatnonzero(~np.isfinite(values))[0]
        row, column = int(np.searchsorted(rows.indptr, at, side="right")) - 1, rows.indices[at]
        value = values[at]
    else:
        row, column = np.argwhere(~np.isfinite(values))[0]
        value = values[row, column]
    what = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(f"{name} holds {what} in row {row}, column {column}; it must be finite.")


def n_rows(rows: Any) -> int:
    """Return how many rows an array, CSR, frame or list of objects has."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def take(rows: Any, which: np.ndarray) -> Any:
    """Return some of the rows of an array, CSR, frame, series or list of objects."""
    if isinstance(rows, list | tuple):
        return [rows[i] for i in which]
    return rows.iloc[which] if hasattr(rows, "iloc") else rows[which]


def sample_rows(
    n: int, size: int, *, labels: np.ndarray | None = None, random_state: Any = 0
) -> np.ndarray:
    """Return the numbers of at most `size` random rows of `n`, ascending; the same for a seed.

    With `labels`, integers from 0, each class keeps its share of the rows and at least two.
    """
    if n <= size:
        return np.arange(n)
    if labels is None:
        return np.sort(np.random.default_rng(random_state).choice(n, size, replace=False))
    from sklearn.utils import check_random_state

    random = check_random_state(random_state)
    parts = []
    for label in range(labels.max() + 1):
        rows = np.flatnonzero(labels == label)
        wanted = min(len(rows), max(2, round(size * len(rows) / n)))
        parts.append(random.permutation(rows)[:wanted])
    return np.sort(np.concatenate(parts))


def as_objects(rows: Any, name: str) -> Any:
    """Return `rows` as a sequence of objects: a list's entries, an array's or a frame's rows."""
    if is_sparse(rows):
        raise TypeError(
            f"{name} is sparse, but a function of two objects takes a list of objects or the rows "
            f"of a dense array: {name}.toarray()."
        )
    objects = rows if isinstance(rows, list | tuple | np.ndarray) else np.asarray(rows)
    if isinstance(objects, np.ndarray) and objects.ndim == 0:  # a single thing, or a set
        raise TypeError(f"{name} must be a list of objects or an array, but {rows!r} was given.")
    if len(objects) == 0:
        raise ValueError(f"{name} has no rows; at least one is needed.")
    return objects


def call_on_pair(
    function: Callable[[Any, Any], Any], first: Any, second: Any, pair: Callable[[], str]
) -> float:
    """Return what a user's function says of two objects as a finite number.

    `pair` says which two they are, for the error; it is asked only then.
    """
    try:
        value = function(first, second)
    except Exception as error:
        raise ValueError(
            f"the function failed on {pair()}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(value, numbers.Real):
        raise TypeError(f"the function must return a number, but gave {value!r} on {pair()}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(
            f"the function must return a finite number, but gave {number} on {pair()}."
        )
    return number


def check_same_length(first: Any, first_name: str, second: Any, second_name: str) -> None:
    """Refuse two arguments that should pair row by row and do not."""
    if n_rows(first) != n_rows(second):
        raise ValueError(
            f"{first_name} has {n_rows(first)} rows and {second_name} has {n_rows(second)}, "
            "but they pair row by row and must have as many."
        )


def check_labels(labels: Any, name: str, rows: Any, rows_name: str) -> np.ndarray:
    """Return `labels` as a 1-D array with one label a row."""
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-D, one label a row, but {array.ndim}-D was given.")
    check_same_length(rows, rows_name, array, name)
    return array


def check_classes(labels: np.ndarray, name: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in order and the class number of each row; one class is refused."""
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{name} has one class, {classes[0]!s}; at least two classes are needed.")
    return classes, numbers


def check_whole_number(value: Any, name: str, *, least: int = 1) -> int:
    """Return `value` as an int of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, but {value!r} was given.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, but {value} was given.")
    return int(value)


def check_number(value: Any, name: str, *, least: float, strictly: bool = False) -> float:
    """Return `value` as a finite float of at least (`strictly`: above) `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, but {value!r} was given.")
    if not np.isfinite(float(value)) or value < least or (strictly and value == least):
        bound = f"above {least}" if strictly else f"at least {least}"
        raise ValueError(f"{name} must be finite and {bound}, but {value} was given.")
    return float(value)


def check_choice(value: Any, name: str, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`."""
    known = list(choices)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {_listed(known)}, but {value!r} was given.")
    if value not in known:
        raise unknown_name(value, name, known)
    return value


def unknown_name(value: str, name: str, known: Iterable[str]) -> ValueError:
    """Return the error for a name that is not known: list the known, suggest the nearest."""
    known = list(known)
    nearest = get_close_matches(value, known, n=1)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    return ValueError(f"{name} must be one of {_listed(known)}, but {value!r} was given.{hint}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
