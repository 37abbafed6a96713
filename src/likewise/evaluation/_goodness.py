"""Goodness of a similarity for classification: a margin for each example."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._progress import LongWork, show_progress
from likewise._threads import slices
from likewise._validation import (
    check_choice,
    check_classes,
    check_labels,
    check_number,
    check_square,
    check_whole_number,
    sample_rows,
    take,
)
from likewise._warnings import warn
from likewise.classifiers import DBoost
from likewise.exceptions import require_extra
from likewise.metrics import sampling_error
from likewise.similarities import Similarity, exact_scores, similarity_among, underlying_similarity
from likewise.supervision import check_sample_weight

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SCORES_AT_A_TIME = 4_000_000


@dataclass(frozen=True, eq=False)
class Goodness:
    """Margins by which examples are more similar to their own class than to the others.

    Attributes
    ----------
    margins : ndarray of shape (n_rows,)
        NaN for a row that is the only one of its class.
    form : {"mean", "rank", "ensemble"}
        ``mean``: E[K(x′, x) | same label] − E[K(x′, x) | other label]. ``rank``: E sgn(d(x, x″) −
        d(x, x′)), of x′ with the same label and x″ with another: a tie counts 0. ``ensemble``:
        `DBoost.margins`, those of a convex combination of pairs.
    error : float
        Bound, with probability 0.9, on a margin's error due to sampling x′; 0 if all rows were
        used.
    """

    margins: np.ndarray
    form: str
    error: float

    @property
    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """All margins γ, descending, and the share of examples with at least each of them."""
        known = -np.sort(-self._known)
        return known, np.searchsorted(-known, -known, side="right") / len(known)

    def epsilon(self, gamma: float) -> float:
        """Return ε(γ), the share of examples with a margin below `gamma`."""
        return float(np.mean(self._known < gamma))

    def gamma(self, epsilon: float) -> float:
        """Return the largest γ reached by all but a share `epsilon` of the examples."""
        if check_number(epsilon, "epsilon", minimum=0) >= 1:
            raise ValueError(f"epsilon must be a share below 1, but {epsilon} was given.")
        known = np.sort(self._known)
        return float(known[int(epsilon * len(known) + 1e-9)])

    @property
    def pseudo_gamma(self) -> float:
        """The largest γ for which a distance is pseudo γ-good: the mean margin.

        Pseudo-goodness (Wang, Yang and Feng, 2007) is a property of x, x′ and x″ together, all
        three drawn at random. It is weaker than strong goodness: some examples may outweigh a
        majority with a negative margin, on which a vote of pairs then errs.
        """
        return float(self._known.mean())

    @property
    def sentence(self) -> str:
        """One-sentence summary."""
        known = self._known
        error = f" ± {self.error:.2f} for each" if self.error else ""
        return (
            f"{100 * np.mean(known > 0):.0f} % of your examples are closer to their own class; "
            f"margin {self.pseudo_gamma:.2f}{error}"
        )

    def plot(self, ax: Any = None, label: str | None = None) -> "Axes":
        """Plot the margins in descending order; return the axes, for further plots."""
        pyplot = require_extra("matplotlib.pyplot", "plots", "a plot")
        if ax is None:
            ax = pyplot.subplots()[1]
            ax.axhline(0, color="0.7", linewidth=1)
            ax.set(xlabel="share of examples", ylabel="margin")
        known = self.curve[0]
        ax.plot(np.arange(1, len(known) + 1) / len(known), known, label=label)
        if label is not None:
            ax.legend()
        return ax

    @property
    def _known(self) -> np.ndarray:
        return self.margins[~np.isnan(self.margins)]

    def __repr__(self) -> str:
        return f"Goodness({len(self.margins)} rows, form={self.form!r}, {self.sentence})"

    def __str__(self) -> str:
        return self.sentence


def goodness(
    similarity: Any,
    X: Any,
    y: Any,
    *,
    form: str = "auto",
    sample_weight: Any = None,
    sample_size: int = 5_000,
    random_state: Any = 0,
    verbose: bool = False,
) -> Goodness:
    """Measure how well a similarity separates classes, before any training.

    A similarity is strongly (ε, γ)-good if all but a share ε of the examples are on average more
    similar, by γ, to examples of their own class than to others (Balcan and Blum, 2006). A
    distance is if E sgn(d(x, x″) − d(x, x′)) is at least γ for them (Wang, Yang and Feng, 2007);
    it is (ε, γ)-good if there are weights of x′ and x″ with which it holds, and pseudo γ-good if it
    holds on the mean over all examples.

    Parameters
    ----------
    similarity : {"naive", "ranked"}, str, Similarity, fitted learner or callable
        ``"naive"`` and ``"ranked"`` use the Euclidean distance, the latter ranked among the x′;
        the rest is as in `likewise.as_similarity`. For a fitted `DBoost` the margins are those of
        its ensemble: the convex combination of pairs that an (ε, γ)-good distance promises.
    X : rows, or a list of objects
    y : array of labels
    form : {"auto", "mean", "rank"}, default="auto"
        ``rank`` depends only on the order of scores, not on their scale; auto uses it for a
        similarity with a distance.
    sample_weight : array of shape (n_rows,), optional
        Weight of x′ and x″ in the means. Examples of weight zero have margins, but have no effect
        on those of others.
    sample_size : int, default=5000
        Maximum number of examples x′ that each x is compared with, drawn at random.
        `Goodness.error` bounds the error.
    random_state : int, RandomState or None, default=0
    verbose : bool, default=False
        Show progress.

    Returns
    -------
    Goodness
        Margins, their curve, a plot, and a one-sentence summary.

    Notes
    -----
    The paper on distances defines strong goodness by P(d(x, x′) < d(x, x″)) ≥ 1/2 + γ/2 and proves
    its theorem by E sgn ≥ γ. The two are equal without ties; with ties the margins here are those
    of the theorem.

    Examples
    --------
    >>> import likewise as lw
    >>> iris = lw.datasets.load("iris")
    >>> print(lw.goodness("ranked", iris.X, iris.y))
    99 % of your examples are closer to their own class; margin 0.86
    """
    form = check_choice(form, "form", ["auto", "mean", "rank"])
    check_whole_number(sample_size, "sample_size", minimum=2)
    if isinstance(similarity, DBoost):
        if sample_weight is not None:
            raise ValueError("sample_weight was given, but an ensemble has weights of its own.")
        if form != "auto":
            raise ValueError(f"form is {form!r}, but an ensemble has margins of its own.")
        return Goodness(similarity.margins(X, y), "ensemble", 0.0)
    compared = underlying_similarity(similarity)
    X = compared.check_queries(X, "X")
    if compared.takes == "matrix":
        check_square(X, "X")
    y = check_labels(y, "y", X, "X")
    classes, labels = check_classes(y)
    weights = check_sample_weight(sample_weight, y)
    sizes = np.bincount(labels)
    if (sizes == 1).any():
        warn(
            f"only one row has the label {', '.join(map(str, classes[sizes == 1]))}: it has no "
            "margin without another row of its class.",
        )
    items = np.arange(len(y)) if compared.takes == "matrix" else compared.check_items(X, "X")
    sampled = sample_rows(len(y), sample_size, labels=labels, random_state=random_state)
    kept = np.bincount(labels[sampled], minlength=len(classes))
    K = similarity_among(similarity, take(items, sampled))
    if form == "auto":
        form = "rank" if K.has_distance else "mean"
    with show_progress(verbose):
        measure = _rank_margins if form == "rank" else _mean_margins
        margins = measure(K, X, items, labels, sampled, weights[sampled])
    # Both means are sampled, from values with a range of 2: half of the error probability each.
    errors = [
        2 * sampling_error(int(part), int(size)) for part, size in zip(kept, sizes, strict=True)
    ]
    error = sum(sorted(errors)[-2:]) if len(sampled) < len(y) else 0.0
    return Goodness(margins, form, float(error))


def _mean_margins(
    K: Similarity,
    X: Any,
    items: Any,
    labels: np.ndarray,
    sampled: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Return E[K(x′, x) | same label] − E[K(x′, x) | other label] of every row x, with x′ ≠ x.

    `weights` are those of the sampled rows x′.
    """
    n, n_classes = len(labels), labels.max() + 1
    sums, own = np.zeros((n_classes, n)), np.zeros(n)
    lowest, highest = np.inf, -np.inf
    size = max(1, _SCORES_AT_A_TIME // n)
    with LongWork("measuring goodness", total=len(sampled), unit="rows") as work:
        for block in slices(len(sampled), size):
            rows = sampled[block]
            scores = K.score(take(X, rows), items).astype(np.float64, copy=False)
            lowest, highest = min(lowest, scores.min()), max(highest, scores.max())
            scores = scores * weights[block, None]
            np.add.at(sums, labels[rows], scores)
            own[rows] = scores[np.arange(len(rows)), rows]
            work.advance(len(rows))
    if lowest < -1 - 1e-6 or highest > 1 + 1e-6:
        warn(
            f"similarity gave values from {lowest:.4g} to {highest:.4g}, but margins are "
            "meaningful only for values in [-1, 1]: use 'ranked', 'naive' or form='rank'.",
        )
    totals = np.bincount(labels[sampled], weights, minlength=n_classes)
    own_weights = np.zeros(n)
    own_weights[sampled] = weights
    same = sums[labels, np.arange(n)] - own
    n_same = totals[labels] - own_weights
    n_same[n_same < 1e-12 * totals[labels]] = 0  # rounding
    other = sums.sum(axis=0) - sums[labels, np.arange(n)]
    with np.errstate(invalid="ignore", divide="ignore"):  # where a class has one row
        means = np.where(n_same > 0, same / n_same, np.nan)
        return np.asarray(means - other / (totals.sum() - totals[labels]))


def _rank_margins(
    K: Similarity,
    X: Any,
    items: Any,
    labels: np.ndarray,
    sampled: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Return E sgn(d(x, x″) − d(x, x′)) of every row x, with x′ ≠ x.

    `weights` are those of the sampled rows x′ and x″.
    """
    margins = np.empty(len(labels))
    of_sampled, columns = labels[sampled], take(items, sampled)
    with LongWork("measuring goodness", total=len(labels), unit="rows") as work:
        for block in slices(len(labels), max(1, _SCORES_AT_A_TIME // len(sampled))):
            scores = exact_scores(K, take(X, np.arange(block.start, block.stop)), columns)
            for i, row in enumerate(range(block.start, block.stop)):
                same = of_sampled == labels[row]
                order = np.flatnonzero(~same)[np.argsort(scores[i, ~same])]
                others = scores[i, order]
                below = np.concatenate([[0.0], np.cumsum(weights[order])])
                is_own = same & (sampled != row)
                of_class, own_weights = scores[i, is_own], weights[is_own]
                nearer = below[np.searchsorted(others, of_class)]
                farther = below[-1] - below[np.searchsorted(others, of_class, side="right")]
                total = below[-1] * own_weights.sum()
                margins[row] = own_weights @ (nearer - farther) / total if total > 0 else np.nan
            work.advance(block.stop - block.start)
    return margins
