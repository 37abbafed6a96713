"""Data sets from ``.npz`` files, whose layout the package's docstring has, and from texts."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from likewise.datasets._folder import read_arrays, read_json_lines
from likewise.datasets._records import Dataset, Samples


def read_dataset(name: str, path: Path) -> Dataset:
    """Return the data set that the ``.npz`` file at `path` holds."""
    arrays = read_arrays(path)
    try:
        return dataset_from_arrays(name, arrays)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{path} is not laid out as a likewise data set: {error} "
            f"(it holds {', '.join(arrays) or 'nothing'})."
        ) from error


def read_texts(name: str, path: Path) -> Dataset:
    """Return texts with their labels as strings; where lines have a ``split``, numbered and split.

    Each line has ``text``, ``label`` and possibly ``split``, which is "train" or "test".
    """
    records = read_json_lines(path, "text", "label")
    texts = [record["text"] for record in records]
    labels = np.array([record["label"] for record in records])
    if not any("split" in record for record in records):
        return Dataset(name, texts, labels)
    splits = [record["split"] for record in read_json_lines(path, "split")]
    target_names, y = np.unique(labels, return_inverse=True)
    rows = [np.flatnonzero([split == part for split in splits]) for part in ("train", "test")]
    X_train, X_test = ([texts[row] for row in part] for part in rows)
    y_train, y_test = (y[part].astype(np.int64) for part in rows)
    return Dataset(name, X_train, y_train, None, tuple(target_names.tolist()), X_test, y_test)


def dataset_from_arrays(name: str, arrays: Mapping[str, np.ndarray]) -> Dataset:
    """Return a data set of `arrays`; arrays without a role become `extra`."""
    rest = dict(arrays)
    X = _take_samples(rest)
    y = _take_labels(rest, "y", X)
    feature_names = _take_names(rest, "feature_names") or _take_names(rest, "vocab")
    target_names = _take_names(rest, "target_names")
    X_test, y_test = None, None
    if "y_test" in rest:
        X_test = _take_samples(rest, "_test")
        y_test = _take_labels(rest, "y_test", X_test)
    elif (is_train := _take_split(rest, len(y))) is not None:
        X, X_test = _part(X, is_train), _part(X, ~is_train)
        y, y_test = y[is_train], y[~is_train]
        rest = _split_extra(rest, is_train)
    _check_names(feature_names, target_names, X, y, y_test)
    extra = {key: _numbers(value) if key.startswith("X") else value for key, value in rest.items()}
    return Dataset(name, X, y, feature_names, target_names, X_test, y_test, extra)


def _take_samples(rest: dict[str, np.ndarray], part: str = "") -> Samples:
    """Remove and return the rows of one part, in any of the three forms."""
    if f"X{part}" in rest:
        return _table(rest.pop(f"X{part}"), f"X{part}")
    if f"frames{part}" in rest:
        frames = _table(rest.pop(f"frames{part}"), f"frames{part}")
        return _series(frames, _take(rest, f"offsets{part}"))
    if f"indptr{part}" in rest:
        fields = ("data", "indices", "indptr", "shape")
        return _sparse(*(_take(rest, f"{field}{part}") for field in fields))
    raise ValueError(f"there is no X{part}, nor frames{part} and offsets{part}, nor a sparse table")


def _take(rest: dict[str, np.ndarray], key: str) -> np.ndarray:
    if key not in rest:
        raise ValueError(f"there is no {key}")
    return rest.pop(key)


def _table(array: np.ndarray, key: str) -> np.ndarray:
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise ValueError(f"{key} is {array.ndim}-D {array.dtype} and should be a table of numbers")
    return _numbers(array)


def _numbers(array: np.ndarray) -> np.ndarray:
    """Return `array` as float32 where that is exact, else as float64."""
    if array.dtype.kind in "fiub" and array.dtype != np.float32:
        # float32 holds every integer of up to 24 bits.
        return array.astype(np.float32 if array.dtype.itemsize <= 2 else np.float64)
    return array


def _series(frames: np.ndarray, offsets: np.ndarray) -> list[np.ndarray]:
    whole = offsets.ndim == 1 and offsets.dtype.kind in "iu" and offsets.size > 1
    if not whole or offsets[0] != 0 or offsets[-1] != len(frames) or (np.diff(offsets) < 0).any():
        raise ValueError("offsets do not cut frames into series")
    return np.split(frames, offsets[1:-1])


def _sparse(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: np.ndarray
) -> Samples:
    from scipy.sparse import csr_matrix

    # scipy needs signed indices; files may hold unsigned ones
    signed = [array.astype(np.int64, casting="safe") for array in (indices, indptr, shape)]
    table = csr_matrix((_numbers(data), *signed[:2]), shape=tuple(signed[2]))
    table.check_format(full_check=True)
    return table


def _take_labels(rest: dict[str, np.ndarray], key: str, samples: Samples) -> np.ndarray:
    labels = _take(rest, key)
    n_samples = len(samples) if isinstance(samples, list) else samples.shape[0]
    if labels.shape != (n_samples,):
        raise ValueError(f"{key} has the shape {labels.shape}, but there are {n_samples} rows")
    if labels.dtype.kind not in "iubU":
        raise ValueError(f"{key} is {labels.dtype} and should be integers or strings")
    return labels if labels.dtype.kind == "U" else labels.astype(np.int64)


def _take_names(rest: dict[str, np.ndarray], key: str) -> tuple[str, ...] | None:
    return tuple(map(str, np.atleast_1d(rest.pop(key)))) if key in rest else None


def _take_split(rest: dict[str, np.ndarray], n_samples: int) -> np.ndarray | None:
    """Return a mask of the training rows, or None; ``n_train`` is removed, ``is_train`` stays."""
    if "n_train" in rest:
        n_train = rest.pop("n_train")
        if n_train.size != 1 or n_train.dtype.kind not in "iu" or not 0 < n_train < n_samples:
            raise ValueError(f"n_train is {n_train} and should be from 1 to {n_samples - 1}")
        return np.arange(n_samples) < n_train
    is_train = rest.get("is_train")
    if is_train is None:
        return None
    if is_train.dtype != bool or is_train.shape != (n_samples,):
        raise ValueError(f"is_train should be {n_samples} booleans, one for each row")
    return is_train


def _part(samples: Samples, chosen: np.ndarray) -> Samples:
    if isinstance(samples, list):
        return [samples[row] for row in np.flatnonzero(chosen)]
    return samples[chosen]


def _split_extra(rest: dict[str, np.ndarray], is_train: np.ndarray) -> dict[str, np.ndarray]:
    """Split arrays with a value for each row, to match X and X_test."""
    extra = {}
    for key, array in rest.items():
        if key == "is_train" or array.shape[:1] != is_train.shape:
            extra[key] = array
        else:
            extra[key], extra[f"{key}_test"] = array[is_train], array[~is_train]
    return extra


def _check_names(
    feature_names: tuple[str, ...] | None,
    target_names: tuple[str, ...] | None,
    X: Samples,
    y: np.ndarray,
    y_test: np.ndarray | None,
) -> None:
    if feature_names and not isinstance(X, list) and len(feature_names) != X.shape[1]:
        raise ValueError(f"there are {len(feature_names)} feature_names for {X.shape[1]} columns")
    for labels in (y, y_test):
        if target_names is None or labels is None or labels.dtype.kind == "U" or not len(labels):
            continue
        if labels.min() < 0 or labels.max() >= len(target_names):
            raise ValueError(f"y has labels outside the {len(target_names)} target_names")
