"""OASIS: a bilinear form by passive-aggressive steps."""

from typing import Any

from likewise._validation import check_number
from likewise.learners.online._base import OnlineLearner
from likewise.learners.online._beliefs import OasisState
from likewise.learners.online._training import UpdateRule


class OASIS(OnlineLearner):
    """Bilinear similarity qᵀWp from triplets, online, by the smallest step that mends each.

    For a triplet with p = p⁺ − p⁻ and loss [1 − qᵀWp]₊: W += τ q pᵀ with
    τ = min(C, loss / (‖q‖²‖p‖²)) (Chechik et al., 2010). AROMA is its second-order relative.

    Parameters
    ----------
    C : float, default=1.0
        Largest step.
    init : {"auto", "identity", "zero", "ridge"}, array or Bilinear, default="auto"
        Where W starts; "auto" is the identity where queries and items have the same width. "ridge"
        is what `RidgeSimilarity` learns from the same labels, relevance or pairs, without what is
        held out while it is judged.
    normalize : bool, default=True
        Scale rows to unit length; `similarity_` then has ``norm="cosine"``.
    dtype : {"float32", "float64"}, default="float32"
    n_triplets : int, default=500_000
        Most triplets that `fit`, `fit_relevance` and `fit_pairs` draw.
    early_stopping : bool, default=True
        Hold out queries and items in those three; stop when they gain no more, publish the share
        of what was learned that clearly beats the start on them, and learn it again from all. What
        does not, is not published.
    validation_fraction : float, default=0.2
        Share of the queries, and of the items, that is held out.
    new_items : {"protect", "allow", "strict"}, default="protect"
        What may happen to items that were not judged. Of the shares, "protect" takes the best
        overall among those by which new items lose at most one standard error, "allow" the best
        overall, "strict" the one that new items gain most by.
    negatives : {"unjudged", "judged"}, default="unjudged"
        Which items may be the farther ones in `fit_relevance`.
    hard_negatives : float, default=0.0
        Share of the farther items in `fit_relevance` that come from the top of the ranking.
    random_state : int, RandomState or None
    verbose : bool, default=False

    Attributes
    ----------
    similarity_ : Bilinear
    n_triplets_seen_, n_updates_ : int
    history_ : list of dict
        ``triplets``, ``updates``, mean ``loss`` of the stretch, and ``validation`` or None.
    validation_ : dict
        Where something was held out: ``"overall"``, ``"seen"`` and ``"new"``, each (start,
        learned, error, n), are means over held-out queries, the standard error of their
        difference, and the number of queries, over all items, over items that were seen in
        training and over new ones. ``"measure"`` says of what, ``"published"`` whether it passed,
        ``"share"`` how much of what was learned (0: the start was kept) and ``"n_triplets"`` after
        how many triplets.
    state_ : OasisState
        What it goes on from.

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
