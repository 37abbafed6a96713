"""Names, fitted estimators and similarities, all as a similarity."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from likewise._validation import unknown_name
from likewise.similarities import distances
from likewise.similarities._base import Similarity
from likewise.similarities._bilinear import Bilinear
from likewise.similarities._dissimilarity import FromDissimilarity
from likewise.similarities._mahalanobis import Mahalanobis
from likewise.similarities._matrix import Precomputed

NAMED: dict[str, Callable[[], Similarity]] = {
    "euclidean": lambda: Mahalanobis(1.0),
    "cosine": lambda: Bilinear(1.0, norm="cosine"),
    "dot": lambda: Bilinear(1.0),
    "dice": lambda: Bilinear(2.0, norm="dice"),
    "jaccard": lambda: Bilinear(1.0, norm="jaccard"),
    "precomputed": lambda: Precomputed(),
    "precomputed_distance": lambda: Precomputed(is_distance=True),
}

_ROWS_AT_A_TIME = 512


def as_similarity(source: Any) -> Similarity:
    """Return what `source` says about likeness as a similarity.

    Parameters
    ----------
    source : str, Similarity, Dissimilarity, or fitted estimator
        A name ("euclidean", "cosine", "dot", "dice", "jaccard", "precomputed",
        "precomputed_distance"), also of a dissimilarity (see `likewise.distances.names`); a
        similarity, returned as it is; a dissimilarity, negated; a learner of ours, for its
        `similarity_`; or any fitted linear transformer (PCA, LDA, NCA, a scaler, metric-learn's
        learners, a pipeline of such), which becomes the Mahalanobis distance after its map.

    Returns
    -------
    Similarity

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> lw.as_similarity(LinearDiscriminantAnalysis().fit(X, y))
    Mahalanobis(L=2×4 float64)
    """
    if isinstance(source, Similarity):
        return source
    if isinstance(source, str):
        if source in NAMED:
            return NAMED[source]()
        if source not in distances.names():
            known = dict.fromkeys([*NAMED, *distances.names()])
            raise unknown_name(source, "similarity", known)
    if isinstance(source, str | distances.Dissimilarity):
        return FromDissimilarity(distances.as_dissimilarity(source))
    if isinstance(getattr(source, "similarity_", None), Similarity):
        return source.similarity_
    if hasattr(source, "transform"):
        return Mahalanobis(_linear_map(source))
    if callable(source):
        raise TypeError(
            "a bare function does not say which way it points: wrap it in likewise.from_distance "
            "if smaller means more alike, in likewise.from_callable if larger does."
        )
    raise TypeError(
        "similarity must be a name, a similarity or a fitted estimator with similarity_ or "
        f"transform, but {source!r} was given."
    )


def _linear_map(transformer: Any) -> np.ndarray:
    """Return the matrix A of a transformer x ↦ Ax + b, by asking it; refuse one that is not so."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(transformer)
    width = _width(transformer)
    origin = _transform(transformer, np.zeros((1, width)))
    columns = np.empty((width, origin.shape[1]))
    for start in range(0, width, _ROWS_AT_A_TIME):
        stop = min(start + _ROWS_AT_A_TIME, width)
        columns[start:stop] = _transform(transformer, np.eye(stop - start, width, start)) - origin

    # Any point tells a map that is not linear; seeded, so that the answer is always the same.
    probes = np.random.default_rng(0).normal(size=(8, width))
    expected, found = probes @ columns + origin, _transform(transformer, probes)
    scale = np.abs(found).max() + np.abs(origin).max() + np.abs(columns).max()
    if not np.allclose(found, expected, rtol=0, atol=1e-5 * scale):
        raise TypeError(
            f"{type(transformer).__name__} is not a linear map of its rows, so it has no "
            "Mahalanobis distance; transform the rows and use 'euclidean' on the result."
        )
    return columns.T


def _width(transformer: Any) -> int:
    width = getattr(transformer, "n_features_in_", None)
    if width is None and hasattr(transformer, "components_"):  # metric-learn has only this
        width = np.shape(transformer.components_)[-1]
    if width is None:
        raise TypeError(f"{type(transformer).__name__} does not say how many features it takes.")
    return int(width)


def _transform(transformer: Any, rows: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        # Fitted on a frame, it warns that these rows have no feature names: rightly so.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        try:
            result = transformer.transform(rows)
        except (AttributeError, NotImplementedError) as error:  # such as LDA by least squares
            raise TypeError(
                f"{type(transformer).__name__} cannot transform rows as it is: {error}"
            ) from error
    dense = result.toarray() if hasattr(result, "toarray") else result
    return np.asarray(dense, dtype=np.float64)
