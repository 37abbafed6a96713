"""AROMA: online learning of a bilinear form and its uncertainty from triplets."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likewise._files import fields
from likewise._validation import check_choice, check_number, check_rows
from likewise.learners._uncertainty import least_certain, probability, triplet_margins
from likewise.learners.online._base import OnlineLearner
from likewise.learners.online._beliefs import Belief, DiagonalState
from likewise.learners.online._covariances import MAX_ENTRIES, FactoredState, FullState
from likewise.learners.online._rates import current_rate
from likewise.learners.online._training import UpdateRule
from likewise.similarities import to_unit_length

_STATES: dict[str, type[Belief]] = {
    "diagonal": DiagonalState,
    "factored": FactoredState,
    "full": FullState,
}


class AROMA(OnlineLearner):
    """Bilinear similarity qᵀWp from triplets, online, with a Gaussian belief about W.

    For a triplet with p = p⁺ − p⁻ and loss [1 − qᵀWp]₊, an update minimizes the Kullback–Leibler
    divergence from the last belief plus the squared loss and the variance of qᵀWp (Crammer and
    Chechik, 2012). Entries with a small variance change little.

    Parameters
    ----------
    covariance : {"diagonal", "factored", "full"}, default="diagonal"
        A variance S of every entry of W; a covariance Λ of query and Σ of item features; or a
        covariance Σ of all entries of W, of which there may be 4,096. The last is AROW (Crammer et
        al., 2009) on vec(W), always in double precision.
    r : float or "auto", default=1.0
        Noise of a triplet: larger values learn more slowly. "auto" takes the one of 0.01, 0.1, 1
        and 10 that is best for the held-out queries, which takes four times as long; it needs a
        method that holds some out.
    update : {"margin", "mistake"}, default="margin"
        "margin" updates after every triplet with a loss. "mistake" is the mistake-driven variant
        for which the paper proves its bounds, a second-order perceptron: Θ sums qpᵀ of the triplets
        in the wrong order, qᵀWp ≤ 0, and W is Θ times the covariance (see Notes).
    init : {"auto", "identity", "zero", "ridge"}, array or Bilinear, default="auto"
        Initial W; "auto" is the identity if queries and items have the same number of features,
        else zero. "ridge" is the form that `RidgeSimilarity` learns from the same labels, relevance
        or pairs; during validation, from the training part only.
    normalize : bool, default=True
        Scale rows to unit length; `similarity_` then has ``norm="cosine"``.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the state. Covariances between features continue in double precision once
        single precision cannot hold their small eigenvalues, as for long rows and a small `r`.
    n_triplets : int, default=500_000
        Maximum number of triplets that `fit`, `fit_relevance` and `fit_pairs` draw.
    early_stopping : bool, default=True
        In these methods, hold out queries and items, stop when their values no longer improve,
        and choose the share of the learned change in W by them. If it clearly beats the start, it
        is learned again from all data; else the start is kept.
    validation_fraction : float, default=0.2
        Share of the queries, and of the items, to hold out.
    new_items : {"protect", "allow", "strict"}, default="protect"
        Treatment of items without judgments. "protect" chooses the share with the best overall
        value among those where new items lose at most one standard error; "allow" the one with the
        best overall value; "strict" the one with the best value on new items.
    forget : float, default=0.0
        Share by which the variance returns to its initial value every 1,000 triplets, so that
        learning from an endless stream does not stop.
    negatives : {"unjudged", "judged"}, default="unjudged"
        Allowed farther items in `fit_relevance`.
    hard_negatives : float, default=0.0
        Share of the farther items in `fit_relevance` that are drawn from the top of the ranking.
    random_state : int, RandomState or None
    verbose : bool, default=False

    Attributes
    ----------
    similarity_ : Bilinear
    n_triplets_seen_, n_updates_ : int
    history_ : list of dict
        ``triplets`` and ``updates`` so far, mean ``loss`` of the interval, and ``validation`` or
        None.
    validation_ : dict
        With a hold-out: ``"overall"``, ``"seen"`` and ``"new"``, each (start, learned, error, n):
        means over held-out queries, the standard error of their difference, and the number of
        queries, for all items, for items seen in training and for new items. ``"measure"`` is the
        name of the measure, ``"published"`` False if the start was kept, ``"share"`` the share of
        the learned change and ``"n_triplets"`` the number of triplets it was learned from.
    r_ : float
        With ``r="auto"``, the chosen value.
    state_ : DiagonalState, FactoredState or FullState
        The belief: W and S; W, Lambda and Sigma; or W and Sigma.

    Notes
    -----
    With ``update="mistake"``, ``init="zero"``, no `forget` and no weights, `n_updates_` is the
    number of mistakes M, and for every form V with losses ℓ over the mistakes

        M ≤ Σℓ + √(Σ V²/S) · √(r Σ log(1/S))                                          (diagonal)
        M ≤ Σℓ + √Tr(VΣ⁻¹VᵀΛ⁻¹) · √(r min(m log det Σ⁻¹, n log det Λ⁻¹))              (factored)
        M ≤ Σℓ + √(vec(V)ᵀΣ⁻¹vec(V)) · √(r log det Σ⁻¹)                                   (full)

    with the final covariances: Theorems 1 and 2 of the paper, and AROW's. The paper leaves open
    whether a mistake is judged before or after the triplet is added to the covariance. It makes no
    difference to the factored and the full covariance; with the diagonal it does, and this class
    judges after it, as the proof needs.

    Examples
    --------
    >>> import likewise as lw
    >>> rows = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    >>> aroma = lw.AROMA(r=1.0, normalize=False, dtype="float64", init="zero")
    >>> aroma.fit_triplets([[0, 1, 2]], rows).similarity_.W
    array([[0.5, 0. ],
           [0. , 0. ]])

    The variance is smaller where triplets were seen:

    >>> aroma.score_variance([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]])
    array([[0.5],
           [1. ]])
    """

    def __init__(
        self,
        covariance: str = "diagonal",
        *,
        r: float | str = 1.0,
        update: str = "margin",
        init: Any = "auto",
        normalize: bool = True,
        dtype: str = "float32",
        n_triplets: int = 500_000,
        early_stopping: bool = True,
        validation_fraction: float = 0.2,
        new_items: str = "protect",
        forget: float = 0.0,
        negatives: str = "unjudged",
        hard_negatives: float = 0.0,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.covariance = covariance
        self.r = r
        self.update = update
        self.init = init
        self.normalize = normalize
        self.dtype = dtype
        self.n_triplets = n_triplets
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.new_items = new_items
        self.forget = forget
        self.negatives = negatives
        self.hard_negatives = hard_negatives
        self.random_state = random_state
        self.verbose = verbose

    _file_fields: ClassVar[fields.Declaration] = OnlineLearner._file_fields | {
        "r_": fields.Optional(fields.Number(whole=False)),
    }
    _rate_name: ClassVar[str] = "r"
    _rates: ClassVar[tuple[float, ...]] = (0.01, 0.1, 1.0, 10.0)

    r_: float
    state_: Belief

    def score_variance(self, Q: Any, P: Any) -> np.ndarray:
        """Return the variance of the score of every query with every item.

        Parameters
        ----------
        Q, P : array or CSR, as `similarity_` takes them

        Returns
        -------
        array of shape (n_queries, n_items)
        """
        check_is_fitted(self, "state_")
        n_query, n_item = self.state_.W.shape
        Q, P = check_rows(Q, "Q", n_features=n_query), check_rows(P, "P", n_features=n_item)
        if self.normalize:
            Q, P = to_unit_length(Q), to_unit_length(P)
        return np.asarray(self.state_.variances(Q, P))

    def confidence(self, triplets: Any, queries: Any, items: Any = None) -> np.ndarray:
        """Return the probability that each closer item is closer.

        Parameters as in `fit_triplets`.
        """
        return probability(*self._margins(triplets, queries, items))

    def most_informative(
        self, candidates: Any, queries: Any, items: Any = None, n: int = 10
    ) -> np.ndarray:
        """Return the most informative comparisons to ask a person about, best first.

        Their answers are the least certain: the margin is small relative to its standard
        deviation.

        Parameters
        ----------
        candidates : int array of shape (n_candidates, 3)
            Row numbers (query, one item, another item), with unknown order of the two items.
        queries, items : as in `fit_triplets`
        n : int, default=10

        Returns
        -------
        int array of shape (n, 3) : rows of `candidates`
        """
        return least_certain(candidates, n, lambda some: self._margins(some, queries, items))

    def _margins(self, triplets: Any, queries: Any, items: Any) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self, "state_")
        state = self.state_
        return triplet_margins(
            triplets, queries, items, state.W, state.paired_variances, normalize=self.normalize
        )

    def _check_parameters(self, *, rate_is_chosen: bool = False) -> None:
        check_choice(self.covariance, "covariance", _STATES)
        check_choice(self.update, "update", ("margin", "mistake"))
        check_number(self.forget, "forget", minimum=0, maximum=1)
        super()._check_parameters(rate_is_chosen=rate_is_chosen)

    def _check_size(self, n_query: int, n_item: int) -> None:
        if self.covariance == "full" and n_query * n_item > MAX_ENTRIES:
            raise ValueError(
                f"covariance 'full' takes at most {MAX_ENTRIES:,} entries of W, because it holds a "
                f"number for each pair of them, but {n_query} query and {n_item} item features "
                f"make {n_query * n_item:,}: give covariance 'factored' or 'diagonal'."
            )

    def _state_class(self) -> type[Belief]:
        return _STATES[self.covariance]

    def _update_rule(self) -> UpdateRule:
        mistakes = self.update == "mistake"
        return UpdateRule(
            current_rate(self), float(self.forget), self.normalize, self.dtype, mistakes
        )
