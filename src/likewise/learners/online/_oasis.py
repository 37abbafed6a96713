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
    init, normalize, dtype, n_triplets, negatives, hard_negatives : as in `AROMA`
    early_stopping, validation_fraction, new_items, random_state, verbose : as in `AROMA`

    Attributes
    ----------
    similarity_, n_triplets_seen_, n_updates_, history_, validation_ : as in `AROMA`
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
