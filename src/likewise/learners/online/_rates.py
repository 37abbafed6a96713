"""The rate of the updates, r of AROMA or C of OASIS: a number, or chosen by held-out queries."""

from typing import TYPE_CHECKING, Any

from likewise._execution import current_backend
from likewise._validation import check_number

if TYPE_CHECKING:
    from likewise.learners.online._base import OnlineLearner

AUTO = "auto"
_DEFAULT_RATE = 1.0  # of both learners


def check_rate(learner: "OnlineLearner", *, is_chosen: bool) -> None:
    """Refuse a rate that is neither a positive number nor "auto", or that nothing chooses.

    `is_chosen` tells whether "auto" is chosen by this fit, or was by an earlier one.
    """
    name, rate = learner._rate_name, _given(learner)
    if isinstance(rate, str) and not is_automatic(learner):
        raise TypeError(f"{name} must be a number or 'auto', but {rate!r} was given.")
    if not is_automatic(learner):
        check_number(rate, name, minimum=0, exclusive=True)
    elif not is_chosen:
        raise ValueError(
            f"{name} must be a number here, but 'auto' was given, which held-out queries choose: "
            "fit, fit_relevance and fit_pairs with early_stopping=True, and fit_triplets with "
            "validate=True, hold some out."
        )
    elif current_backend() is not None and not is_known(learner):
        raise ValueError(
            f"{name} must be a number on a cluster, but 'auto' was given: fit outside run_on, and "
            f"give the {name}_ that is found."
        )


def is_automatic(learner: "OnlineLearner") -> bool:
    """Return whether held-out queries choose the rate."""
    given = _given(learner)
    return isinstance(given, str) and given == AUTO


def is_known(learner: "OnlineLearner") -> bool:
    """Return whether the rate is a number, or an earlier fit chose it."""
    return not is_automatic(learner) or hasattr(learner, f"{learner._rate_name}_")


def candidate_rates(learner: "OnlineLearner") -> tuple[float, ...]:
    """Return the rates that held-out queries choose from: the given one, unless "auto"."""
    return learner._rates if is_automatic(learner) else (float(_given(learner)),)


def current_rate(learner: "OnlineLearner") -> float:
    """Return the given or the chosen rate."""
    chosen = is_automatic(learner)
    return float(getattr(learner, f"{learner._rate_name}_") if chosen else _given(learner))


def set_rate(learner: "OnlineLearner", rate: float = _DEFAULT_RATE) -> None:
    """Set the chosen rate; a rate that was given stays as it is."""
    if is_automatic(learner):
        setattr(learner, f"{learner._rate_name}_", rate)


def forget_rate(learner: "OnlineLearner") -> None:
    """Remove the rate that an earlier fit chose, if one is given now."""
    if not is_automatic(learner):
        learner.__dict__.pop(f"{learner._rate_name}_", None)


def _given(learner: "OnlineLearner") -> Any:
    return getattr(learner, learner._rate_name)
