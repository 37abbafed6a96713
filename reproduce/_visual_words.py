"""Bags of visual words of ten classes of Caltech-256: AROMA, OASIS and their rivals."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from likewise.learners import ITML, LMNN
from likewise.similarities import as_similarity
from reproduce._datasets import load
from reproduce._frame import Row
from reproduce._hierarchy import hier
from reproduce._newsgroups import TRAIN_SHARE, tfidf
from reproduce._retrieval import Measure, Split, chosen_values, measures, precision_rows

_SPLITS = 5
_N_TRIPLETS = 200_000
_MAX_ITER = 1000  # of rivals, which end earlier where they have converged


def _image_splits() -> Iterator[Split]:
    """Yield bags of visual words of ten classes, in tf-idf, on random splits."""
    data = load("caltech10_office_surf")
    for seed in range(_SPLITS):
        order = np.random.default_rng(seed).permutation(len(data.y))
        train, test = np.split(order, [int(TRAIN_SHARE * len(order))])
        X, X_test = tfidf(data.X[train], data.X[test])
        yield X, data.y[train], X_test, data.y[test]


def _class_names() -> list[str]:
    return [str(name) for name in load("caltech10_office_surf").target_names]


def _image_rows(setting: str, method: str, measured: Any, note: str = "") -> Iterator[Row]:
    published = {"OASIS": 0.22, "diagonal AROMA": 0.33, "factored AROMA": 0.33}
    note = f"{_SPLITS} splits; the paper had 50 other classes and 1,000 words{note}"
    return precision_rows(setting, method, measured, note, published.get(method))


def image_identity(setting: str, method: str) -> Iterator[Row]:
    """Yield the figures of the cosine."""
    measured = [measures(as_similarity("cosine"), *split[2:]) for split in _image_splits()]
    yield from _image_rows(setting, method, measured)


def image_learner(name: str, make: Callable[[int], Any]) -> Measure:
    """Return the figures of a learner that chooses its rate, and what it publishes, itself."""

    def measure(setting: str, method: str) -> Iterator[Row]:
        measured, chosen = [], []
        for seed, (X, y, X_test, y_test) in enumerate(_image_splits()):
            learner = make(seed).set_params(n_triplets=_N_TRIPLETS).fit(X, y)
            measured.append(measures(learner.similarity_, X_test, y_test))
            chosen.append(getattr(learner, f"{name}_"))
        yield from _image_rows(setting, method, measured, f"; {chosen_values(name, chosen)}")

    return measure


def _hier(setting: str, method: str) -> Iterator[Row]:
    """Yield the figures of HIER, with or without its hierarchy."""
    names = _class_names()
    measured = [
        hier(split, names, seed, flat="without" in method)
        for seed, split in enumerate(_image_splits())
    ]
    note = "; logistic regression, its C validated" + ("" if "without" in method else ", our tree")
    yield from _image_rows(setting, method, measured, note)


def _lmnn(setting: str, method: str) -> Iterator[Row]:
    """Yield the figures of LMNN, which warns unless it converges."""
    measured, steps = [], []
    for X, y, X_test, y_test in _image_splits():
        learner = LMNN(max_iter=_MAX_ITER).fit(X.toarray(), y)
        measured.append(measures(learner.similarity_, X_test.toarray(), y_test))
        steps.append(learner.n_iter_)
    note = f"; k = 3, converged in at most {max(steps)} steps"
    yield from _image_rows(setting, method, measured, note)


def _itml(setting: str, method: str) -> Iterator[Row]:
    """Yield the figures of ITML, which warns unless it converges."""
    measured, gaps = [], []
    for seed, (X, y, X_test, y_test) in enumerate(_image_splits()):
        learner = ITML(max_iter=_MAX_ITER, random_state=seed).fit(X.toarray(), y)
        measured.append(measures(learner.similarity_, X_test.toarray(), y_test))
        gaps.append(learner.optimality_gap_)
    note = f"; gamma = 1, at most {max(gaps):.1e} above the minimum"
    yield from _image_rows(setting, method, measured, note)


IMAGE_RIVALS: dict[str, Measure] = {
    "HIER": _hier,
    "HIER without a hierarchy": _hier,
    "LMNN": _lmnn,
    "ITML": _itml,
}
