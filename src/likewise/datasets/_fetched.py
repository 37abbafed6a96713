"""Sets that are fetched: from the folder if they are there, else over the network if they can."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path

import numpy as np

from likewise.datasets import _folder, _openml, _text
from likewise.datasets._layout import read_dataset
from likewise.datasets._records import Dataset
from likewise.exceptions import DatasetUnavailableError

# Files that are not <name>.npz.
_FILES = {
    "iris_uci": "iris.npz",
    "news20": "news20_bydate.jsonl.gz",
    "surnames": "surnames.jsonl.gz",
}
_READERS: dict[str, Callable[[str, Path], Dataset]] = {
    "news20": _text.read_news20,
    "surnames": _text.read_surnames,
}
# Files of pictures that do not say their shape.
_IMAGE_SHAPES = {"mnist": (28, 28), "usps": (16, 16)}


def fetch(name: str) -> Dataset:
    """Return a fetched set."""
    file = _FILES.get(name, f"{name}.npz")
    path = _folder.find(file)
    if path is not None:
        return _completed(_READERS.get(name, read_dataset)(name, path))
    if name == "news20":
        source, download = "scikit-learn", _text.download_news20
    elif name in _openml.RECIPES:
        recipe = _openml.RECIPES[name]
        source = f"OpenML as {recipe.openml_name} version {recipe.version}"
        download = _openml.download
    else:
        raise not_to_be_had(name, file)
    try:
        with warnings.catch_warnings():
            # scikit-learn warns before it tries again; the error says it once, at the end.
            warnings.filterwarnings("ignore", "A network error occurred|Retry downloading")
            return _completed(download(name))
    except (OSError, HTTPException) as error:
        raise DatasetUnavailableError(
            f"{name} is not available: {_folder.where_looked([file])}, and the download from "
            f"{source} failed ({type(error).__name__}: {error}); set {_folder.VARIABLE} to a "
            f"folder that holds {file}, or connect to the network and try again."
        ) from error


def not_to_be_had(name: str, *files: str) -> DatasetUnavailableError:
    """Return the error for a set that only the folder can hold, and does not."""
    return DatasetUnavailableError(
        f"{name} is not available: {_folder.where_looked(files)}, and likewise cannot download "
        f"this set; put {' and '.join(files)} into a folder and set {_folder.VARIABLE} to it."
    )


def _completed(dataset: Dataset) -> Dataset:
    """Return `dataset` with what its source leaves out, so that both sources give the same."""
    recipe = _openml.RECIPES.get(dataset.name)
    if recipe is not None and dataset.target_names is None:
        dataset = replace(dataset, target_names=recipe.target_names or recipe.labels)
    if dataset.name in _IMAGE_SHAPES and "image_shape" not in dataset.extra:
        shape = np.array(_IMAGE_SHAPES[dataset.name])
        dataset = replace(dataset, extra={**dataset.extra, "image_shape": shape})
    return dataset
