"""Calibration and prediction sets in plain NumPy."""

import numpy as np


def leads(scores):
    """Return the score of each class minus the highest of the others."""
    return np.array(
        [[row[c] - max(np.delete(row, c)) for c in range(len(row))] for row in np.asarray(scores)]
    )


def platt_loss(slope, intercept, lead, is_own, weights):
    """Return the weighted log-loss with smoothed targets (Platt, 1999)."""
    n_own, n_other = is_own.sum(), (1 - is_own).sum()
    targets = np.where(is_own == 1, (n_own + 1) / (n_own + 2), 1 / (n_other + 2))
    p = 1 / (1 + np.exp(-(slope * lead + intercept)))
    losses = -targets * np.log(p) - (1 - targets) * np.log(1 - p)
    return np.average(losses, weights=weights)


def isotonic(lead, is_own, weights):
    """Return the increasing function of best squared error, by pooling adjacent violators."""
    values = np.unique(lead)
    blocks = []
    for value in values:
        at = lead == value
        blocks.append([weights[at].sum(), (weights * is_own)[at].sum(), 1])
        while len(blocks) > 1 and blocks[-2][1] / blocks[-2][0] >= blocks[-1][1] / blocks[-1][0]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    return values, np.concatenate([np.full(n, total / w) for w, total, n in blocks])


def prediction_set(row, own_leads, alpha):
    """Return the classes whose nonconformity does not exceed the conformal quantile."""
    nonconformity = sorted(-np.asarray(own_leads))
    rank = int(np.ceil((len(own_leads) + 1) * (1 - alpha) - 1e-9))
    limit = nonconformity[rank - 1] if rank <= len(own_leads) else np.inf
    return [-lead <= limit for lead in leads([row])[0]]
