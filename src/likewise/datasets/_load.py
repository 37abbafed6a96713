"""Labeled data sets by name: bundled, generated, or files of the local folder."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from likewise._validation import check_choice, did_you_mean
from likewise.datasets import _folder
from likewise.datasets._generated import balance, blobs_and_line, circle
from likewise.datasets._layout import read_dataset, read_texts
from likewise.datasets._records import Dataset
from likewise.exceptions import DatasetUnavailableError

Kind: TypeAlias = Literal["bundled", "generated", "folder"]
Task: TypeAlias = Literal["classification", "retrieval"]

_TEXT = ".jsonl.gz"
_FILES = {"iris_uci": "iris.npz", "news20": f"news20_bydate{_TEXT}"}  # not <name>.npz
_IMAGE_SHAPES = {"mnist": (28, 28), "usps": (16, 16)}  # files of digits that lack their shape


@dataclass(frozen=True)
class CatalogueRow:
    """One data set in the catalogue.

    Attributes
    ----------
    name : str
        The name for `load`, or for `load_retrieval`.
    n_samples, n_features, n_classes : int or None
        None for a file of the folder, which is not opened, and where it does not apply.
    kind : {"bundled", "generated", "folder"}
        Whether scikit-learn bundles it, likewise generates it, or the local folder holds it.
    description : str
    """

    name: str
    n_samples: int | None
    n_features: int | None
    n_classes: int | None
    kind: Kind
    description: str


_BUNDLED = (
    CatalogueRow("iris", 150, 4, 3, "bundled", "three species of iris, Fisher's measurements"),
    CatalogueRow("wine", 178, 13, 3, "bundled", "chemical analysis of wines of three growers"),
    CatalogueRow("breast_cancer", 569, 30, 2, "bundled", "breast cancer, Wisconsin, diagnostic"),
    CatalogueRow("digits", 1797, 64, 10, "bundled", "handwritten digits, 8 x 8 pixels"),
)
_GENERATED = (
    CatalogueRow("balance", 625, 4, 3, "generated", "the balance scale of UCI, by its rule"),
    CatalogueRow("circle", 1000, 2, 2, "generated", "points inside or outside a disc"),
    CatalogueRow("blobs_and_line", 1000, 20, 2, "generated", "half linear, half in blobs"),
)
_GENERATORS: dict[str, Callable[[], Dataset]] = {
    "balance": balance,
    # By name they are always the same; the functions draw others.
    "circle": partial(circle, random_state=0),
    "blobs_and_line": partial(blobs_and_line, random_state=0),
}
_RETRIEVAL = (
    CatalogueRow("cranfield", 1400, None, None, "folder", "aeronautics abstracts, 225 queries"),
    CatalogueRow("scifact", 5183, None, None, "folder", "science abstracts, 1109 claims; BEIR"),
    CatalogueRow("scifact_minilm", 5183, 384, None, "folder", "scifact as MiniLM vectors"),
)


def catalogue(task: Task = "classification") -> list[CatalogueRow]:
    """Return a row for each data set that can be loaded.

    Parameters
    ----------
    task : {"classification", "retrieval"}, default="classification"
        Whether to list the sets of `load`, or the collections of `load_retrieval`.

    Returns
    -------
    list of CatalogueRow

    Examples
    --------
    >>> from likewise.datasets import catalogue
    >>> row = catalogue()[0]
    >>> row.name, row.n_samples, row.n_features, row.n_classes, row.kind
    ('iris', 150, 4, 3, 'bundled')
    """
    if check_choice(task, "task", ["classification", "retrieval"]) == "retrieval":
        return list(_RETRIEVAL)
    in_folder = [
        CatalogueRow(name, None, None, None, "folder", f"{file} of {_folder.VARIABLE}")
        for name, file in sorted(_folder_sets().items())
    ]
    return [*_BUNDLED, *_GENERATED, *in_folder]


def names(task: Task = "classification") -> list[str]:
    """Return the names of the data sets that can be loaded.

    Parameters
    ----------
    task : as in `catalogue`

    Examples
    --------
    >>> from likewise.datasets import names
    >>> names()[:4]
    ['iris', 'wine', 'breast_cancer', 'digits']
    >>> names("retrieval")
    ['cranfield', 'scifact', 'scifact_minilm']
    """
    return [row.name for row in catalogue(task)]


def load(name: str) -> Dataset:
    """Open a labeled data set by name.

    Parameters
    ----------
    name : str
        One of `names()`. Sets that are neither bundled nor generated are read from the folder that
        the environment variable ``LIKEWISE_DATA`` names, as ``<name>.npz`` or ``<name>.jsonl.gz``.

    Returns
    -------
    Dataset
        With `X` and `y`, and `X_test` and `y_test` where the set has a fixed split.

    Raises
    ------
    DatasetUnavailableError
        A ValueError and an OSError: no such set is bundled, generated or in the folder.
    ValueError
        A file of the folder cannot be read.

    Examples
    --------
    >>> from likewise.datasets import load
    >>> wine = load("wine")
    >>> wine.X.shape, wine.target_names
    ((178, 13), ('class_0', 'class_1', 'class_2'))
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be the name of a data set, but {name!r} was given.")
    if name in names("retrieval"):
        raise ValueError(f"{name} is a retrieval collection: load_retrieval({name!r}) opens it.")
    if name in _GENERATORS:
        return _GENERATORS[name]()
    if any(row.name == name for row in _BUNDLED):
        return _load_bundled(name)
    file = _folder_sets().get(name)
    if file is None:
        hint = did_you_mean(name, names())
        raise unavailable(name, _FILES.get(name, f"{name}.npz"), hint=hint)
    path = _folder.path_of(file)
    return _complete(read_texts(name, path) if file.endswith(_TEXT) else read_dataset(name, path))


def unavailable(name: str, *files: str, hint: str = "") -> DatasetUnavailableError:
    """Return the error for a set whose files the folder does not hold."""
    return DatasetUnavailableError(
        f"{name} is not available: {_folder.where_looked(files)}; put {' and '.join(files)} into a "
        f"folder and set {_folder.VARIABLE} to it.{hint}"
    )


def _folder_sets() -> dict[str, str]:
    """Return the file of each labeled set in the folder, by its name."""
    own = {row.name for row in (*_BUNDLED, *_GENERATED, *_RETRIEVAL)}
    aliases = {file: name for name, file in _FILES.items()}
    sets = {}
    for file in _folder.files(".npz", _TEXT):
        name = aliases.get(file, file.removesuffix(_TEXT).removesuffix(".npz"))
        if name not in own and not name.endswith(("_corpus", "_queries")):
            sets[name] = file
    return sets


def _load_bundled(name: str) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return Dataset(
        name=name,
        X=bunch.data,
        y=bunch.target.astype(np.int64),
        feature_names=tuple(map(str, bunch.feature_names)),
        target_names=tuple(map(str, bunch.target_names)),
        extra={"image_shape": np.array([8, 8])} if name == "digits" else {},
    )


def _complete(dataset: Dataset) -> Dataset:
    """Return digits with the names and the shape that their files lack."""
    if dataset.name not in _IMAGE_SHAPES:
        return dataset
    shape = np.array(_IMAGE_SHAPES[dataset.name])
    return replace(
        dataset,
        target_names=dataset.target_names or tuple("0123456789"),
        extra={"image_shape": shape, **dataset.extra},
    )
