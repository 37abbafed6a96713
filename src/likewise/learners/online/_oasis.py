"""OASIS: online learning of a bilinear form by passive-aggressive updates."""

from typing import Any

from likewise._validation import check_number
from likewise.learners.online._base import OnlineLearner
from likewise.learners.online._beliefs import OasisState
from likewise.learners.online._training import UpdateRule


class OASIS(OnlineLearner):
    """Bilinear similarity qᵀWp from triplets, online, by passive-aggressive updates.

    For a triplet with p = p⁺ − p⁻ and loss [1 − qᵀWp]₊: W += τ q pᵀ with
    τ = min(C, loss / (‖q‖²‖p‖²)) (Chechik et al., 2010). AROMA is a second-order variant.

    Parameters
    ----------
    C : float, default=1.0
        Maximum step.
    init : {"auto", "identity", "zero", "ridge"}, array or Bilinear, default="auto"
        Initial W; "auto" is the identity if queries and items have the same number of features,
        else zero. "ridge" is the form that `RidgeSimilarity` learns from the same labels, relevance
        or pairs; during validation, from the training part only.
    normalize : bool, default=True
        Scale rows to unit length; `similarity_` then has ``norm="cosine"``.
    dtype : {"float32", "float64"}, default="float32"
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
    state_ : OasisState
        The learned state.

    Examples
    --------
    >>> import likewise as lw
    >>> oasis = lw.OASIS(normalize=False, dtype="float64", init="zero")
    >>> oasis.fit_triplets([[0, 1, 2]], [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]).similarity_.W
    array([[1., 0.],
           [0., 0.]])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        init: Any = "auto",
        normalize: bool = True,
        dtype: str = "float32",
        n_triplets: int = 500_000,
        early_stopping: bool = True,
        validation_fraction: float = 0.2,
        new_items: str = "protect",
        negatives: str = "unjudged",
        hard_negatives: float = 0.0,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.init = init
        self.normalize = normalize
        self.dtype = dtype
        self.n_triplets = n_triplets
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.new_items = new_items
        self.negatives = negatives
        self.hard_negatives = hard_negatives
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_number(self.C, "C", minimum=0, exclusive=True)
        super()._check_parameters()

    def _state_class(self) -> type[OasisState]:
        return OasisState

    def _update_rule(self) -> UpdateRule:
        return UpdateRule(float(self.C), 0.0, self.normalize, self.dtype)
