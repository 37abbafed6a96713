"""The families to compare: baselines, learners, and classifiers without a similarity."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, TypeAlias

from likewise._validation import unknown_name
from likewise.classifiers import DBoost, SimilarityClassifier, SimilarityFeatureClassifier
from likewise.learners import AROMA, LMNN, OASIS, SiLA

Kind: TypeAlias = Literal["baseline", "learned", "reference"]
Settings: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Family:
    """A kind of classifier, and the few settings that are worth trying.

    Attributes
    ----------
    name : str
        Its name on the command line.
    title : str
        Its name in tables.
    kind : {"baseline", "learned", "reference"}
    about : str
        One line.
    make : callable
        Makes an estimator from settings (without ``scale``) and a seed.
    grid : tuple of mappings
        The settings, the most likely first; ``scale`` is that of `Columns`.
    sparse : bool
        Whether it takes CSR.
    searchable : bool
        Whether it leaves a similarity to search and explain with.
    kernels : tuple of str
        Compiled loops that it runs on dense rows; they are compiled before the time of a budget.
    wide : mapping
        Added to the settings where rows have more than a hundred features, for speed.
    """

    name: str
    title: str
    kind: Kind
    about: str
    make: Callable[[dict[str, Any], int], Any]
    grid: tuple[Settings, ...]
    sparse: bool = True
    searchable: bool = True
    kernels: tuple[str, ...] = ()
    wide: Settings = field(default_factory=dict)

    def estimator(self, settings: Settings, seed: int) -> Any:
        """Return an estimator with these settings."""
        return self.make({key: v for key, v in settings.items() if key != "scale"}, seed)


def family_named(name: str) -> Family:
    """Return a family by its name."""
    families = {family.name: family for family in FAMILIES}
    if name not in families:
        raise unknown_name(name, "learner", families)
    return families[name]


def _knn(similarity: str) -> Callable[[dict[str, Any], int], Any]:
    return lambda settings, seed: SimilarityClassifier(similarity=similarity, **settings)


def _learned(learner: type, **fixed: Any) -> Callable[[dict[str, Any], int], Any]:
    """Return a factory of classifiers; `n_neighbors` and `rule` go to the classifier."""

    def make(settings: dict[str, Any], seed: int) -> SimilarityClassifier:
        use = {key: settings.pop(key) for key in ("n_neighbors", "rule") if key in settings}
        return SimilarityClassifier(learner(random_state=seed, **fixed, **settings), **use)

    return make


def _reference(module: str, name: str, **fixed: Any) -> Callable[[dict[str, Any], int], Any]:
    """Return a factory of classifiers of scikit-learn, which are imported when they are made."""

    def make(settings: dict[str, Any], seed: int) -> Any:
        classifier = getattr(import_module(f"sklearn.{module}"), name)
        return classifier(random_state=seed, **fixed, **settings)

    return make


_SEARCH = ("scan_products",)
_LMNN = ("scan_impostors", "group_edges", "edge_distances", "margin_costs", "add_neighbors")
_ONLINE = ("list_rows", "add_rows")
_DBOOST = (
    "draw_pairs", "gather_weights", "search_histogram", "histogram_threshold", "leaf_weights",
    "reweigh", "sum_trees",
)  # fmt: skip
_KNN_GRID = (
    {"scale": "standard", "n_neighbors": 5},
    {"scale": "none", "n_neighbors": 5},
    {"scale": "standard", "n_neighbors": 1},
    {"scale": "standard", "n_neighbors": 15},
)

# In the order in which they are tried. Another learner is another entry.
FAMILIES: tuple[Family, ...] = (
    Family(
        "euclidean",
        "Euclidean kNN",
        "baseline",
        "nearest neighbors by Euclidean distance, without learning",
        _knn("euclidean"),
        _KNN_GRID,
        kernels=_SEARCH,
    ),
    Family(
        "cosine",
        "cosine kNN",
        "baseline",
        "nearest neighbors by cosine, without learning",
        _knn("cosine"),
        _KNN_GRID,
        kernels=_SEARCH,
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
        kernels=(*_SEARCH, *_LMNN, "class_energies"),
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
        kernels=(*_SEARCH, *_ONLINE, "diagonal_dense"),
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
        kernels=(*_SEARCH, *_ONLINE, "oasis_dense"),
    ),
    Family(
        "sila",
        "SiLA",
        "learned",
        "a normalized bilinear similarity from labels, by a voted perceptron",
        _learned(SiLA),
        (
            {"scale": "standard", "n_neighbors": 3},
            {"scale": "standard", "n_neighbors": 3, "form": "diagonal"},
            {"scale": "none", "n_neighbors": 3},
        ),
        kernels=(*_SEARCH, "visit_each"),
    ),
    Family(
        "dboost",
        "DBoost",
        "learned",
        "boosted stumps on pairs of rows under any distance; classifies, cannot search",
        lambda settings, seed: DBoost(n_rounds=100, random_state=seed, **settings),
        ({"scale": "standard"},),
        sparse=False,
        searchable=False,
        kernels=_DBOOST,
    ),
    Family(
        "landmarks",
        "landmarks",
        "learned",
        "similarity to landmarks as features, with balanced Winnow; classifies, cannot search",
        lambda settings, seed: SimilarityFeatureClassifier(random_state=seed, **settings),
        ({"scale": "standard", "use": "both", "boolean": 0.03},),
        searchable=False,
        kernels=("winnow_pass_dense", "winnow_scores_dense"),
    ),
    Family(
        "logistic",
        "logistic regression",
        "reference",
        "scikit-learn's, as a reference",
        _reference("linear_model", "LogisticRegression", max_iter=200),
        ({"scale": "standard", "C": 1.0}, {"scale": "standard", "C": 0.05}),
        searchable=False,
    ),
    Family(
        "svm",
        "RBF SVM",
        "reference",
        "scikit-learn's, as a reference",
        _reference("svm", "SVC", kernel="rbf", gamma="scale"),
        ({"scale": "standard", "C": 1.0}, {"scale": "standard", "C": 10.0}),
        searchable=False,
    ),
    Family(
        "boosting",
        "gradient boosting",
        "reference",
        "scikit-learn's, as a reference",
        _reference("ensemble", "HistGradientBoostingClassifier"),
        ({"scale": "none", "max_iter": 100},),
        sparse=False,
        searchable=False,
    ),
)
