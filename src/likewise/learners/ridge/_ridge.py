"""RidgeSimilarity: a bilinear form that stays near its start unless the judgments oppose it."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise._files import fields
from likewise._progress import show_progress
from likewise._threads import single_threaded_blas
from likewise._validation import (
    FLOATS,
    Rows,
    check_bool,
    check_choice,
    check_class_targets,
    check_classes,
    check_number,
    check_rows,
    check_run_parameters,
    validate_data,
)
from likewise._warnings import warn
from likewise.learners._initial_form import initial_form
from likewise.learners.linear_map import BilinearTransformer
from likewise.learners.ridge._closed_form import (
    label_form,
    label_path,
    offset_directions,
    relevance_path,
)
from likewise.learners.ridge._cross_validation import (
    Grid,
    Judgments,
    RelevanceJudgments,
    TripletJudgments,
    validate_judgments,
    validate_labels,
)
from likewise.learners.validation._gate import NEW_ITEMS, Verdict, judge, start_kept_message
from likewise.learners.validation._held_out import HeldOutLabels, mean_average_precision
from likewise.similarities import Bilinear, ItemOffsets, check_item_ids, to_unit_length
from likewise.supervision import (
    check_relevance,
    check_triplets,
    check_weights,
    relevance_from_pairs,
    triplets_of,
    weighted_rows,
)

# From the start outwards: ties go to the candidate closest to the start.
_ALPHAS = (np.inf, 100.0, 30.0, 10.0, 3.0, 1.0)
_GAMMAS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
_CENTERS = ("mean", "local")
_LABEL_ALPHAS = (10.0, 3.0, 1.0, 0.3, 0.1)


class RidgeSimilarity(BilinearTransformer, BaseEstimator):
    """Bilinear similarity qᵀWp by ridge regression toward its start, in closed form.

    From relevance, W maps each query to the mean m of its relevant items and stays near W₀:
    W = argmin Σ ‖Wᵀq − m‖² + α‖W − W₀‖². Offsets move only the judged items: see
    `likewise.ItemOffsets`. From labels, W = BBᵀ with B the ridge regression of rows onto classes.

    The published form is chosen and judged on queries *and* items held out from training, in five
    splits, and then learned again from all judgments. If the gain is not clear, the start is kept,
    with a warning.

    Parameters
    ----------
    alpha : "auto" or float, default="auto"
        Weight of the start, in queries: 10 is a start worth ten queries in each direction. "auto"
        chooses it by validation.
    new_items : {"protect", "allow", "strict"}, default="protect"
        Treatment of items that were never judged. "protect" chooses the candidate with the best
        overall value among those where new items lose at most one standard error; "allow" the one
        with the best overall value; "strict" the form with the best value on new items, and
        offsets by which they lose nothing. The candidate is published only if it clearly beats the
        start.
    init : {"auto", "identity", "zero"}, array or Bilinear, default="auto"
        W₀; "auto" is the identity if queries and items have the same number of features, else
        zero. With a zero W₀ there are no offsets, and the start is a random order.
    normalize : bool, default=True
        Scale rows to unit length; `similarity_` then has ``norm="cosine"``.
    center : {"mean", "local"}, default="mean"
        What is subtracted from the queries that an item moves toward, so that it does not come
        nearer to all queries: their mean, or a mean with more weight on queries near the item.
    random_state : int, RandomState or None
    verbose : bool, default=False

    Attributes
    ----------
    similarity_ : Bilinear
    offsets_ : ItemOffsets or None
        For the stored items: ``offsets_.apply(ids, items)``, or ``Index(..., offsets=offsets_)``.
    alpha_ : float
        The chosen penalty; infinity if the start was kept.
    validation_ : dict
        ``"overall"``, ``"seen"``, ``"new"``, ``"measure"`` and ``"published"`` as in `AROMA`;
        ``"alpha"`` and ``"gamma"`` are the candidate.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("digits")
    >>> ridge = lw.RidgeSimilarity(random_state=0).fit(data.X, data.y)
    >>> start, learned, error, n = ridge.validation_["new"]
    >>> learned > start + 10 * error
    True
    """

    _file_fields: ClassVar[fields.Declaration] = {
        "similarity_": fields.Instance(Bilinear, n_query_features="features"),
        "offsets_": fields.OrNone(fields.Instance(ItemOffsets)),
        "alpha_": fields.Number(whole=False, finite=False),
        "validation_": fields.Record(),
    }

    def __init__(
        self,
        alpha: Any = "auto",
        *,
        new_items: str = "protect",
        init: Any = "auto",
        normalize: bool = True,
        center: str = "mean",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.new_items = new_items
        self.init = init
        self.normalize = normalize
        self.center = center
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labeled rows.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Weight of a row's squared error in the regression onto classes, with weights scaled to
            mean 1. A row of weight zero is left out, also of the validation, in which other weights
            do not count.
        """
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS)
        check_class_targets(y, self)
        kept, relative = weighted_rows(sample_weight, y)
        if len(kept) < len(y):
            X, y = X[kept], y[kept]
        classes = check_classes(y)[1]
        weights = np.ones(len(y)) if relative is None else relative
        start = initial_form(self.init, X.shape[1], X.shape[1], "float64", self.normalize)
        rows = self._normalized(check_rows(X, "X", finite=False))
        alphas = _LABEL_ALPHAS if isinstance(self.alpha, str) else (float(self.alpha),)
        with show_progress(self.verbose), single_threaded_blas():
            values = validate_labels(rows, classes, weights, start, alphas, self._rng())
            verdict = judge(*values, self.new_items, error_scale=HeldOutLabels.error_scale)
            alpha = alphas[verdict.form]
            W = label_form(label_path(rows, classes, weights), alpha) if verdict.passes else start
        return self._publish(verdict, HeldOutLabels.measure, W, alpha, 0.0, X.dtype)

    def fit_relevance(
        self,
        relevance: Any,
        queries: Any,
        items: Any = None,
        weights: Any = None,
        item_ids: Any = None,
        offsets: bool = True,
    ) -> Self:
        """Learn from graded relevance, such as clicks.

        Parameters
        ----------
        relevance : sparse matrix or array of shape (n_queries, n_items)
            Grades, above 0 where an item is relevant.
        queries, items, weights : as in `AROMA.fit_relevance`
        item_ids : sequence of int or str, optional
            Ids of the items in `offsets_`; row numbers by default.
        offsets : bool, default=True
            Whether to learn offsets of the judged items.
        """
        Q, P = self._sides(queries, items)
        grades = check_relevance(relevance, Q, P)
        return self._fit_judgments(RelevanceJudgments(grades, weights), Q, P, item_ids, offsets)

    def fit_pairs(
        self,
        pairs: Any,
        y: Any,
        queries: Any,
        items: Any = None,
        weights: Any = None,
        item_ids: Any = None,
        offsets: bool = True,
    ) -> Self:
        """Learn from similar pairs; dissimilar pairs are ignored.

        Parameters
        ----------
        pairs, y, queries, items, weights : as in `AROMA.fit_pairs`
        item_ids, offsets : as in `fit_relevance`
        """
        Q, P = self._sides(queries, items)
        judgments = RelevanceJudgments(*relevance_from_pairs(pairs, y, weights, Q, P))
        return self._fit_judgments(judgments, Q, P, item_ids, offsets)

    def fit_triplets(
        self,
        triplets: Any,
        queries: Any,
        items: Any = None,
        weights: Any = None,
        item_ids: Any = None,
        offsets: bool = True,
    ) -> Self:
        """Learn from triplets: the closer item is relevant to the query.

        The measure is the share of held-out triplets in the correct order.

        Parameters
        ----------
        triplets : int array of shape (n_triplets, 3) or frame
            Row numbers (query, closer item, farther item), or columns of these names.
        queries, items, item_ids, offsets : as in `fit_relevance`
        weights : array of shape (n_triplets,), optional
            A pair of query and closer item has the mean weight of its triplets.
        """
        Q, P = self._sides(queries, items)
        triplets, frame_weights = triplets_of(triplets)
        triplets = check_triplets(triplets, Q, P)
        weights = check_weights(frame_weights if weights is None else weights, triplets)
        judgments = TripletJudgments(triplets, weights, (Q.shape[0], P.shape[0]))
        return self._fit_judgments(judgments, Q, P, item_ids, offsets)

    def score(self, X: Any, y: Any) -> float:
        """Return the mean average precision of each row as a query among the others."""
        check_is_fitted(self, "similarity_")
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        return mean_average_precision(self.similarity_, X, y)

    def _fit_judgments(
        self, judgments: Judgments, Q: Rows, P: Rows, item_ids: Any, offsets: bool
    ) -> Self:
        ids = _check_ids(item_ids, P.shape[0])
        start = initial_form(self.init, Q.shape[1], P.shape[1], "float64", self.normalize)
        dtype = np.result_type(Q.dtype, P.dtype)
        same = P is Q
        Q = self._normalized(Q)
        P = Q if same else self._normalized(P)
        grid = Grid(
            _ALPHAS if isinstance(self.alpha, str) else (float(self.alpha),),
            _GAMMAS if offsets and start.any() else (0.0,),
            self.center == "local",
        )
        with show_progress(self.verbose), single_threaded_blas():
            values = validate_judgments(judgments, Q, P, start, grid, self._rng())
            verdict = judge(*values, self.new_items)
            alpha, gamma = grid.alphas[verdict.form], grid.gammas[verdict.step]
            W, directions = start, None
            if verdict.passes:
                W = start + relevance_path(judgments.grades, Q, P, start).solution(alpha)
                if gamma > 0:
                    near = P if grid.local else None
                    directions = offset_directions(judgments.grades, Q, start, near)
        self.n_features_in_ = Q.shape[1]
        nothing_relevant = not judgments.grades.data.any()
        self._publish(verdict, judgments.measure, W, alpha, gamma, dtype, nothing_relevant)
        self.offsets_ = None if directions is None else directions.offsets(ids, gamma)
        return self

    def _publish(
        self,
        verdict: Verdict,
        measure: str,
        W: np.ndarray,
        alpha: float,
        gamma: float,
        dtype: Any,
        nothing_relevant: bool = False,
    ) -> Self:
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
            message = start_kept_message(measure, verdict.outcomes)
            if nothing_relevant:
                message = (
                    "relevance has no grade above 0, so no item is relevant to any query: the "
                    "start is kept."
                )
            warn(message)
        return self

    def _check_parameters(self) -> None:
        check_run_parameters(self)
        check_choice(self.new_items, "new_items", NEW_ITEMS)
        check_choice(self.center, "center", _CENTERS)
        if self.alpha != "auto":
            if isinstance(self.alpha, str):
                raise ValueError(f"alpha must be 'auto' or a number, but {self.alpha!r} was given.")
            check_number(self.alpha, "alpha", minimum=0, exclusive=True)
        check_bool(self.normalize, "normalize")

    def _sides(self, queries: Any, items: Any) -> tuple[Rows, Rows]:
        self._check_parameters()
        Q = check_rows(queries, "queries")
        return Q, Q if items is None else check_rows(items, "items")

    def _normalized(self, rows: Rows) -> Rows:
        """Return the rows in double precision, scaled to unit length with `normalize`."""
        rows = rows.astype(np.float64)
        return to_unit_length(rows) if self.normalize else rows

    def _rng(self) -> np.random.Generator:
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return np.random.default_rng(seed)


def _check_ids(item_ids: Any, n_items: int) -> Sequence[Any]:
    if item_ids is None:
        return range(n_items)
    ids = check_item_ids(item_ids, "item_ids")
    if len(ids) != n_items:
        raise ValueError(f"item_ids has {len(ids)} entries, but there are {n_items} items.")
    return ids
