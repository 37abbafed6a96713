"""Retrieval among rows with classes: measures, and parameters by rows that are held out."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from likewise._threads import slices
from likewise.metrics import average_precision, precision_at
from reproduce._frame import Row

AT = (1, 10, 50)
_QUERIES_AT_A_TIME = 512
_HELD_OUT = 0.2

Split = tuple[Any, np.ndarray, Any, np.ndarray]  # X, y, X_test, y_test
Measure = Callable[[str, str], Iterator[Row]]  # from a setting and a method


def measures(similarity: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """Return p@1, p@10, p@50 and mAP of every row as a query among the others."""
    found = []
    for block in slices(X.shape[0], _QUERIES_AT_A_TIME):
        scores = similarity.score(X[block], X)
        own = np.arange(block.start, block.stop)
        scores[np.arange(len(own)), own] = -np.inf
        order = np.argsort(-scores, axis=1, kind="stable")[:, :-1]
        gains = y[order] == y[own, None]
        n_relevant = gains.sum(axis=1)
        judged, n_relevant = gains[n_relevant > 0], n_relevant[n_relevant > 0]
        precisions = [precision_at(judged, k) for k in AT]
        found.append(np.column_stack([*precisions, average_precision(judged, n_relevant)]))
    return np.asarray(np.concatenate(found).mean(axis=0))


def best_value(
    learned: Callable[[Any, Any, np.ndarray], Any],
    values: Sequence[Any],
    X: Any,
    y: np.ndarray,
    seed: int,
) -> Any:
    """Return the value of a parameter with which a fifth of the training rows is ranked best.

    Parameters
    ----------
    learned : callable that takes a value, rows and labels, and returns a similarity
    values : the grid
    X, y : training rows
    seed : int
    """
    held = np.random.default_rng(seed).random(len(y)) < _HELD_OUT

    def mean_precision(value: Any) -> float:
        return float(measures(learned(value, X[~held], y[~held]), X[held], y[held])[-1])

    return max(values, key=mean_precision)


def precision_rows(
    setting: str, method: str, measured: Any, note: str, published: float | None = None
) -> Iterator[Row]:
    """Yield a row for each measure, with means and deviations over splits."""
    mean, deviation = np.mean(measured, axis=0), np.std(measured, axis=0)
    for column, measure in enumerate((*(f"p@{k}" for k in AT), "mAP")):
        yield Row(
            setting,
            f"{method}: {measure}",
            published if measure == "p@1" else None,
            float(mean[column]),
            float(deviation[column]),
            note,
        )


def chosen_values(name: str, values: Sequence[Any]) -> str:
    """Return the chosen values of a parameter as words: ``r = 0.1 in 4, 1 in 1``."""
    found, counts = np.unique(values, return_counts=True)
    parts = [f"{value:g} in {n}" for value, n in zip(found, counts, strict=True)]
    return f"{name} = {', '.join(parts)}" if len(parts) > 1 else f"{name} = {found[0]:g}"
