"""The gate: publish the best of several candidates if it clearly beats the start.

Candidates are judged by queries and items that they were not trained on. Values have a column for
each query and three rows: for all relevant items, for those seen in training, and for new ones; NaN
where a query has no such item.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

# The best of many candidates looks better than it is. With this threshold, in standard errors, the
# gate rejected random relevance in 100 of 100 draws (`python -m reproduce ridge`) and passed random
# labels in 1 of 400; the tests hold it to 5 of 100.
MIN_GAIN_IN_ERRORS = 2.5
# Labeled rows rank each other, so they are not independent: each pair counts for both of its rows,
# and the standard error of a mean over pairs is twice that of a mean over rows (Hoeffding, 1948).
LABELS_ERROR_SCALE = 2.0
MIN_QUERIES = 5
NEW_ITEMS = ("protect", "allow", "strict")
KINDS = ("overall", "seen", "new")
_OVERALL, _, _NEW = range(3)


class Outcome(NamedTuple):
    """Mean values over held-out queries, and the standard error of their difference.

    Attributes
    ----------
    start, learned : float
        NaN without queries.
    error : float
        Standard error of learned − start, paired by query; NaN for fewer than two queries.
    n : int
        Number of queries.
    """

    start: float
    learned: float
    error: float
    n: int


@dataclass(frozen=True)
class Verdict:
    """The chosen candidate, and whether it is published.

    Attributes
    ----------
    form, step : int
        Its indices among the candidates.
    passes : bool
        Whether it is published; else the start is kept.
    outcomes : dict of str to Outcome
        ``"overall"``, ``"seen"`` and ``"new"``.
    """

    form: int
    step: int
    passes: bool
    outcomes: dict[str, Outcome]

    @property
    def errors(self) -> float:
        """The overall gain in standard errors."""
        overall = self.outcomes["overall"]
        gain = overall.learned - overall.start
        return gain / overall.error if overall.error > 0 else 0.0


def judge(
    start: np.ndarray,
    values: np.ndarray,
    new_items: str = "protect",
    min_gain: float = MIN_GAIN_IN_ERRORS,
    error_scale: float = 1.0,
    heads: np.ndarray | None = None,
    max_head_loss: float = 1.0,
) -> Verdict:
    """Choose a candidate, and decide whether it clearly beats the start.

    Parameters
    ----------
    start : array of shape (3, n_queries)
    values : array of shape (n_forms, n_steps, 3, n_queries)
        Values of the candidates: forms, each with offsets of several steps; the first step is 0.
    new_items : {"protect", "allow", "strict"}, default="protect"
        "protect" chooses the candidate with the highest overall gain among those where new items
        lose at most one standard error; "allow" the candidate with the highest overall gain;
        "strict" the form with the highest gain on new items, and its step with the highest overall
        gain among those where new items lose nothing.
    min_gain : float
        Overall gain that a candidate must exceed, in standard errors.
    error_scale : float, default=1.0
        Factor on the standard errors; above 1 where queries rank each other.
    heads : array of shape (1 + n_forms, n_queries), optional
        Precision at 1 of the start and of the forms, where the values are a mean over the whole
        ranking: a form whose precision falls by more than `max_head_loss` is not chosen.
    max_head_loss : float, default=1.0
        In standard errors.
    """
    overall, overall_errors = _gains(values[:, :, _OVERALL] - start[_OVERALL], error_scale)
    new, new_errors = _gains(values[:, :, _NEW] - start[_NEW], error_scale)
    allowed = np.ones(new.shape, dtype=bool)
    if new_items == "protect":
        allowed = new >= -new_errors
    elif new_items == "strict":
        allowed[:] = False
        form = int(np.argmax(new[:, 0]))
        allowed[form] = new[form] >= 0
    if heads is not None:
        gains, errors = _gains(heads[1:] - heads[0], 1.0)
        limits = max_head_loss * np.where(np.isfinite(errors), errors, 0)
        allowed &= (gains >= -limits)[:, None]
    best = int(np.argmax(np.where(allowed, overall, -np.inf)))
    form, step = divmod(best, values.shape[1])
    gain, error = overall[form, step], overall_errors[form, step]
    return Verdict(
        form,
        step,
        bool(allowed[form, step] and gain > 0 and gain > min_gain * error),
        {
            kind: _outcome(start[row], values[form, step, row], error_scale)
            for row, kind in enumerate(KINDS)
        },
    )


def _gains(differences: np.ndarray, error_scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and its standard error over the last axis, without NaN."""
    present = ~np.isnan(differences)
    n = present.sum(axis=-1)
    enough = n >= MIN_QUERIES
    count = np.where(enough, n, 2)
    mean = np.where(present, differences, 0).sum(axis=-1) / count
    squares = np.where(present, (differences - mean[..., None]) ** 2, 0).sum(axis=-1)
    error = error_scale * np.sqrt(squares / (count - 1) / count)
    return np.where(enough, mean, 0.0), np.where(enough, error, np.inf)


def _outcome(start: np.ndarray, learned: np.ndarray, error_scale: float) -> Outcome:
    present = ~np.isnan(learned - start)
    n = int(present.sum())
    if n == 0:
        return Outcome(np.nan, np.nan, np.nan, 0)
    gain = learned[present] - start[present]
    error = error_scale * gain.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return Outcome(float(start[present].mean()), float(learned[present].mean()), float(error), n)


def start_kept_message(measure: str, outcomes: dict[str, Outcome]) -> str:
    """Return the warning that the start is kept, with the reason."""
    values = [
        f"{kind} {start:.3f} → {learned:.3f} (± {error:.3f}, {n} queries)"
        for kind, (start, learned, error, n) in outcomes.items()
        if n
    ]
    if not values:
        return "there are too few queries to hold some out for validation: the start is kept."
    return (
        "the learned form does not clearly beat its start on held-out queries "
        f"({measure} {', '.join(values)}): the start is kept."
    )
