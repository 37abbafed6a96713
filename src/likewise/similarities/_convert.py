"""Conversion of names, callables, fitted estimators and similarities to a similarity."""

import warnings
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from likewise._threads import slices
from likewise._validation import unknown_name
from likewise.similarities._base import Similarity
from likewise.similarities._bilinear import Bilinear
from likewise.similarities._function import Function
from likewise.similarities._mahalanobis import Mahalanobis
from likewise.similarities._precomputed import Precomputed

_ROWS_AT_A_TIME = 512

_Maker: TypeAlias = Callable[[], Similarity]


@cache
def _named() -> dict[str, tuple[_Maker, _Maker]]:
    """Return the meanings of each name: in general, and where a distance is expected."""
    # Here, because some of the distances are defined by `as_similarity`.
    from likewise.similarities import distances

    vectors = {name: partial(distances.VectorDistance, name) for name in distances.VECTOR_METRICS}
    matrix_of_distances = partial(Precomputed, is_distance=True)
    both_meanings: dict[str, tuple[_Maker, _Maker]] = {
        "euclidean": (lambda: Mahalanobis(1.0), vectors["euclidean"]),
        "cosine": (lambda: Bilinear(1.0, norm="cosine"), vectors["cosine"]),
        "dice": (lambda: Bilinear(2.0, norm="dice"), vectors["dice"]),
        "jaccard": (lambda: Bilinear(1.0, norm="jaccard"), vectors["jaccard"]),
        "precomputed": (Precomputed, matrix_of_distances),
    }
    one_meaning: dict[str, _Maker] = {
        "dot": lambda: Bilinear(1.0),
        "precomputed_distance": matrix_of_distances,
        **vectors,
        "tangent": distances.TangentDistance,
        "image": distances.ImageDistance,
        "fuzzy_image": distances.FuzzyImageDistance,
        **{name: partial(distances.StringDistance, name) for name in distances.STRING_METRICS},
        "dtw": distances.SeriesDistance,
        "smith_waterman": distances.AlignmentDistance,
        "emd": distances.TransportDistance,
    }
    others = {name: (make, make) for name, make in one_meaning.items() if name not in both_meanings}
    return both_meanings | others


def distance_names() -> list[str]:
    """Return the names of the distances that `as_similarity` knows.

    Examples
    --------
    >>> import likewise as lw
    >>> "levenshtein" in lw.distances.names(), "dot" in lw.distances.names()
    (True, False)
    """
    return [name for name, (_, make) in _named().items() if make().has_distance]


def as_similarity(
    source: Any,
    *,
    is_distance: bool = False,
    argument: str = "similarity",
    more_names: Iterable[str] = (),
) -> Similarity:
    """Convert a name, a callable, a fitted estimator or a similarity to a similarity.

    Parameters
    ----------
    source : str, Similarity, callable, or fitted estimator
        A name ("euclidean", "cosine", "dot", "dice", "jaccard", "precomputed",
        "precomputed_distance" or one of `likewise.distances.names`); a similarity, returned
        unchanged; a function of two objects that is larger for more similar ones; a fitted learner
        with `similarity_`; or any fitted linear transformer (PCA, LDA, NCA, a scaler,
        metric-learn's learners, a pipeline of them), which becomes the Mahalanobis distance after
        its map.
    is_distance : bool, default=False
        Whether a callable is a distance, smaller for more similar objects, and the names "cosine",
        "dice", "jaccard" and "precomputed" mean distances. The name "euclidean" then scores −d
        instead of −d².
    argument : str, default="similarity"
        Name of the argument in errors.
    more_names : iterable of str
        Further names that the caller accepts, for errors.

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
    >>> lw.as_similarity("levenshtein").neighbors(["Meier"], ["Müller", "Maier"], k=1).ids
    array([[1]])
    """
    if isinstance(source, Similarity):
        return source
    if isinstance(source, str):
        if source not in _named():
            raise unknown_name(source, argument, [*more_names, *_named()])
        return _named()[source][is_distance]()
    if isinstance(getattr(source, "similarity_", None), Similarity):
        return source.similarity_
    if hasattr(source, "transform"):
        return Mahalanobis(_linear_map(source))
    if callable(source) and not isinstance(source, type):
        return Function(source, is_distance=is_distance, symmetric=False)
    raise TypeError(
        f"{argument} must be a name, a function of two objects, a similarity or a fitted estimator "
        f"with similarity_ or transform, but {source!r} was given."
    )


def set_input_tags(tags: Any, similarity: Similarity) -> None:
    """Set scikit-learn's tags of an estimator that takes the input of a similarity."""
    takes = similarity.takes
    tags.input_tags.sparse, tags.input_tags.pairwise = takes == "rows", takes == "matrix"
    tags.input_tags.one_d_array = tags.input_tags.string = takes == "objects"
    tags.input_tags.positive_only = takes == "matrix" and similarity.has_distance


def from_callable(function: Callable[[Any, Any], float], *, symmetric: bool = False) -> Similarity:
    """Make a similarity from a function that is larger for more similar objects.

    Parameters
    ----------
    function : callable on two objects
        Called with a query and an item.
    symmetric : bool, default=False
        Whether the order of the two is irrelevant.

    Examples
    --------
    >>> import likewise as lw
    >>> common = lw.from_callable(lambda a, b: len(set(a) & set(b)))
    >>> common.neighbors(["apple"], ["orange", "plea"], k=1).ids
    array([[1]])
    """
    if not callable(function):
        raise TypeError(f"function must be callable on two objects, but {function!r} was given.")
    return Function(function, is_distance=False, symmetric=symmetric)


def from_distance(distance: Any, *, symmetric: bool = False) -> Similarity:
    """Make a similarity from a distance, which is smaller for more similar objects.

    The score is −d. Nothing is assumed of the distance except that it is not negative.

    Parameters
    ----------
    distance : callable on two objects, str or Similarity
        A function of a query and an item; the name of a distance (see `likewise.distances.names`);
        or a similarity that has a distance, returned unchanged.
    symmetric : bool, default=False
        Whether the order of a function's arguments is irrelevant.

    Examples
    --------
    >>> import likewise as lw
    >>> by_length = lw.from_distance(lambda a, b: abs(len(a) - len(b)))
    >>> by_length.score(["fig"], ["date", "banana"])
    array([[-1., -3.]])
    >>> lw.from_distance("cityblock").distance([[0.0, 0.0]], [[1.0, 2.0]])
    array([[3.]])
    """
    similarity = as_similarity(distance, is_distance=True, argument="distance")
    if not similarity.has_distance:
        raise ValueError(f"distance must be a distance, but {similarity!r} has none.")
    if isinstance(similarity, Function) and similarity is not distance:
        return Function(similarity.function, is_distance=True, symmetric=symmetric)
    return similarity


def _linear_map(transformer: Any) -> np.ndarray:
    """Return the matrix A of a transformer x ↦ Ax + b; refuse one that is not affine."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(transformer)
    width = _width(transformer)
    origin = _transform(transformer, np.zeros((1, width)))
    columns = np.empty((width, origin.shape[1]))
    for part in slices(width, _ROWS_AT_A_TIME):
        unit_rows = np.eye(part.stop - part.start, width, part.start)
        columns[part] = _transform(transformer, unit_rows) - origin

    # Almost any point reveals a map that is not affine; seeded, so that the answer is repeatable.
    probes = np.random.default_rng(0).normal(size=(8, width))
    expected, actual = probes @ columns + origin, _transform(transformer, probes)
    scale = np.abs(actual).max() + np.abs(origin).max() + np.abs(columns).max()
    if not np.allclose(actual, expected, rtol=0, atol=1e-5 * scale):
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
        raise TypeError(
            f"{type(transformer).__name__} does not have n_features_in_, its number of features."
        )
    return int(width)


def _transform(transformer: Any, rows: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        # A transformer fitted on a frame warns that these rows have no feature names.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        try:
            result = transformer.transform(rows)
        except (AttributeError, NotImplementedError) as error:  # such as LDA by least squares
            raise TypeError(
                f"{type(transformer).__name__} cannot transform rows: {error}"
            ) from error
    dense = result.toarray() if hasattr(result, "toarray") else result
    return np.asarray(dense, dtype=np.float64)
