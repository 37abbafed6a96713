"""Results of loading: a labeled data set, or a retrieval collection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

# An array, CSR or a list: a union would need a check at every use.
Samples: TypeAlias = Any


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Labeled rows, with a test part where the set has a fixed split.

    Whatever the form of the split in the source, `X`, `y` are for training and `X_test`, `y_test`
    for testing.

    Attributes
    ----------
    name : str
        The name it was loaded by.
    X : ndarray, CSR matrix or list
        The rows, (n_samples, n_features), neither scaled nor centered. float64 for bundled and
        generated sets; float32 for files, unless float32 cannot hold their numbers. A list of
        strings or of (n_frames, n_channels) arrays where there is no table.
    y : ndarray of shape (n_samples,)
        Labels: int64, numbering `target_names` where there are any, or strings.
    feature_names : tuple of str or None
        Names of the columns of `X`.
    target_names : tuple of str or None
        Names of the labels 0, 1, ...
    X_test, y_test : as `X`, `y`, or None
        The test part; None where the set has no fixed split.
    extra : mapping of str to ndarray
        Further arrays, such as ``image_shape``, ``missing``, ``sequences``, ``X_onehot`` or
        ``labeled100``. Where a table is split here, an array with a value for each row is split
        along with it and its test part has ``_test`` at the end of its name; ``is_train`` is
        kept whole and says which rows of the stored table went where.

    Examples
    --------
    >>> from likewise.datasets import load
    >>> load("iris")
    Dataset('iris': X 150 x 4 float64, 3 classes)
    """

    name: str
    X: Samples
    y: np.ndarray
    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None
    X_test: Samples | None = None
    y_test: np.ndarray | None = None
    extra: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def n_classes(self) -> int:
        """Number of classes: of `target_names`, or else of different labels in `y`."""
        return len(np.unique(self.y) if self.target_names is None else self.target_names)

    def __repr__(self) -> str:
        parts = [f"X {_described(self.X)}"]
        if self.X_test is not None:
            parts.append(f"X_test {_described(self.X_test)}")
        parts.append(f"{self.n_classes} classes")
        if self.extra:
            parts.append(f"extra {', '.join(self.extra)}")
        return f"Dataset({self.name!r}: {', '.join(parts)})"


@dataclass(frozen=True, eq=False, repr=False)
class Retrieval:
    """Documents, queries, and which document is how relevant to which query.

    Attributes
    ----------
    name : str
        The name it was loaded by.
    documents, queries : list of str, or ndarray of shape (n, n_features)
        Texts, or the vectors that stand for them.
    relevance : CSR matrix of shape (n_queries, n_documents)
        Grades as float32: the higher, the more relevant; not judged is 0.
    document_ids, query_ids : tuple of str
        The ids of the source, row by row.
    query_is_train : ndarray of bool or None
        Which queries train, the others test; None where there is no split.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from likewise.datasets import Retrieval
    >>> Retrieval(
    ...     name="shoes",
    ...     documents=["red boots", "blue sandals"],
    ...     queries=["something for the beach"],
    ...     relevance=csr_matrix([[0.0, 1.0]]),
    ...     document_ids=("b1", "s7"),
    ...     query_ids=("q1",),
    ... )
    Retrieval('shoes': 2 documents, 1 queries, 1 judgments)
    """

    name: str
    documents: Samples
    queries: Samples
    relevance: Any
    document_ids: tuple[str, ...]
    query_ids: tuple[str, ...]
    query_is_train: np.ndarray | None = None

    def __repr__(self) -> str:
        return (
            f"Retrieval({self.name!r}: {len(self.document_ids)} documents, "
            f"{len(self.query_ids)} queries, {self.relevance.nnz} judgments)"
        )


def _described(samples: Samples) -> str:
    """Return the size of `samples` in a few words."""
    if isinstance(samples, Sequence):
        return f"list of {len(samples)}"
    sparse = "" if isinstance(samples, np.ndarray) else "sparse "
    return f"{' x '.join(map(str, samples.shape))} {sparse}{samples.dtype}"
