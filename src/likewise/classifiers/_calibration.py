"""Calibrated probabilities and conformal prediction sets, from the scores of held-out rows.

Both use the lead of a class: its score minus the highest score of the other classes. A map from
leads to probabilities is fitted for each class, and the probabilities of a row are divided by their
sum. A prediction set holds the classes whose lead is no lower than that of most held-out rows with
their own class.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from likewise._files import fields
from likewise._validation import check_number

Kind = Literal["none", "sigmoid", "isotonic"]
KINDS: tuple[Kind, ...] = ("none", "sigmoid", "isotonic")
N_SPLITS = 5


class CalibrationData(fields.Field):
    """A calibration in a file, as `HeldOutScores.calibration` returns it."""

    def check(self, value: Any, name: str, sizes: fields.Sizes) -> None:
        """Check that there is a map for each class, and that its arrays have the same length."""
        arrays = fields.ListOf(fields.Array(fields.FLOATS, "points"))
        fields.Parts(
            kind=fields.Choice(*KINDS),
            leads=fields.Array(fields.FLOATS, "held-out rows", finite=False),
            x=arrays,
            y=arrays,
        ).check(value, name, sizes)
        n_maps = 0 if value["kind"] == "none" else sizes["classes"]
        lengths = [[len(array) for array in value[part]] for part in ("x", "y")]
        if lengths[0] != lengths[1] or len(lengths[0]) != n_maps or 0 in lengths[0]:
            raise ValueError(f"{name} must have {n_maps} maps of points x and y.")


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """Scores of rows by classifiers that were fitted without them.

    Attributes
    ----------
    scores : (n_rows, n_classes)
    labels : (n_rows,) int64 from 0
    weights : (n_rows,)
    """

    scores: np.ndarray
    labels: np.ndarray
    weights: np.ndarray

    def calibration(self, kind: Kind) -> dict[str, Any]:
        """Return the map of leads to probabilities, as arrays that a model file can hold.

        Returns
        -------
        dict with ``kind``; ``leads``, the leads of the own classes, ascending; and ``x`` and ``y``,
        a list with an array for each class: slope and intercept (x, y) of the sigmoid, or the
        points of the isotonic function
        """
        leads = class_leads(self.scores)
        fit = _fit_sigmoid if kind == "sigmoid" else _fit_isotonic
        maps = []
        if kind != "none":
            for label in range(leads.shape[1]):
                is_own = (self.labels == label).astype(np.float64)
                maps.append(fit(leads[:, label], is_own, self.weights))
        own = np.sort(leads[np.arange(len(leads)), self.labels])
        return {"kind": kind, "leads": own, "x": [x for x, _ in maps], "y": [y for _, y in maps]}


def class_leads(scores: np.ndarray) -> np.ndarray:
    """Return the score of each class minus the highest score of the other classes."""
    order = np.argsort(-scores, axis=1, kind="stable")
    first, second = np.take_along_axis(scores, order[:, :2], axis=1).T
    leads = scores - first[:, None]
    leads[np.arange(len(scores)), order[:, 0]] = first - second
    return leads


def calibrated(scores: np.ndarray, calibration: dict[str, Any]) -> np.ndarray:
    """Return the calibrated probability of each class."""
    leads = class_leads(scores)
    columns = []
    for lead, x, y in zip(leads.T, calibration["x"], calibration["y"], strict=True):
        if calibration["kind"] == "sigmoid":
            columns.append(expit(x[0] * lead + y[0]))
        else:
            columns.append(np.interp(lead, x, y))
    shares = np.stack(columns, axis=1)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def check_alpha(alpha: float) -> None:
    """Refuse what is not a share of prediction sets that may miss the true class."""
    check_number(alpha, "alpha", minimum=0, exclusive=True)
    if alpha >= 1:
        raise ValueError(f"alpha must be below 1, but {alpha} was given.")


def prediction_sets(scores: np.ndarray, calibration: dict[str, Any], alpha: float) -> np.ndarray:
    """Return which classes are in the prediction set of each row."""
    own = calibration["leads"]
    # with n held-out rows, the ⌈(n + 1)(1 − α)⌉-th highest lead; all classes if there is none
    rank = math.ceil((len(own) + 1) * (1 - alpha) - 1e-9)
    lowest = own[len(own) - rank] if rank <= len(own) else -np.inf
    return np.asarray(class_leads(scores) >= lowest)


def _fit_sigmoid(
    leads: np.ndarray, is_own: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and intercept by maximum likelihood, with the smoothed targets of Platt."""
    n_own, n_other = is_own.sum(), len(is_own) - is_own.sum()
    targets = np.where(is_own > 0, (n_own + 1) / (n_own + 2), 1 / (n_other + 2))
    spread = np.abs(leads).max() or 1.0
    scaled, shares = leads / spread, weights / weights.sum()

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        z = parameters[0] * scaled + parameters[1]
        slope = shares * (expit(z) - targets)
        return float(shares @ (np.logaddexp(0, z) - targets * z)), np.array(
            [slope @ scaled, slope.sum()]
        )

    start = np.array([1.0, np.log((n_own + 1) / (n_other + 1))])
    found = minimize(loss, start, jac=True, bounds=[(0, None), (None, None)], tol=1e-12).x
    return found[:1] / spread, found[1:]


def _fit_isotonic(
    leads: np.ndarray, is_own: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of the best increasing function, kept off 0 and 1 by 1 / (n + 2)."""
    from sklearn.isotonic import IsotonicRegression  # slow to import

    smallest = 1 / (len(leads) + 2)
    found = IsotonicRegression(y_min=smallest, y_max=1 - smallest).fit(leads, is_own, weights)
    return np.array(found.X_thresholds_), np.array(found.y_thresholds_)
