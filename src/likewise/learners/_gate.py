"""The gate: of several candidates, publish the best that held-out queries support, or the start.

Whatever is judged here was learned without the queries and the items that judge it. Values come
by query, in three rows: over all items to find, over those seen in training, over new ones; NaN
where a query has none of a kind.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

# The best of many candidates seems better than it is: so many standard errors keep random relevance
# out in more than 95 of 100 draws (`python -m reproduce ridge`).
ERRORS_TO_PASS = 2.5
# Labeled rows rank each other, so they are not independent: a pair counts for both of its rows, and
# the standard error of a mean over pairs is twice that of a mean over rows (Hoeffding, 1948).
ERROR_SCALE_OF_LABELS = 2.0
FEWEST_QUERIES = 5
NEW_ITEMS = ("protect", "allow", "strict")
KINDS = ("overall", "seen", "new")
_OVERALL, _, _NEW = range(3)


class Outcome(NamedTuple):
    """Means over held-out queries, and the standard error of their difference.

    Attributes
    ----------
    start, learned : float
        NaN where there are no queries.
    error : float
        Of learned − start, paired by query; NaN where there are fewer than two.
    n : int
        Queries.
    """

    start: float
    learned: float
    error: float
    n: int


@dataclass(frozen=True)
class Verdict:
    """The best candidate, and whether it is published.

    Attributes
    ----------
    form, step : int
        Its place among the candidates.
    passes : bool
        False: the start is kept.
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
    errors_to_pass: float = ERRORS_TO_PASS,
    error_scale: float = 1.0,
) -> Verdict:
    """Choose a candidate, and tell whether it beats the start.

    Parameters
    ----------
    start : array of shape (3, n_queries)
    values : array of shape (n_forms, n_steps, 3, n_queries)
        Of candidates: forms, each with offsets of several steps; the first step is none.
    new_items : {"protect", "allow", "strict"}, default="protect"
        Which candidate is taken: of those that new items lose no more than a standard error by,
        the one of the highest overall gain; the one of the highest overall gain; or the form that
        new items gain most by, with the step of the highest overall gain among those by which new
        items lose nothing.
    errors_to_pass : float
        Its overall gain must exceed so many standard errors.
    error_scale : float, default=1.0
        What standard errors are multiplied by: more than 1 where queries rank each other.
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
    best = int(np.argmax(np.where(allowed, overall, -np.inf)))
    form, step = divmod(best, values.shape[1])
    gain, error = overall[form, step], overall_errors[form, step]
    return Verdict(
        form,
        step,
        bool(allowed[form, step] and gain > 0 and gain > errors_to_pass * error),
        {
            kind: _outcome(start[row], values[form, step, row], error_scale)
            for row, kind in enumerate(KINDS)
        },
    )


def _gains(differences: np.ndarray, error_scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and its standard error over the last axis; NaN is left out."""
    there = ~np.isnan(differences)
    n = there.sum(axis=-1)
    enough = n >= FEWEST_QUERIES
    count = np.where(enough, n, 2)
    mean = np.where(there, differences, 0).sum(axis=-1) / count
    squares = np.where(there, (differences - mean[..., None]) ** 2, 0).sum(axis=-1)
    error = error_scale * np.sqrt(squares / (count - 1) / count)
    return np.where(enough, mean, 0.0), np.where(enough, error, np.inf)


def _outcome(start: np.ndarray, learned: np.ndarray, error_scale: float) -> Outcome:
    there = ~np.isnan(learned - start)
    n = int(there.sum())
    if n == 0:
        return Outcome(np.nan, np.nan, np.nan, 0)
    gain = learned[there] - start[there]
    error = error_scale * gain.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return Outcome(float(start[there].mean()), float(learned[there].mean()), float(error), n)


def start_kept(measure: str, outcomes: dict[str, Outcome]) -> str:
    """Return the sentence that says why the start is kept."""
    judged = [
        f"{kind} {start:.3f} → {learned:.3f} (± {error:.3f}, {n} queries)"
        for kind, (start, learned, error, n) in outcomes.items()
        if n
    ]
    if not judged:
        return "there are too few queries to hold some out and judge by them: the start is kept."
    return (
        "what was learned does not clearly beat its start on held-out queries "
        f"({measure} {', '.join(judged)}): the start is kept."
    )
