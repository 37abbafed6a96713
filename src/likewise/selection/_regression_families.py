"""The families to compare on numbers, and all families by their task."""

from typing import Any

from likewise._validation import check_choice, unknown_name
from likewise.classifiers import SimilarityRegressor
from likewise.learners import MLKR
from likewise.selection._families import FAMILIES, SEARCH, Family, reference

_KNN_GRID = (
    {"scale": "standard", "n_neighbors": 5},
    {"scale": "standard", "n_neighbors": 15},
    {"scale": "standard", "weights": "kernel"},
    {"scale": "none", "n_neighbors": 5},
)


def _knn(similarity: str) -> Any:
    return lambda settings, seed: SimilarityRegressor(similarity=similarity, **settings)


def _mlkr(settings: dict[str, Any], seed: int) -> Any:
    use = {key: settings.pop(key) for key in ("n_neighbors", "weights") if key in settings}
    return SimilarityRegressor(MLKR(random_state=seed, **settings), **use)


# In the order in which they are tried. Another learner is another entry.
REGRESSION_FAMILIES: tuple[Family, ...] = (
    Family(
        "mean",
        "mean value",
        "baseline",
        "always predicts the mean of the target",
        reference("dummy", "DummyRegressor", seeded=False),
        ({"scale": "none"},),
        searchable=False,
        cheap=True,
        is_constant=True,
    ),
    Family(
        "euclidean",
        "Euclidean kNN",
        "baseline",
        "mean of the nearest neighbors by Euclidean distance, without learning",
        _knn("euclidean"),
        _KNN_GRID,
        kernels=SEARCH,
        cheap=True,
    ),
    Family(
        "cosine",
        "cosine kNN",
        "baseline",
        "mean of the nearest neighbors by cosine, without learning",
        _knn("cosine"),
        _KNN_GRID,
        kernels=SEARCH,
        cheap=True,
    ),
    Family(
        "ridge_regression",
        "ridge regression",
        "reference",
        "scikit-learn's, as a reference",
        reference("linear_model", "Ridge"),
        (
            {"scale": "standard", "alpha": 1.0},
            {"scale": "standard", "alpha": 100.0},
            {"scale": "standard", "alpha": 0.01},
        ),
        searchable=False,
        cheap=True,
        growth=1.0,
    ),
    Family(
        "mlkr",
        "MLKR",
        "learned",
        "a Mahalanobis distance from numbers, by the error of kernel regression",
        _mlkr,
        (
            {"scale": "standard", "weights": "kernel"},
            {"scale": "standard", "weights": "kernel", "alpha": 0.0},
            {"scale": "standard", "n_neighbors": 9},
            {"scale": "none", "weights": "kernel"},
        ),
        kernels=SEARCH,
        wide={"n_components": 30},
        growth=1.5,
    ),
    Family(
        "boosting",
        "gradient boosting",
        "reference",
        "scikit-learn's, as a reference",
        reference("ensemble", "HistGradientBoostingRegressor"),
        (
            {"scale": "none", "max_iter": 100},
            {"scale": "none", "max_iter": 300, "learning_rate": 0.03},
        ),
        sparse=False,
        searchable=False,
        growth=0.35,
    ),
)

_BY_TASK = {"classification": FAMILIES, "regression": REGRESSION_FAMILIES}


def families_of(task: str) -> tuple[Family, ...]:
    """Return the families of a task."""
    return _BY_TASK[check_choice(task, "task", _BY_TASK)]


def default_families(task: str) -> list[Family]:
    """Return the families that are compared without being named."""
    return [family for family in families_of(task) if not family.by_name]


def family_named(name: str, task: str = "classification") -> Family:
    """Return a family of a task by its name."""
    families = {family.name: family for family in families_of(task)}
    if name not in families:
        raise unknown_name(name, "learner", families)
    return families[name]
