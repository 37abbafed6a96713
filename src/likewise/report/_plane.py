"""The section on the plane: rows by principal components, and by a map learned from labels."""

import warnings
from typing import Any

import numpy as np

from likewise._validation import Rows, is_sparse, n_rows, sample_rows
from likewise.learners import MLKR, NCA
from likewise.report._charts import CLASSES, RANGES, scatter_plot
from likewise.report._sections import Section, class_legend, section
from likewise.report._text import shorten
from likewise.tables import row_groups

_MAX_LEARNED = 750
_MAX_ON_MAP = 500
_MIN_ROWS = 40
_N_NEIGHBORS = 5


def plane_section(X: Rows, y: np.ndarray, numbers: np.ndarray | None = None) -> Section | None:
    """Return rows in two planes that were learned from other rows: PCA, and NCA in two dimensions.

    Where `y` are ranges of `numbers`, MLKR takes the place of NCA. None for sparse rows, rows of
    two features or fewer, and few rows.
    """
    from sklearn.decomposition import PCA
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import GroupShuffleSplit

    if is_sparse(X) or np.ndim(X) != 2 or X.shape[1] < 3 or n_rows(X) < _MIN_ROWS:
        return None
    rows = sample_rows(n_rows(X), _MAX_LEARNED + _MAX_ON_MAP)
    share = _MAX_ON_MAP / (_MAX_LEARNED + _MAX_ON_MAP)
    splitter = GroupShuffleSplit(1, test_size=share, random_state=0)
    train, test = (rows[part] for part in next(splitter.split(rows, groups=row_groups(X[rows]))))
    if len(np.unique(y[train])) < 2:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner = NCA if numbers is None else MLKR
        learned = learner(n_components=2, init="pca", random_state=0)
        learned.fit(X[train], y[train] if numbers is None else numbers[train])
    source = "labels" if numbers is None else "numbers"
    planes = {
        f"principal components, without {source}": PCA(2, random_state=0).fit(X[train]),
        f"{learner.__name__} in two dimensions, from the {source}": learned,
    }
    palette = CLASSES if numbers is None else RANGES
    legend, kinds = class_legend(y[test], len(test))
    titles = [f"row {row}: {shorten(y[row], 40)}" for row in test]
    maps = []
    for heading, plane in planes.items():
        points = np.asarray(plane.transform(X[test]), dtype=np.float64)
        known = np.asarray(plane.transform(X[train]), dtype=np.float64)
        if numbers is None:
            figure = _accuracy(known, y[train], points, y[test])
        else:
            figure = _explained(known, numbers[train], points, numbers[test])
        maps.append(
            {
                "heading": heading,
                "figure": figure,
                "plot": scatter_plot(points, kinds, titles, f"The plane of {heading}", palette),
            }
        )
    return section(
        "plane",
        f"A plane learned from the {source}",
        n_learned=len(train),
        n_shown=len(test),
        n_neighbors=_N_NEIGHBORS,
        legend=legend,
        palette=palette,
        maps=maps,
    )


def _accuracy(known: np.ndarray, labels: Any, new: np.ndarray, true: Any) -> str:
    """Say how well nearest neighbors in the plane classify rows it was not learned from."""
    from sklearn.neighbors import KNeighborsClassifier

    knn = KNeighborsClassifier(min(_N_NEIGHBORS, len(labels))).fit(known, labels)
    accuracy = np.mean(knn.predict(new) == true)
    return f"{100 * accuracy:.0f} % of the rows drawn are classified correctly."


def _explained(known: np.ndarray, numbers: Any, new: np.ndarray, true: Any) -> str:
    """Say how well nearest neighbors in the plane predict the numbers of other rows."""
    from sklearn.neighbors import KNeighborsRegressor

    knn = KNeighborsRegressor(min(_N_NEIGHBORS, len(numbers))).fit(known, numbers)
    return f"R² of the rows drawn: {knn.score(new, true):.2f}."
