"""OASIS: online learning of a bilinear form by passive-aggressive updates."""

from typing import Any, ClassVar

from likewise._files import fields
from likewise.learners.online._base import OnlineLearner
from likewise.learners.online._beliefs import OasisState
from likewise.learners.online._rates import current_rate
from likewise.learners.online._training import UpdateRule


class OASIS(OnlineLearner):
    """Bilinear similarity qᵀWp from triplets, online, by passive-aggressive updates.

    For a triplet with p = p⁺ − p⁻ and loss [1 − qᵀWp]₊: W += τ q pᵀ with
    τ = min(C, loss / (‖q‖²‖p‖²)) (Chechik et al., 2010). AROMA is a second-order variant.

    Parameters
    ----------
    C : float or "auto", default=1.0
        Maximum step. "auto" chooses from 0.001, 0.01, 0.1 and 1, as `AROMA` chooses r.
    init, normalize, dtype, n_triplets, negatives, hard_negatives : as in `AROMA`
    early_stopping, validation_fraction, new_items, random_state, verbose : as in `AROMA`

    Attributes
    ----------
    similarity_, n_triplets_seen_, n_updates_, history_, validation_ : as in `AROMA`
    C_ : float
        With ``C="auto"``, the chosen value.
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

    _file_fields: ClassVar[fields.Declaration] = OnlineLearner._file_fields | {
        "C_": fields.Optional(fields.Number(whole=False)),
    }
    _rate_name: ClassVar[str] = "C"
    _rates: ClassVar[tuple[float, ...]] = (0.001, 0.01, 0.1, 1.0)

    C_: float

    def __init__(
        self,
        C: float | str = 1.0,
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

    def _state_class(self) -> type[OasisState]:
        return OasisState

    def _update_rule(self) -> UpdateRule:
        return UpdateRule(current_rate(self), 0.0, self.normalize, self.dtype)
