"""Argument checks: one sentence that names the argument, the value given and the remedy."""

import math
import numbers
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np

# floats without decimals may be classes, but more of them that repeat less are measurements
_MAX_FLOAT_CLASSES, _ROWS_OF_FLOAT_CLASS = 20, 4
_VALUES_PER_CHECK = 65_536

_NOT_A_NUMBER = r"could not convert string to float: (?:np\.str_\()?(.*?)\)?"

FLOATS = [np.float64, np.float32]  # dtypes that `validate_data` keeps
Rows: TypeAlias = Any  # a 2-D array, a scipy CSR container (not typed), or a sequence of objects


def is_sparse(rows: Any) -> bool:
    """Tell whether `rows` is a scipy sparse container, without importing scipy."""
    return not isinstance(rows, np.ndarray) and hasattr(rows, "tocsr") and hasattr(rows, "nnz")


def check_rows(rows: Any, name: str, *, n_features: int | None = None, finite: bool = True) -> Rows:
    """Return `rows` as a finite 2-D array, C-contiguous float32 or float64, or as CSR.

    float32 stays float32; other numbers become float64. Valid input is not copied. With `finite`
    false the values are not checked for NaN and infinity.
    """
    checked = _as_csr(rows, name) if is_sparse(rows) else _as_dense(rows, name)
    if checked.shape[0] == 0:
        raise ValueError(f"{name} has no rows; at least one is needed.")
    if checked.shape[1] == 0:
        raise ValueError(f"{name} has no columns; at least one is needed.")
    if n_features is not None and checked.shape[1] != n_features:
        raise ValueError(f"{name} has {checked.shape[1]} columns, but {n_features} are needed.")
    if finite:
        _check_finite(checked, name)
    return checked


def _as_dense(rows: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(rows)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be rows of numbers: {error}.") from error
    _check_numeric(array, name)
    _check_two_dimensional(array, name)
    kept = array.dtype if array.dtype in (np.float32, np.float64) else np.float64
    return np.ascontiguousarray(array, dtype=kept)


def _as_csr(rows: Any, name: str) -> Rows:
    _check_numeric(rows, name)
    _check_two_dimensional(rows, name)
    csr = rows.tocsr()
    if csr.dtype not in (np.float32, np.float64):
        csr = csr.astype(np.float64)
    if not csr.has_canonical_format:
        if csr is rows:  # the caller's matrix must not change
            csr = csr.copy()
        csr.sum_duplicates()
    return csr


def _check_numeric(rows: Any, name: str) -> None:
    if rows.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be rows of numbers, but {rows.dtype} was given.")


def _check_two_dimensional(rows: Any, name: str) -> None:
    if rows.ndim != 2:
        hint = f"; one row is written {name}.reshape(1, -1)" if rows.ndim == 1 else ""
        raise ValueError(
            f"{name} must be 2-D, a row for each sample, but {rows.ndim}-D was given{hint}."
        )


def all_finite(rows: Rows) -> bool:
    """Return whether neither NaN nor infinity is stored in an array or a CSR container."""
    values = (rows.data if is_sparse(rows) else rows).ravel()
    # in blocks that stay in the cache, with a boolean array for one block alone
    starts = range(0, len(values), _VALUES_PER_CHECK)
    return all(np.isfinite(values[at : at + _VALUES_PER_CHECK]).all() for at in starts)


def _check_finite(rows: Rows, name: str) -> None:
    if all_finite(rows):
        return
    values = rows.data if is_sparse(rows) else rows
    if is_sparse(rows):
        at = np.flatnonzero(~np.isfinite(values))[0]
        row, column = int(np.searchsorted(rows.indptr, at, side="right")) - 1, rows.indices[at]
        value = values[at]
    else:
        row, column = np.argwhere(~np.isfinite(values))[0]
        value = values[row, column]
    kind = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(f"{name} holds {kind} in row {row}, column {column}; it must be finite.")


def n_rows(rows: Any) -> int:
    """Return the number of rows of an array, CSR matrix, frame or list of objects."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def take(rows: Any, which: np.ndarray | slice) -> Any:
    """Return the selected rows of an array, CSR matrix, frame, series or list of objects."""
    if isinstance(rows, list | tuple) and not isinstance(which, slice):
        return [rows[i] for i in which]
    if hasattr(rows, "column_names"):  # pyarrow
        return rows.take(which)
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
    if isinstance(objects, np.ndarray) and objects.ndim == 0:  # a scalar or a set
        raise TypeError(f"{name} must be a list of objects or an array, but {rows!r} was given.")
    if len(objects) == 0:
        raise ValueError(f"{name} has no rows; at least one is needed.")
    return objects


def call_on_pair(
    function: Callable[[Any, Any], Any], first: Any, second: Any, pair: Callable[[], str]
) -> float:
    """Return the value of a user's function on two objects as a finite float.

    `pair` describes the two objects; it is called only for an error message.
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


def validate_data(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """Return the result of scikit-learn's `validate_data`; the error for text names X."""
    from sklearn.utils.validation import validate_data as validate

    with _text_refused("X"):
        return validate(estimator, X, y, **options)


def check_numeric_targets(y: Any, estimator: Any) -> np.ndarray:
    """Return targets as finite float64, 1-D or 2-D."""
    from sklearn.utils import check_array

    check_targets_given(y, estimator)
    with _text_refused("y"):
        return np.asarray(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"))


def check_targets_given(y: Any, estimator: Any) -> None:
    """Refuse missing targets."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None."
        )


@contextmanager
def _text_refused(name: str) -> Iterator[None]:
    """Name the argument in NumPy's error about text that is not a number."""
    try:
        yield
    except ValueError as error:
        text = re.fullmatch(_NOT_A_NUMBER, str(error))
        if text is None:
            raise
        raise ValueError(f"{name} must hold numbers, but {text[1]} was given.") from error


def check_same_length(first: Any, first_name: str, second: Any, second_name: str) -> None:
    """Raise ValueError unless both arguments have the same number of rows."""
    if n_rows(first) != n_rows(second):
        raise ValueError(
            f"{first_name} has {n_rows(first)} rows and {second_name} has {n_rows(second)}, "
            "but they pair row by row and must have the same number."
        )


def check_square(matrix: Any, name: str) -> None:
    """Raise an error if a precomputed matrix of rows with rows is not square."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"{name} must be a square matrix of rows with rows, but has shape {matrix.shape}."
        )


def check_labels(labels: Any, name: str, rows: Any, rows_name: str) -> np.ndarray:
    """Return `labels` as a 1-D array with one label per row."""
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-D, one label per row, but {array.ndim}-D was given.")
    check_same_length(rows, rows_name, array, name)
    return array


def check_classes(labels: np.ndarray, name: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in order and the class number of each row; one class is refused."""
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{name} has one class, {classes[0]!s}; at least two classes are needed.")
    return classes, numbers


def check_class_targets(y: np.ndarray, estimator: Any) -> None:
    """Refuse targets that are not classes; the error for numbers names what learns from them."""
    from sklearn.base import is_classifier
    from sklearn.utils.multiclass import check_classification_targets

    if y.dtype.kind == "f":
        finite = y[np.isfinite(y)]
        fractions = finite[finite != np.trunc(finite)]
        different = np.unique(finite)
        rows_of_each = len(finite) / max(len(different), 1)
        if len(different) > _MAX_FLOAT_CLASSES and rows_of_each < _ROWS_OF_FLOAT_CLASS:
            fractions = different
        if len(fractions):
            needed = (
                "predicts classes: SimilarityRegressor predicts numbers"
                if is_classifier(estimator)
                else "learns from classes: MLKR learns from numbers, also as the learner of "
                "SimilarityRegressor, which predicts them"
            )
            raise ValueError(
                f"y is continuous, with values such as {fractions[0]:.6g}, but "
                f"{type(estimator).__name__} {needed}."
            )
    check_classification_targets(y)


def check_whole_number(value: Any, name: str, *, minimum: int = 1) -> int:
    """Return `value` as an int of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, but {value!r} was given.")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, but {value} was given.")
    return int(value)


def check_bool(value: Any, name: str) -> None:
    """Raise TypeError unless `value` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, but {value!r} was given.")


def check_run_parameters(estimator: Any) -> None:
    """Check `n_jobs`, `random_state` and `verbose`, those of them that an estimator has."""
    n_jobs = getattr(estimator, "n_jobs", None)
    if n_jobs is not None:
        _check_n_jobs(n_jobs)
    _check_random_state(getattr(estimator, "random_state", None))
    verbose = getattr(estimator, "verbose", False)
    if not isinstance(verbose, bool | np.bool_ | numbers.Integral):
        raise TypeError(f"verbose must be a bool or a whole number, but {verbose!r} was given.")


def _check_n_jobs(n_jobs: Any) -> None:
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral):
        raise TypeError(f"n_jobs must be a whole number or None, but {n_jobs!r} was given.")
    if n_jobs == 0:
        raise ValueError(
            "n_jobs must be at least 1, or negative to count from all cores (-1), but 0 was given."
        )


def _check_random_state(random_state: Any) -> None:
    from sklearn.utils import check_random_state

    try:
        check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be None, a whole number from 0 to 2**32 - 1 or a "
            f"numpy.random.RandomState, but {random_state!r} was given."
        ) from error


def check_number(
    value: Any, name: str, *, minimum: float, exclusive: bool = False, maximum: float = math.inf
) -> float:
    """Return `value` as a finite float within the bounds; `exclusive` excludes `minimum`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, but {value!r} was given.")
    if not np.isfinite(float(value)) or value < minimum or (exclusive and value == minimum):
        bound = f"above {minimum}" if exclusive else f"at least {minimum}"
        raise ValueError(f"{name} must be finite and {bound}, but {value} was given.")
    if float(value) > maximum:
        raise ValueError(f"{name} must be at most {maximum}, but {value} was given.")
    return float(value)


def check_choice(value: Any, name: str, choices: Iterable[str], others: Sequence[str] = ()) -> str:
    """Return `value` if it is one of `choices`; `others` as in `unknown_name`."""
    known = list(choices)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {_quoted(known)}, but {value!r} was given.")
    if value not in known:
        raise unknown_name(value, name, known, others)
    return value


def unknown_name(
    value: str, name: str, known: Iterable[str], others: Sequence[str] = ()
) -> ValueError:
    """Return the error for an unknown name: it lists the known names and suggests the closest.

    `others` are the allowed values that are no names, such as "an array".
    """
    known = list(known)
    hint = did_you_mean(value, known)
    allowed = _quoted(known)
    if others:
        allowed = " or ".join([", ".join([allowed, *others[:-1]]), others[-1]])
    return ValueError(f"{name} must be one of {allowed}, but {value!r} was given.{hint}")


def did_you_mean(value: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a sentence that suggests the closest of the known names; empty if none is close."""
    nearest = get_close_matches(value, list(known), n=1, cutoff=cutoff)
    return f" Did you mean {nearest[0]!r}?" if nearest else ""


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
