"""Boosting of splits by pairs of examples: drawing pairs, growing trees, reweighting examples."""

from dataclasses import dataclass

import numpy as np

from likewise import kernels
from likewise._progress import LongWork
from likewise._threads import for_each, slices
from likewise.similarities import DissimilarityColumns

_N_BINS = 128
_MAX_EXACT_ROWS = 80  # up to this number sorting is as fast
_PAIRS_IN_BLOCK = 8
_MIN_PARALLEL_SIZE = 1_000_000  # weights times pairs, below which threads do not pay off
_LABELS_IN_VECTOR = 4  # SIMD width: weights added in one instruction
_NO_SPLIT = np.inf  # a threshold that no f exceeds


@dataclass(frozen=True)
class BoostingOptions:
    """Parameters of `DBoost` that one ensemble depends on."""

    n_pairs: int
    n_prototypes: int | None
    threshold: str
    search: str
    max_depth: int
    learning_rate: float = 1.0


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Full trees of splits f(x) = d(x, x′) − d(x, x″) > v, with an output for each leaf and label.

    Attributes
    ----------
    prototypes : (n_prototypes,) int64, row numbers
    firsts, seconds : (n_trees, n_nodes) int64, x′ and x″ as positions in `prototypes`
    thresholds : (n_trees, n_nodes) float64
    outputs : (n_trees, n_leaves, n_labels) float64
    history : list of dict, one per round
    """

    prototypes: np.ndarray
    firsts: np.ndarray
    seconds: np.ndarray
    thresholds: np.ndarray
    outputs: np.ndarray
    history: list[dict[str, float]]

    def leaves(self, distances: np.ndarray) -> np.ndarray:
        """Return the leaf of each example in each tree, from distances to prototypes."""
        leaves = np.empty((len(distances), len(self.firsts)), dtype=np.int64)
        kernels.find_leaves(distances, self.firsts, self.seconds, self.thresholds, leaves)
        return leaves


def boost(
    columns: DissimilarityColumns,
    rows: np.ndarray,
    labels: np.ndarray,
    importances: np.ndarray,
    n_rounds: int,
    options: BoostingOptions,
    rng: np.random.Generator,
    work: LongWork,
) -> Ensemble:
    """Boost trees on the given rows by the real AdaBoost.MH of Schapire and Singer.

    Parameters
    ----------
    columns : dissimilarities of all rows
    rows : (n,) int64, numbers of the training rows
    labels : (n,) int64, their classes, from 0
    importances : (n,) positive, their weights at the start, up to a factor
    """
    n, n_classes = len(rows), int(labels.max()) + 1
    targets, n_labels = label_targets(labels, n_classes)
    masses = importances / importances.sum()
    weights = np.repeat(masses[:, None] / n_labels, n_labels, axis=1)
    scores = np.zeros((n, n_labels))
    smoothing = 1 / (n * n_labels)
    grower = _Grower(columns, rows, labels, targets, weights, masses, options, rng)
    outputs, history = [], []
    bound = 1.0
    for number in range(1, n_rounds + 1):
        leaves = grower.grow()
        positive, total = leaf_weights(leaves, targets, weights, 2**options.max_depth)
        negative = np.maximum(total - positive, 0.0)
        output = np.log((positive + smoothing) / (negative + smoothing)) / 2
        output *= options.learning_rate
        scores += output.take(leaves, axis=0)
        normaliser = reweigh(leaves, targets, output, weights, masses)
        wrong = importances[predicted_targets(scores) != targets].sum()
        outputs.append(output)
        bound *= normaliser
        history.append(
            {
                "round": number,
                "normaliser": float(normaliser),
                "bound": float(bound),
                "training_error": float(wrong / importances.sum()),
                "prototypes": len(grower.used),
            }
        )
        work.advance()
        if work.interrupted:
            break
    prototypes, firsts, seconds, thresholds = grower.trees()
    return Ensemble(prototypes, firsts, seconds, thresholds, np.array(outputs), history)


def label_targets(labels: np.ndarray, n_classes: int) -> tuple[np.ndarray, int]:
    """Return the positive label of each example (−1 for none), and the number of labels.

    Two classes need only one label: the second label of AdaBoost.MH would be its mirror image.
    """
    return (labels - 1, 1) if n_classes == 2 else (labels, n_classes)


def predicted_targets(scores: np.ndarray) -> np.ndarray:
    """Return the label with the highest score of each example; of a single one, by its sign."""
    if scores.shape[1] == 1:
        return np.where(scores[:, 0] > 0, 0, -1)
    best: np.ndarray = scores.argmax(axis=1)
    return best


def predicted_classes(scores: np.ndarray) -> np.ndarray:
    """Return the class with the highest score of each example."""
    labels = predicted_targets(scores)
    return labels + 1 if scores.shape[1] == 1 else labels


class _Grower:
    """Grows trees, one at a time, under weights that change between trees."""

    def __init__(
        self,
        columns: DissimilarityColumns,
        rows: np.ndarray,
        labels: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        masses: np.ndarray,
        options: BoostingOptions,
        rng: np.random.Generator,
    ) -> None:
        self._columns, self._rows, self._labels = columns, rows, labels
        self._targets, self._weights, self._masses = targets, weights, masses
        self._options, self._rng = options, rng
        n_labels = weights.shape[1]
        width = 1 if n_labels == 1 else -(-n_labels // _LABELS_IN_VECTOR) * _LABELS_IN_VECTOR
        self._wide = np.zeros((len(rows), width))  # weights, padded for the search
        self._by_class = np.argsort(labels, kind="stable")  # order in which pairs are drawn
        self._nodes: list[tuple[int, int, float]] = []
        self.used: dict[int, None] = {}  # positions in `rows`, in order of first use

    def grow(self) -> np.ndarray:
        """Grow a tree and return the leaf of each example."""
        members = [np.arange(len(self._rows))]
        for _ in range(self._options.max_depth):
            halves = [self._split(part) for part in members]
            members = [half for pair in halves for half in pair]
        leaves = np.empty(len(self._rows), dtype=np.int64)
        for leaf, part in enumerate(members):
            leaves[part] = leaf
        return leaves

    def trees(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the prototypes' row numbers, and the trees in terms of their positions."""
        used = np.array(sorted(self.used))
        n_nodes = 2**self._options.max_depth - 1
        firsts, seconds = (
            np.searchsorted(used, [node[side] for node in self._nodes]).reshape(-1, n_nodes)
            for side in (0, 1)
        )
        thresholds = np.array([node[2] for node in self._nodes]).reshape(-1, n_nodes)
        return self._rows[used], firsts, seconds, thresholds

    def _split(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split examples by the best of the pairs drawn for them."""
        labels = self._labels[members]
        if len(members) == 0 or (labels == labels[0]).all():
            prototype = next(iter(self.used), 0)
            self.used[prototype] = None
            self._nodes.append((prototype, prototype, _NO_SPLIT))
            return members, members[:0]
        pool = self._candidates(members)
        pairs = draw_pairs(self._labels[pool], self._masses[pool], self._options.n_pairs, self._rng)
        drawn = pool[pairs]
        left, right = self._columns.positions(self._rows[drawn].ravel()).reshape(2, -1)
        best, threshold, gaps = self._best(left, right, members)
        first, second = drawn[:, best].tolist()
        self.used[first] = self.used[second] = None
        self._nodes.append((first, second, threshold))
        beyond = gaps > threshold
        return members[~beyond], members[beyond]

    def _candidates(self, members: np.ndarray) -> np.ndarray:
        """Return the examples that pairs are drawn from, sorted by class.

        These are `members`, or the prototypes once `n_prototypes` is reached.
        """
        limit = self._options.n_prototypes
        reached = limit is not None and len(self.used) >= limit
        if not reached and len(members) == len(self._rows):
            return self._by_class
        chosen = np.zeros(len(self._rows), dtype=bool)
        chosen[list(self.used) if reached else members] = True
        return self._by_class[chosen[self._by_class]]

    def _best(
        self, firsts: np.ndarray, seconds: np.ndarray, members: np.ndarray
    ) -> tuple[int, float, np.ndarray]:
        """Return the position of the best pair, its threshold, and f of all members."""
        values, rows = self._columns.values, self._rows[members]
        targets, weights = self._targets[members], self._wide[: len(members)]
        weights[:, : self._weights.shape[1]] = self._weights[members]
        own = positive_weights(targets, weights)
        width = weights.shape[1]
        whole = np.stack([np.bincount(np.maximum(targets, 0), own, width), weights.sum(axis=0)])
        sums = rows, targets, weights, own
        z, thresholds = np.empty(len(firsts)), np.zeros(len(firsts))
        cuts, scales = np.empty(len(firsts), dtype=np.int64), np.empty((len(firsts), 2))
        method = self._search_method(len(members))

        def scratch() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            bins, weights_of_bins = np.empty(len(rows), np.int32), (2, _N_BINS, weights.shape[1])
            return np.empty(len(rows)), bins, np.empty(weights_of_bins)

        def search(part: slice) -> None:
            pairs = values, firsts[part], seconds[part]
            if method == "zero":
                kernels.search_zero(*pairs, *sums, z[part])
            elif method == "exact":
                kernels.search_exact(*pairs, *sums, whole, z[part], thresholds[part])
            else:
                found = z[part], cuts[part], scales[part]
                kernels.search_histogram(*pairs, *sums, whole, *scratch(), *found)

        if weights.size * len(firsts) < _MIN_PARALLEL_SIZE:
            search(slice(None))
        else:
            for_each(search, list(slices(len(firsts), _PAIRS_IN_BLOCK)))
        best = int(z.argmin())
        gaps = values[firsts[best]][rows] - values[seconds[best]][rows]
        if method == "histogram":
            thresholds[best] = histogram_threshold(gaps, cuts[best], *scales[best])
        return best, float(thresholds[best]), gaps

    def _search_method(self, n_rows: int) -> str:
        if self._options.threshold == "zero":
            return "zero"
        if self._options.search == "auto":
            return "exact" if n_rows <= _MAX_EXACT_ROWS else "histogram"
        return self._options.search


def histogram_threshold(gaps: np.ndarray, cut: int, low: float, scale: float) -> float:
    """Return the midpoint between the maximum f in bins up to `cut` and the minimum f above.

    Without a cut (−1), that is the maximum. `gaps` are f of all rows; the other parameters are as
    `kernels.search_histogram` writes them.
    """
    if cut < 0:
        return float(gaps.max())
    is_below = (gaps - low) * scale < cut + 1
    below, above = float(gaps[is_below].max()), float(gaps[~is_below].min())
    middle = below + (above - below) / 2
    return middle if middle < above else below


def reweigh(
    leaves: np.ndarray,
    targets: np.ndarray,
    outputs: np.ndarray,
    weights: np.ndarray,
    masses: np.ndarray,
) -> float:
    """Multiply each weight by exp(−Y h), and normalize the weights to sum to 1.

    Returns the normalizer Z = Σ w exp(−Y h).

    Parameters
    ----------
    leaves, targets : (n,) int64
    outputs : (n_leaves, n_labels), h
    weights : (n, n_labels), changed
    masses : (n,), written: the sum of each example's weights
    """
    rows = np.flatnonzero(targets >= 0)
    positive = rows, targets[rows]
    shrunk = weights[positive] * np.exp(-outputs[leaves[rows], targets[rows]])
    weights *= np.exp(outputs).take(leaves, axis=0)
    weights[positive] = shrunk
    np.einsum("ij->i", weights, out=masses)
    normalizer = float(masses.sum())
    masses /= normalizer
    weights /= normalizer
    return normalizer


def positive_weights(targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weight of each example for its target; 0 without a target (−1)."""
    own: np.ndarray = weights[np.arange(len(targets)), targets]
    own[targets < 0] = 0
    return own


def leaf_weights(
    leaves: np.ndarray, targets: np.ndarray, weights: np.ndarray, n_leaves: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the positives, and of all, in each leaf: (n_leaves, n_labels) each."""
    n_labels = weights.shape[1]
    size, first = n_leaves * n_labels, leaves * n_labels
    own = positive_weights(targets, weights)
    positive = np.bincount(first + np.maximum(targets, 0), own, size)
    total = np.bincount(np.add.outer(first, np.arange(n_labels)).ravel(), weights.ravel(), size)
    return positive.reshape(n_leaves, n_labels), total.reshape(n_leaves, n_labels)


def draw_pairs(
    labels: np.ndarray, weights: np.ndarray, n_pairs: int, rng: np.random.Generator
) -> np.ndarray:
    """Return positions of x′, drawn by weight, and x″, drawn by weight among the other classes.

    Parameters
    ----------
    labels : (n,) ascending, with at least two classes
    weights : (n,)

    Returns
    -------
    (2, n_pairs) int64
    """
    n, cumulative = len(labels), np.concatenate([[0.0], np.cumsum(weights)])
    first_random, second_random = rng.random(n_pairs), rng.random(n_pairs)

    def at(weight: np.ndarray) -> np.ndarray:
        return np.minimum(np.searchsorted(cumulative, weight, side="right"), n) - 1

    firsts = at(first_random * cumulative[-1])
    start, stop = (np.searchsorted(labels, labels[firsts], side) for side in ("left", "right"))
    # position among the weights of the other classes, shifted past the class of x′
    own = cumulative[stop] - cumulative[start]
    position = second_random * (cumulative[-1] - own)
    seconds = at(np.where(position < cumulative[start], position, position + own))
    # rounding, or classes without weight, can still give the class of x′
    same = labels[seconds] == labels[firsts]
    return np.stack([firsts, np.where(same, np.where(stop < n, stop, start - 1), seconds)])
