"""The learner of labeled pairs: the mean of a logistic regression and a forest, kept as arrays."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from likewise import kernels
from likewise._files import fields

LEARNERS = ("auto", "logistic", "forest")
_C = 0.1
_TREES = 100
_MIN_LEAF = 2  # rows
_MISSING = -1.0  # a missing feature in the forest
_MIN_SCALE = 1e-12  # of a feature that differs
FOLDS = 5
_DOUBLES = ("float64",)
_FIELDS: fields.Declaration = {
    "kind": fields.Choice(*LEARNERS),
    "coef": fields.Array(_DOUBLES, "features"),
    "mean": fields.Array(_DOUBLES, "features"),
    "scale": fields.Array(_DOUBLES, "features", minimum=_MIN_SCALE),
    "intercept": fields.Number(minimum=None, whole=False),
    "feature": fields.Array(fields.INTEGERS, "nodes", minimum=0, below="features"),
    "left": fields.Array(fields.INTEGERS, "nodes", minimum=0, below="nodes"),
    "right": fields.Array(fields.INTEGERS, "nodes", minimum=0, below="nodes"),
    "threshold": fields.Array(_DOUBLES, "nodes"),
    "share": fields.Array(_DOUBLES, "nodes", minimum=0, maximum=1),
    "roots": fields.Array(fields.INTEGERS, "trees", minimum=0, below="nodes"),
}


@dataclass(frozen=True, eq=False)
class PairLearner:
    """Probabilities of matches from comparison vectors.

    Attributes
    ----------
    kind : {"auto", "logistic", "forest"}
        ``auto`` is the mean of both.
    mean, scale, coef : (n_features,) arrays
    intercept : float
        Of the logistic regression, on standardized features.
    roots : (n_trees,) int64 array
    feature, left, right : (n_nodes,) int64 arrays
    threshold, share : (n_nodes,) arrays
        Nodes of all trees; a leaf is its own child, and has a share of matches.
    """

    kind: str
    mean: np.ndarray
    scale: np.ndarray
    coef: np.ndarray
    intercept: float
    roots: np.ndarray
    feature: np.ndarray
    left: np.ndarray
    right: np.ndarray
    threshold: np.ndarray
    share: np.ndarray

    def __post_init__(self) -> None:
        fields.check_fields(vars(self), _FIELDS, fields.Sizes(self, {}), "")
        if not len(self.roots):
            raise ValueError("roots is empty, but one tree or more is needed.")
        own = np.arange(len(self.feature))
        ends = (self.left == own) & (self.right == own)
        if not (ends | ((self.left > own) & (self.right > own))).all():
            raise ValueError("a node must be a leaf or come before both of its children.")

    def probabilities(self, vectors: np.ndarray) -> np.ndarray:
        """Return uncalibrated probabilities of matches."""
        if self.kind == "logistic":
            return self.logistic(vectors)
        if self.kind == "forest":
            return self.forest(vectors)
        return (self.logistic(vectors) + self.forest(vectors)) / 2

    def log_odds(self, vectors: np.ndarray) -> np.ndarray:
        """Return the contribution of each feature to the log odds of the logistic regression."""
        self._check_width(vectors)
        return np.nan_to_num((vectors - self.mean) / self.scale) * self.coef

    def logistic(self, vectors: np.ndarray) -> np.ndarray:
        """Return the probabilities of the logistic regression."""
        from scipy.special import expit

        return expit(self.intercept + self.log_odds(vectors).sum(axis=1))

    def forest(self, vectors: np.ndarray) -> np.ndarray:
        """Return the mean share of matches in the leaves of the trees."""
        self._check_width(vectors)
        shares = np.empty(len(vectors))
        nodes = self.feature, self.threshold, self.left, self.right, self.share
        kernels.forest_means(_filled(vectors), self.roots, *nodes, shares)
        return shares

    def _check_width(self, vectors: np.ndarray) -> None:
        if vectors.shape[1] != len(self.coef):
            raise ValueError(
                f"the learner has {len(self.coef)} features, but {vectors.shape[1]} were given."
            )


class LabeledVectors(NamedTuple):
    """Comparison vectors with labels and weights."""

    vectors: np.ndarray
    labels: np.ndarray
    weights: np.ndarray

    def after(self, vectors: np.ndarray, labels: np.ndarray) -> "LabeledVectors":
        """Return other labeled vectors of weight 1, followed by these."""
        return LabeledVectors(
            np.concatenate([vectors, self.vectors]),
            np.concatenate([labels, self.labels]),
            np.concatenate([np.ones(len(labels)), self.weights]),
        )


def fit_learner(
    vectors: np.ndarray, labels: np.ndarray, weights: np.ndarray, kind: str, random_state: int
) -> PairLearner:
    """Learn from labeled and weighted comparison vectors."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    vectors = np.asarray(vectors, dtype=np.float64)
    present = ~np.isnan(vectors)
    n = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, vectors, 0.0).sum(axis=0) / n
    centered = np.where(present, vectors - mean, 0.0)
    scale = np.sqrt((centered**2).mean(axis=0))
    scale[scale < _MIN_SCALE] = 1.0
    logistic = LogisticRegression(C=_C, max_iter=1000).fit(centered / scale, labels, weights)
    forest = RandomForestClassifier(_TREES, min_samples_leaf=_MIN_LEAF, random_state=random_state)
    forest.fit(_filled(vectors), labels, weights)
    return PairLearner(
        kind,
        mean,
        scale,
        logistic.coef_[0].copy(),
        float(logistic.intercept_[0]),
        *_nodes([tree.tree_ for tree in forest.estimators_]),
    )


class _Nodes(NamedTuple):
    """Arrays of `PairLearner`."""

    roots: np.ndarray
    feature: np.ndarray
    left: np.ndarray
    right: np.ndarray
    threshold: np.ndarray
    share: np.ndarray


def _nodes(trees: list[Any]) -> _Nodes:
    """Join the nodes of scikit-learn's trees."""
    counts = np.array([tree.node_count for tree in trees])
    roots = np.concatenate([[0], np.cumsum(counts)[:-1]])
    own = np.arange(counts.sum())
    leaf = np.concatenate([tree.children_left < 0 for tree in trees])

    def children(side: str) -> np.ndarray:
        found = [getattr(t, side) + root for t, root in zip(trees, roots, strict=True)]
        return np.where(leaf, own, np.concatenate(found))

    values = np.concatenate([tree.value[:, 0, :] for tree in trees])
    return _Nodes(
        roots,
        np.where(leaf, 0, np.concatenate([tree.feature for tree in trees])),
        children("children_left"),
        children("children_right"),
        np.concatenate([tree.threshold for tree in trees]),
        values[:, 1] / values.sum(axis=1),
    )


def out_of_fold(
    vectors: np.ndarray,
    labels: np.ndarray,
    prior: LabeledVectors,
    kind: str,
    random_state: int,
) -> np.ndarray | None:
    """Return probabilities of labeled pairs by learners of the other pairs and the prior ones.

    None where there are fewer than two matches or non-matches.
    """
    from sklearn.model_selection import StratifiedKFold

    n_folds = min(FOLDS, int(labels.sum()), int((~labels).sum()))
    if n_folds < 2:
        return None
    found = np.empty(len(labels))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    for train, test in folds.split(vectors, labels):
        learner = fit_learner(*prior.after(vectors[train], labels[train]), kind, random_state)
        found[test] = learner.probabilities(vectors[test])
    return found


def _filled(vectors: np.ndarray) -> np.ndarray:
    """Return vectors for the forest, as scikit-learn compares them."""
    return np.where(np.isnan(vectors), _MISSING, vectors).astype(np.float32)
