"""The families to compare on classes: baselines, learners, and classifiers without a similarity."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, TypeAlias

from likewise.classifiers import DBoost, SimilarityClassifier, SimilarityFeatureClassifier
from likewise.learners import AROMA, ITML, LEGO, LMNN, MCML, MMC, NCA, OASIS, POLA, RCA, SiLA

Kind: TypeAlias = Literal["baseline", "learned", "reference"]
Settings: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Family:
    """A kind of classifier or regressor, and the few settings that are worth trying.

    Attributes
    ----------
    name : str
        Its name on the command line.
    title : str
        Its name in tables.
    kind : {"baseline", "learned", "reference"}
    about : str
        A description of one line.
    make : callable
        Makes an estimator from settings (without ``scale``) and a seed.
    grid : tuple of mappings
        The settings, the most likely first; ``scale`` is that of `Columns`.
    sparse : bool
        Whether it takes CSR.
    searchable : bool
        Whether it leaves a similarity to search and explain with.
    kernels : tuple of str
        Compiled loops that it runs on dense rows; compiled while cheap families are fitted.
    cheap : bool
        Whether it is finished first, whatever the budget.
    probabilities : bool
        Whether it predicts probabilities of classes.
    is_constant : bool
        Whether it predicts the same for every row.
    growth : float
        Power of the number of rows with which the time of a fit grows.
    wide : mapping
        Added to the settings where rows have more than a hundred features, for speed.
    by_name : bool
        Whether it is compared only where it is named.
    max_rows : int or None
        Maximum number of rows that it can be fitted on; None for no limit.
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
    cheap: bool = False
    probabilities: bool = True
    is_constant: bool = False
    growth: float = 1.5
    wide: Settings = field(default_factory=dict)
    by_name: bool = False
    max_rows: int | None = None

    def estimator(self, settings: Settings, seed: int) -> Any:
        """Return an estimator with these settings."""
        return self.make({key: v for key, v in settings.items() if key != "scale"}, seed)


def _knn(similarity: str) -> Callable[[dict[str, Any], int], Any]:
    return lambda settings, seed: SimilarityClassifier(similarity=similarity, **settings)


def _learned(
    learner: type, *, seeded: bool = True, **fixed: Any
) -> Callable[[dict[str, Any], int], Any]:
    """Return a factory of classifiers; `n_neighbors` and `rule` go to the classifier."""

    def make(settings: dict[str, Any], seed: int) -> SimilarityClassifier:
        use = {key: settings.pop(key) for key in ("n_neighbors", "rule") if key in settings}
        seeds = {"random_state": seed} if seeded else {}
        return SimilarityClassifier(learner(**seeds, **fixed, **settings), **use)

    return make


def reference(
    module: str, name: str, *, seeded: bool = True, **fixed: Any
) -> Callable[[dict[str, Any], int], Any]:
    """Return a factory of estimators of scikit-learn, which is imported when they are made."""

    def make(settings: dict[str, Any], seed: int) -> Any:
        estimator = getattr(import_module(f"sklearn.{module}"), name)
        return estimator(**({"random_state": seed} if seeded else {}), **fixed, **settings)

    return make


SEARCH = ("scan_products",)
_LMNN = ("scan_impostors", "group_edges", "edge_distances", "margin_costs", "add_neighbors")
_ONLINE = ("list_rows", "add_rows")
_DBOOST = ("search_histogram", "sum_trees")
_KNN_GRID = (
    {"scale": "standard", "n_neighbors": 5},
    {"scale": "none", "n_neighbors": 5},
    {"scale": "standard", "n_neighbors": 1},
    {"scale": "standard", "n_neighbors": 15},
)

# In the order in which they are tried. Another learner is another entry. The growth of times was
# measured from 1,600 to 16,000 rows of 20 features.
FAMILIES: tuple[Family, ...] = (
    Family(
        "majority",
        "majority class",
        "baseline",
        "always predicts the largest class",
        reference("dummy", "DummyClassifier", strategy="prior"),
        ({"scale": "none"},),
        searchable=False,
        cheap=True,
        is_constant=True,
    ),
    Family(
        "euclidean",
        "Euclidean kNN",
        "baseline",
        "nearest neighbors by Euclidean distance, without learning",
        _knn("euclidean"),
        _KNN_GRID,
        kernels=SEARCH,
        cheap=True,
    ),
    Family(
        "cosine",
        "cosine kNN",
        "baseline",
        "nearest neighbors by cosine, without learning",
        _knn("cosine"),
        _KNN_GRID,
        kernels=SEARCH,
        cheap=True,
    ),
    Family(
        "logistic",
        "logistic regression",
        "reference",
        "scikit-learn's, as a reference",
        reference("linear_model", "LogisticRegression", max_iter=200),
        (
            {"scale": "standard", "C": 1.0},
            {"scale": "standard", "C": 0.05},
            {"scale": "standard", "C": 1.0, "class_weight": "balanced"},
        ),
        searchable=False,
        cheap=True,
        growth=0.7,
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
        kernels=(*SEARCH, *_LMNN, "class_energies"),
        # measured on 1000 digits of 784 pixels: 0.6 s instead of minutes
        wide={"n_components": 30, "init": "pca", "max_iter": 30},
        growth=1.2,
    ),
    Family(
        "nca",
        "NCA",
        "learned",
        "a Mahalanobis distance from labels, by the probability of a neighbor of the same class",
        _learned(NCA),
        (
            {"scale": "standard", "n_neighbors": 3},
            {"scale": "standard", "n_neighbors": 3, "objective": "accuracy"},
            {"scale": "standard", "n_neighbors": 9},
            {"scale": "none", "n_neighbors": 3},
        ),
        kernels=SEARCH,
        wide={"n_components": 30},
        growth=0.35,
    ),
    Family(
        "rca",
        "RCA",
        "learned",
        "a Mahalanobis distance from labels, by the inverse of the covariance within classes",
        _learned(RCA, seeded=False),
        (
            {"scale": "standard", "n_neighbors": 3},
            {"scale": "standard", "n_neighbors": 9},
        ),
        kernels=SEARCH,
        wide={"shrinkage": 0.1},
        growth=1.0,
    ),
    Family(
        "boosting",
        "gradient boosting",
        "reference",
        "scikit-learn's, as a reference",
        reference("ensemble", "HistGradientBoostingClassifier"),
        (
            {"scale": "none", "max_iter": 100},
            {"scale": "none", "max_iter": 100, "class_weight": "balanced"},
        ),
        sparse=False,
        searchable=False,
        growth=0.35,
    ),
    Family(
        "svm",
        "RBF SVM",
        "reference",
        "scikit-learn's, as a reference",
        reference("svm", "SVC", kernel="rbf", gamma="scale"),
        ({"scale": "standard", "C": 1.0}, {"scale": "standard", "C": 10.0}),
        searchable=False,
        probabilities=False,
        growth=2.0,
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
        kernels=(*SEARCH, *_ONLINE, "diagonal_dense"),
        growth=1.7,
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
        kernels=(*SEARCH, *_ONLINE, "oasis_dense"),
        growth=1.7,
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
        kernels=(*SEARCH, "visit_each"),
        growth=1.7,
    ),
    Family(
        "dboost",
        "DBoost",
        "learned",
        "boosted stumps on pairs of rows under any distance; classifies, cannot search",
        lambda settings, seed: DBoost(
            n_rounds=100, search="histogram", random_state=seed, **settings
        ),
        ({"scale": "standard"},),
        sparse=False,
        searchable=False,
        kernels=_DBOOST,
        growth=1.2,
    ),
    Family(
        "landmarks",
        "landmarks",
        "learned",
        "similarity to landmarks as features, with balanced Winnow; classifies, cannot search",
        lambda settings, seed: SimilarityFeatureClassifier(random_state=seed, **settings),
        ({"scale": "standard", "use": "both", "boolean": 0.03},),
        searchable=False,
        kernels=("pair_scores", "winnow_pass_dense", "winnow_scores_dense"),
        probabilities=False,
    ),
    # Alternatives to the learners above, compared only where they are named.
    Family(
        "itml",
        "ITML",
        "learned",
        "a Mahalanobis distance from pairs or labels, near the Euclidean one, by bounds of pairs",
        _learned(ITML),
        (
            {"scale": "standard", "n_neighbors": 3},
            {"scale": "standard", "n_neighbors": 3, "init": "covariance"},
            {"scale": "standard", "n_neighbors": 3, "gamma": 10.0},
        ),
        kernels=SEARCH,
        growth=0.1,
        by_name=True,
    ),
    Family(
        "lego",
        "LEGO",
        "learned",
        "a Mahalanobis distance from pairs or labels, online, by the divergence of ITML",
        _learned(LEGO),
        (
            {"scale": "standard", "n_neighbors": 3},
            {"scale": "standard", "n_neighbors": 3, "eta": 0.1},
        ),
        kernels=SEARCH,
        growth=0.1,
        by_name=True,
    ),
    Family(
        "pola",
        "POLA",
        "learned",
        "a Mahalanobis distance and a threshold from pairs or labels, online, by projections",
        _learned(POLA),
        ({"scale": "standard", "n_neighbors": 3, "n_pairs": 5_000},),
        kernels=SEARCH,
        wide={"n_pairs": 1_000},
        growth=0.1,
        by_name=True,
    ),
    Family(
        "mmc",
        "MMC",
        "learned",
        "a Mahalanobis distance from pairs or labels, with dissimilar pairs far apart",
        _learned(MMC),
        (
            {"scale": "standard", "n_neighbors": 3},
            {"scale": "standard", "n_neighbors": 3, "diagonal": True},
        ),
        kernels=SEARCH,
        growth=0.1,
        by_name=True,
    ),
    Family(
        "mcml",
        "MCML",
        "learned",
        "a Mahalanobis distance from labels that collapses classes; up to 10,000 rows",
        _learned(MCML, seeded=False),
        (
            {"scale": "standard", "n_neighbors": 3},
            {"scale": "standard", "n_neighbors": 9},
        ),
        kernels=SEARCH,
        growth=2.0,
        by_name=True,
        max_rows=10_000,
    ),
)
