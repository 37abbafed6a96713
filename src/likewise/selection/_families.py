"""What is tried: baselines, learners, and strong classifiers that learn no similarity."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from likewise._validation import unknown_name
from likewise.classifiers import DBoost, SimilarityClassifier, SimilarityFeatureClassifier
from likewise.learners import AROMA, LMNN, OASIS, SiLA

Kind: TypeAlias = Literal["baseline", "learned", "reference"]
Settings: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Family:
    """One way to classify, and the few settings that are worth trying.

    Attributes
    ----------
    name : str
        What the command line calls it.
    title : str
        What a table calls it.
    kind : {"baseline", "learned", "reference"}
    about : str
        One line.
    make : callable
        From settings (without ``scale``) and a seed to an estimator.
    grid : tuple of mappings
        The settings, the likeliest first; ``scale`` is that of `Columns`.
    sparse : bool
        Whether it takes CSR.
    searchable : bool
        Whether it leaves a similarity, to search and explain with.
    wide : mapping
        What is added to the settings where rows have more than a hundred features, for speed.
    """

    name: str
    title: str
    kind: Kind
    about: str
    make: Callable[[dict[str, Any], int], Any]
    grid: tuple[Settings, ...]
    sparse: bool = True
    searchable: bool = True
    wide: Settings = field(default_factory=dict)

    def estimator(self, settings: Settings, seed: int) -> Any:
        """Return an estimator with these settings."""
        return self.make({key: v for key, v in settings.items() if key != "scale"}, seed)


def family_named(name: str) -> Family:
    """Return a family by its name."""
    found = {family.name: family for family in FAMILIES}
    if name not in found:
        raise unknown_name(name, "learner", found)
    return found[name]


def _knn(similarity: str) -> Callable[[dict[str, Any], int], Any]:
    return lambda settings, seed: SimilarityClassifier(similarity=similarity, **settings)


def _learned(learner: type, **fixed: Any) -> Callable[[dict[str, Any], int], Any]:
    """Return a maker of classifiers by a learner; `n_neighbors` and `rule` are the classifier's."""

    def make(settings: dict[str, Any], seed: int) -> SimilarityClassifier:
        use = {key: settings.pop(key) for key in ("n_neighbors", "rule") if key in settings}
        return SimilarityClassifier(learner(random_state=seed, **fixed, **settings), **use)

    return make


def _logistic(settings: dict[str, Any], seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=200, **settings)


def _svm(settings: dict[str, Any], seed: int) -> Any:
    from sklearn.svm import SVC

    return SVC(kernel="rbf", gamma="scale", **settings)


def _boosting(settings: dict[str, Any], seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed, **settings)


_KNN_GRID = (
    {"scale": "standard", "n_neighbors": 5},
    {"scale": "none", "n_neighbors": 5},
    {"scale": "standard", "n_neighbors": 1},
    {"scale": "standard", "n_neighbors": 15},
)

# In the order in which they are shown and tried. Another learner is another entry.
FAMILIES: tuple[Family, ...] = (
    Family(
        "euclidean",
        "Euclid kNN",
        "baseline",
        "nearest neighbours by Euclidean distance; nothing is learned",
        _knn("euclidean"),
        _KNN_GRID,
    ),
    Family(
        "cosine",
        "cosine kNN",
        "baseline",
        "nearest neighbours by cosine; nothing is learned",
        _knn("cosine"),
        _KNN_GRID,
    ),
    Family(
        "lmnn",
        "LMNN",
        "learned",
        "a Mahalanobis distance from labels, at the optimum of a convex problem",
        _learned(LMNN),
        (
            {"scale": "standard", "n_neighbors": 3},
            {"scale": "standard", "rule": "energy"},
            {"scale": "standard", "n_neighbors": 3, "c": 0.1},
            {"scale": "none", "n_neighbors": 3},
        ),
        sparse=False,
        # measured on 1000 digits of 784 pixels: 0.6 s instead of minutes
        wide={"n_components": 30, "init": "pca", "max_iter": 30},
    ),
    Family(
        "aroma",
        "AROMA",
        "learned",
        "a bilinear similarity with its uncertainty, online, from triplets or labels",
        _learned(AROMA, n_triplets=20_000),
        (
            {"scale": "standard", "n_neighbors": 5},
            {"scale": "standard", "n_neighbors": 5, "r": 0.1},
            {"scale": "none", "n_neighbors": 5},
        ),
    ),
    Family(
        "oasis",
        "OASIS",
        "learned",
        "a bilinear similarity, online, by passive-aggressive steps",
        _learned(OASIS, n_triplets=20_000),
        (
            {"scale": "standard", "n_neighbors": 5},
            {"scale": "standard", "n_neighbors": 5, "C": 0.1},
            {"scale": "none", "n_neighbors": 5},
        ),
    ),
    Family(
        "sila",
        "SiLA",
        "learned",
        "a normalised bilinear similarity from labels, by a voted perceptron",
        _learned(SiLA),
        (
            {"scale": "standard", "n_neighbors": 3},
            {"scale": "standard", "n_neighbors": 3, "form": "diagonal"},
            {"scale": "none", "n_neighbors": 3},
        ),
    ),
    Family(
        "dboost",
        "DBoost",
        "learned",
        "boosted splits by pairs of rows under any distance; classifies, does not search",
        lambda settings, seed: DBoost(n_rounds=100, random_state=seed, **settings),
        ({"scale": "standard"},),
        sparse=False,
        searchable=False,
    ),
    Family(
        "landmarks",
        "landmarks",
        "learned",
        "similarity to landmarks as features, with balanced Winnow; classifies, does not search",
        lambda settings, seed: SimilarityFeatureClassifier(random_state=seed, **settings),
        ({"scale": "standard", "use": "both", "boolean": 0.03},),
        searchable=False,
    ),
    Family(
        "logistic",
        "logistic regression",
        "reference",
        "scikit-learn's, as an outside reference",
        _logistic,
        ({"scale": "standard", "C": 1.0}, {"scale": "standard", "C": 0.05}),
        searchable=False,
    ),
    Family(
        "svm",
        "RBF SVM",
        "reference",
        "scikit-learn's, as an outside reference",
        _svm,
        ({"scale": "standard", "C": 1.0}, {"scale": "standard", "C": 10.0}),
        searchable=False,
    ),
    Family(
        "boosting",
        "gradient boosting",
        "reference",
        "scikit-learn's, as an outside reference",
        _boosting,
        ({"scale": "none", "max_iter": 100},),
        sparse=False,
        searchable=False,
    ),
)
