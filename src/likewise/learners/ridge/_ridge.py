"""RidgeSimilarity: a bilinear form that stays near its start unless queries ask for more."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise._progress import LongWork, show_progress
from likewise._threads import single_threaded_blas
from likewise._validation import Rows, check_choice, check_classes, check_number, check_rows
from likewise.learners._arguments import grades_of_pairs, starting_form
from likewise.learners._gate import NEW_ITEMS, Verdict, judge, start_kept
from likewise.learners._held_out import (
    HeldOutLabels,
    HeldOutRelevance,
    HeldOutTriplets,
    all_new,
    average_precisions,
    can_judge_labels,
    held_queries,
    held_rows,
    mean_average_precision,
)
from likewise.learners.ridge._closed_form import (
    Directions,
    ItemScores,
    RidgePath,
    label_form,
    label_path,
    offset_directions,
    relevance_path,
)
from likewise.similarities import (
    Bilinear,
    ItemOffsets,
    check_item_ids,
    map_rows,
    products,
    to_unit_length,
)
from likewise.supervision import (
    N_SPLITS,
    HoldOut,
    check_relevance,
    check_triplets,
    check_weights,
    relevant_items,
    triplets_of,
    weights_at,
)

# From the start outwards, so that of equal candidates the nearest to it is taken.
_ALPHAS = (np.inf, 100.0, 30.0, 10.0, 3.0, 1.0)
_GAMMAS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
_LABEL_ALPHAS = (10.0, 3.0, 1.0, 0.3, 0.1)
_FEWEST_JUDGED, _MOST_SCORES = 500, 200_000_000  # queries that judge; their scores with all items

Values = tuple[np.ndarray, np.ndarray]  # of the start and of the candidates, as `judge` takes them


class RidgeSimilarity(BaseEstimator):
    """Bilinear similarity qᵀWp by ridge regression towards its start, in closed form.

    From relevance, W maps each query to the mean m of its relevant items and stays near W₀:
    W = argmin Σ |Wᵀq − m|² + α|W − W₀|². Offsets move the items that were judged, and only those:
    see `likewise.ItemOffsets`. From labels, W = BBᵀ with B the ridge of rows onto classes.

    What is published was chosen and judged on queries *and* items that it had not learned from,
    in five splits; then everything is learned again from all judgements. Where the gain is not
    clear, the start is kept, with a warning.

    Parameters
    ----------
    alpha : "auto" or float, default="auto"
        Weight of the start, in queries: 10 is a start worth ten queries in each direction. "auto"
        is chosen by validation.
    new_items : {"protect", "allow", "strict"}, default="protect"
        What may happen to items that were never judged. Of the candidates, "protect" takes the
        best overall among those by which new items lose at most one standard error; "allow" the
        best overall; "strict" the form that new items gain most by, and offsets by which they lose
        nothing. Whichever it is, it is published only if it clearly beats the start.
    init : {"auto", "identity", "zero"}, array or Bilinear, default="auto"
        W₀; "auto" is the identity where queries and items have the same width, else zero. Without
        W₀ there are no offsets, and the start is random order.
    normalize : bool, default=True
        Scale rows to unit length; `similarity_` then has ``norm="cosine"``.
    random_state : int, RandomState or None
    verbose : bool, default=False

    Attributes
    ----------
    similarity_ : Bilinear
    offsets_ : ItemOffsets or None
        For the stored items: ``offsets_.apply(ids, items)``, or ``Index(..., offsets=offsets_)``.
    alpha_ : float
        What was chosen; infinity where the start was kept.
    validation_ : dict
        ``"overall"``, ``"seen"`` and ``"new"``, each (start, learned, error, n): means over
        held-out queries, the standard error of their difference, and the number of queries, over
        all items, over items that were seen in training and over new ones. ``"published"`` tells
        whether it passed; ``"measure"``, ``"alpha"`` and ``"gamma"`` what was measured and chosen.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("digits")
    >>> ridge = lw.RidgeSimilarity(random_state=0).fit(data.X, data.y)
    >>> start, learned, error, n = ridge.validation_["new"]
    >>> learned > start + 10 * error
    True
    """

    def __init__(
        self,
        alpha: Any = "auto",
        *,
        new_items: str = "protect",
        init: Any = "auto",
        normalize: bool = True,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.new_items = new_items
        self.init = init
        self.normalize = normalize
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "RidgeSimilarity":
        """Learn from labeled rows.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
        """
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        classes = check_classes(y)[1]
        weights = check_weights(sample_weight, y, "y")
        if not weights.any():
            raise ValueError("sample_weight is zero everywhere, so no row counts.")
        start = starting_form(self.init, X.shape[1], X.shape[1], "float64", self.normalize)
        rows = self._compared(check_rows(X, "X", finite=False))
        alphas = _LABEL_ALPHAS if isinstance(self.alpha, str) else (float(self.alpha),)
        with show_progress(self.verbose), single_threaded_blas():
            values = _label_values(rows, classes, weights, start, alphas, self._rng())
            verdict = judge(*values, self.new_items, error_scale=HeldOutLabels.error_scale)
            alpha = alphas[verdict.form]
            W = label_form(label_path(rows, classes, weights), alpha) if verdict.passes else start
        return self._publish(verdict, HeldOutLabels.measure, W, alpha, 0.0, X.dtype, stacklevel=3)

    def fit_relevance(
        self,
        relevance: Any,
        queries: Any,
        items: Any = None,
        weights: Any = None,
        item_ids: Any = None,
        offsets: bool = True,
    ) -> "RidgeSimilarity":
        """Learn from graded relevance, such as clicks.

        Parameters
        ----------
        relevance : sparse matrix or array of shape (n_queries, n_items)
            Grades, above 0 where an item is relevant.
        queries : array or CSR of shape (n_queries, n_query_features)
        items : array or CSR of shape (n_items, n_item_features), optional
            The queries themselves by default.
        weights : sparse matrix or array of the shape of `relevance`, optional
            How much each judgement counts, such as `supervision.position_weights` of clicks.
        item_ids : sequence of int or str, optional
            Names of the items in `offsets_`; row numbers by default.
        offsets : bool, default=True
            Whether judged items may move.
        """
        Q, P = self._sides(queries, items)
        grades = check_relevance(relevance, Q, P)
        return self._fit_judgements(_Relevance.of(grades, weights), Q, P, item_ids, offsets)

    def fit_pairs(
        self,
        pairs: Any,
        y: Any,
        queries: Any,
        items: Any = None,
        weights: Any = None,
        item_ids: Any = None,
        offsets: bool = True,
    ) -> "RidgeSimilarity":
        """Learn from similar pairs; dissimilar ones say nothing here.

        Parameters
        ----------
        pairs : int array of shape (n_pairs, 2)
            Row numbers (query, item).
        y : array of shape (n_pairs,)
            1 or True for similar; −1, 0 or False for dissimilar.
        queries, items, item_ids, offsets : as in `fit_relevance`
        weights : array of shape (n_pairs,), optional
        """
        Q, P = self._sides(queries, items)
        grades, of_pairs = grades_of_pairs(pairs, y, weights, Q, P)
        return self._fit_judgements(_Relevance.of(grades, of_pairs), Q, P, item_ids, offsets)

    def fit_triplets(
        self,
        triplets: Any,
        queries: Any,
        items: Any = None,
        weights: Any = None,
        item_ids: Any = None,
        offsets: bool = True,
    ) -> "RidgeSimilarity":
        """Learn from comparisons: the closer item is relevant, each pair once.

        The share of held-out comparisons in the right order judges what was learned.

        Parameters
        ----------
        triplets : int array of shape (n_triplets, 3) or frame
            Row numbers (query, closer item, farther item), or columns of these names.
        queries, items, item_ids, offsets : as in `fit_relevance`
        weights : array of shape (n_triplets,), optional
            A pair counts as much as its triplets do on average.
        """
        Q, P = self._sides(queries, items)
        triplets, of_frame = triplets_of(triplets)
        triplets = check_triplets(triplets, Q, P)
        counts = check_weights(of_frame if weights is None else weights, triplets)
        return self._fit_judgements(
            _Triplets(triplets, counts, (Q.shape[0], P.shape[0])), Q, P, item_ids, offsets
        )

    def score(self, X: Any, y: Any) -> float:
        """Return the mean average precision of each row as a query among the others."""
        check_is_fitted(self, "similarity_")
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return mean_average_precision(self.similarity_, X, y)

    # How it is done.

    def _fit_judgements(
        self, judgements: Any, Q: Rows, P: Rows, item_ids: Any, offsets: bool
    ) -> "RidgeSimilarity":
        ids = _check_ids(item_ids, P.shape[0])
        start = starting_form(self.init, Q.shape[1], P.shape[1], "float64", self.normalize)
        dtype = np.result_type(Q.dtype, P.dtype)
        same = P is Q
        Q = self._compared(Q)
        P = Q if same else self._compared(P)
        grid = _Grid(
            _ALPHAS if isinstance(self.alpha, str) else (float(self.alpha),),
            _GAMMAS if offsets and start.any() else (0.0,),
        )
        with show_progress(self.verbose), single_threaded_blas():
            values = _values(judgements, Q, P, start, grid, self._rng())
            verdict = judge(*values, self.new_items)
            alpha, gamma = grid.alphas[verdict.form], grid.gammas[verdict.step]
            W, moved = start, None
            if verdict.passes:
                path = relevance_path(judgements.taught, Q, P, start)
                W = start + path.solution(alpha)
                if gamma > 0:
                    moved = offset_directions(judgements.taught, Q, start)
        self.n_features_in_ = Q.shape[1]
        self._publish(verdict, judgements.measure, W, alpha, gamma, dtype, stacklevel=4)
        self.offsets_ = None if moved is None else _offsets(moved, ids, gamma)
        return self

    def _publish(
        self,
        verdict: Verdict,
        measure: str,
        W: np.ndarray,
        alpha: float,
        gamma: float,
        dtype: Any,
        stacklevel: int,
    ) -> "RidgeSimilarity":
        self.similarity_ = Bilinear(W.astype(dtype), norm="cosine" if self.normalize else "none")
        self.offsets_ = None
        self.alpha_ = alpha if verdict.passes else np.inf
        self.validation_ = {
            "measure": measure,
            **verdict.outcomes,
            "published": verdict.passes,
            "alpha": alpha,
            "gamma": gamma,
        }
        if not verdict.passes:
            warnings.warn(start_kept(measure, verdict.outcomes), stacklevel=stacklevel)
        return self

    def _check_parameters(self) -> None:
        check_choice(self.new_items, "new_items", NEW_ITEMS)
        if self.alpha != "auto":
            if isinstance(self.alpha, str):
                raise ValueError(f"alpha must be 'auto' or a number, but {self.alpha!r} was given.")
            check_number(self.alpha, "alpha", minimum=0, exclusive=True)
        if not isinstance(self.normalize, bool | np.bool_):
            raise TypeError(f"normalize must be True or False, but {self.normalize!r} was given.")

    def _sides(self, queries: Any, items: Any) -> tuple[Rows, Rows]:
        self._check_parameters()
        Q = check_rows(queries, "queries")
        return Q, Q if items is None else check_rows(items, "items")

    def _compared(self, rows: Rows) -> Rows:
        """Return rows as they are compared, in double precision."""
        rows = rows.astype(np.float64)
        return to_unit_length(rows) if self.normalize else rows

    def _rng(self) -> np.random.Generator:
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return np.random.default_rng(seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True)
class _Grid:
    """The candidates: a form for each penalty, with offsets of each step."""

    alphas: tuple[float, ...]
    gammas: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _Relevance:
    """Grades of items, and what of them is learned from: grades times weights."""

    grades: Any
    taught: Any

    measure = HeldOutRelevance.measure

    @classmethod
    def of(cls, grades: Any, weights: Any) -> "_Relevance":
        """Return grades with weights, one for each or None."""
        taught = grades.copy()
        if weights is not None:
            taught.data = taught.data * weights_at(weights, grades)
        return cls(grades, taught)

    def held_out(
        self, hold: HoldOut, split: int, training: Any, same: bool, rng: np.random.Generator
    ) -> HeldOutRelevance | None:
        """Return what judges a split; None where it has no query."""
        has_relevant = np.zeros(self.grades.shape[0], dtype=bool)
        rows = np.repeat(np.arange(self.grades.shape[0]), np.diff(self.grades.indptr))
        has_relevant[rows[(self.grades.data > 0) & ~(same & (self.grades.indices == rows))]] = True
        most = max(_FEWEST_JUDGED, _MOST_SCORES // self.grades.shape[1]) // N_SPLITS
        held = held_queries(np.flatnonzero(has_relevant), hold.queries, split, most, rng)
        if len(held) == 0:
            return None
        return HeldOutRelevance(self.grades, held, relevant_items(training), same=same)

    @staticmethod
    def values(held: HeldOutRelevance, mapped: Any, scores: ItemScores, gammas: Any) -> np.ndarray:
        """Return the values of each step of offsets."""
        found = [
            [held.values_of(s, block) for s in scores.all(mapped[block], gammas)]
            for block in held.blocks()
        ]
        return np.concatenate(found, axis=-1)


class _Triplets:
    """Comparisons, and the relevance that they make."""

    measure = HeldOutTriplets.measure

    def __init__(self, triplets: np.ndarray, weights: np.ndarray, shape: tuple[int, int]) -> None:
        from scipy.sparse import csr_array

        pairs, of = np.unique(triplets[:, :2], axis=0, return_inverse=True)
        counts = np.bincount(of.ravel(), weights) / np.bincount(of.ravel())
        self.taught = csr_array((counts, tuple(pairs.T)), shape=shape)
        self._triplets = triplets

    def held_out(
        self, hold: HoldOut, split: int, training: Any, same: bool, rng: np.random.Generator
    ) -> HeldOutTriplets | None:
        """Return what judges a split; None where it has no query."""
        held = self._triplets[hold.queries[self._triplets[:, 0]] == split]
        return HeldOutTriplets(held, relevant_items(training)) if len(held) else None

    @staticmethod
    def values(held: HeldOutTriplets, mapped: Any, scores: ItemScores, gammas: Any) -> np.ndarray:
        """Return the values of each step of offsets."""
        query, closer, farther = held.triplets.T
        asked = mapped[query]
        margins = [
            ahead - behind
            for ahead, behind in zip(
                scores.pairs(asked, closer, gammas),
                scores.pairs(asked, farther, gammas),
                strict=True,
            )
        ]
        return np.array([held.values_of(margin) for margin in margins])


def _values(
    judgements: Any, Q: Rows, P: Rows, start: np.ndarray, grid: _Grid, rng: np.random.Generator
) -> Values:
    """Return the values of the start and of all candidates on what each split holds out."""
    same = P is Q
    hold = HoldOut.random(Q.shape[0], P.shape[0], rng, same=same)
    starts, found = [], []
    for split in _splits():
        training = hold.training(judgements.taught, split)
        held = judgements.held_out(hold, split, training, same, rng)
        if held is None or not training.data.any():
            continue
        path = relevance_path(training, Q, P, start)
        moved = offset_directions(training, Q, start) if len(grid.gammas) > 1 else None
        scores = ItemScores(P, moved)
        asked = Q[held.held]
        plain, projected = map_rows(asked, start), path.project(asked)
        found.append(
            np.array(
                [
                    judgements.values(
                        held, plain + path.predict(projected, alpha), scores, grid.gammas
                    )
                    for alpha in grid.alphas
                ]
            )
        )
        starts.append(
            judgements.values(held, plain, scores, (0.0,))[0]
            if start.any()
            else held.without_ranking()
        )
    return _joined(starts, found, (len(grid.alphas), len(grid.gammas)))


def _label_values(
    X: Rows,
    classes: np.ndarray,
    weights: np.ndarray,
    start: np.ndarray,
    alphas: Sequence[float],
    rng: np.random.Generator,
) -> Values:
    """Return average precisions of the rows of each split among themselves."""
    splits = HoldOut.random(len(classes), 0, rng).queries
    starts, found = [], []
    for split in _splits():
        held, rest = held_rows(classes, splits, split, rng), np.flatnonzero(splits != split)
        if not can_judge_labels(classes, held, rest):
            continue
        path = label_path(X[rest], classes[rest], weights[rest])
        candidates = [_scores_by_classes(path, alpha) for alpha in alphas]
        rows, labels = X[held], classes[held]
        starts.append(all_new(average_precisions(_scores_by(start), rows, labels)))
        found.append(np.array([[all_new(average_precisions(s, rows, labels))] for s in candidates]))
    return _joined(starts, found, (len(alphas), 1))


def _scores_by(W: np.ndarray) -> Callable[[Any, Any], np.ndarray]:
    return lambda queries, items: products(map_rows(queries, W), items)


def _scores_by_classes(path: RidgePath, alpha: float) -> Callable[[Any, Any], np.ndarray]:
    """Return the scores of W = BBᵀ without making W."""
    B = path.solution(alpha)
    return lambda queries, items: products(queries @ B, items @ B)


def _splits() -> Iterator[int]:
    """Count the splits, with progress; Ctrl-C leaves those that are done."""
    with LongWork(
        "validating", total=N_SPLITS, unit="splits", partial_result="the finished splits"
    ) as work:
        for split in range(N_SPLITS):
            yield split
            work.advance()
            if work.interrupted:
                return


def _joined(starts: list[Any], found: list[Any], shape: tuple[int, int]) -> Values:
    if not starts:
        return np.zeros((3, 0)), np.zeros((*shape, 3, 0))
    return np.concatenate(starts, axis=-1), np.concatenate(found, axis=-1)


def _check_ids(item_ids: Any, n_items: int) -> Sequence[Any]:
    if item_ids is None:
        return range(n_items)
    ids = check_item_ids(item_ids, "item_ids")
    if len(ids) != n_items:
        raise ValueError(f"item_ids has {len(ids)} entries, but there are {n_items} items.")
    return ids


def _offsets(moved: Directions, ids: Sequence[Any], gamma: float) -> ItemOffsets:
    return ItemOffsets(
        tuple(ids[row] for row in moved.rows.tolist()),
        moved.directions.astype(np.float32),
        moved.counts,
        gamma,
        moved.center,
    )
