"""The synthetic sets of the landmarks paper: accuracy by the number of labels and of landmarks.

The paper states neither which Winnow it ran on them, nor the number of landmarks on Circle, nor d,
k and r of Blobs and Line. Both forms of Winnow are shown.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from likewise import datasets
from likewise.classifiers import BalancedWinnow, Winnow
from likewise.features import LandmarkFeatures
from reproduce._frame import Row

RUNS, N_ROWS = 100, 1_000
N_LANDMARKS = 200
CIRCLE_LABELS = (10, 20, 50, 100, 200, 400)
BLOB_LABELS = (50, 100, 200, 500)
BLOB_LANDMARKS = (25, 50, 100, 200, 400)
FEATURES = (32, 128, 512, 2048, 8192)
_BLOBS = {"n_features": 20, "n_centers": 40, "n_flips": 1}
_MOST_BLOB_LABELS, _MOST_BLOB_LANDMARKS = 500, 400
_ABOUT = {"native": 75.0, "similarity": 75.0, "both": 100.0}  # "almost perfect"
_FORMS: dict[str, Callable[[], Any]] = {"": BalancedWinnow, ", original Winnow": Winnow}

Accuracies = dict[str, list[float]]
Wanted = Callable[[str], bool]  # whether a setting is to be measured


def circle(wanted: Wanted) -> Iterator[Row]:
    """Yield the accuracy of native features and of the naive similarity, by the number of labels.

    The ranked similarity is shown beside.
    """
    for n_labels in CIRCLE_LABELS:
        setting = f"Circle, {n_labels} labels"
        if not wanted(setting):
            continue
        found: Accuracies = {}
        for seed in range(RUNS):
            data = datasets.circle(N_ROWS, random_state=seed)
            native, naive = data.X - data.X.min(axis=0), _features(data.X, "naive", seed)
            _add(found, {"native": native, "similarity": naive}, data.y, n_labels)
            ranked = {"ranked similarity": _features(data.X, "ranked", seed)}
            _add(found, ranked, data.y, n_labels, forms=[""])
        note = f"{RUNS} runs of {N_ROWS:,} rows; real features, {N_LANDMARKS} landmarks"
        yield from _rows(setting, found, note)


def blobs_and_line(wanted: Wanted) -> Iterator[Row]:
    """Yield native, similarity and both features, by the number of landmarks and of labels."""
    for n_landmarks in BLOB_LANDMARKS:
        is_last = n_landmarks == _MOST_BLOB_LANDMARKS
        setting = f"Blobs and Line, {n_landmarks} landmarks"
        if wanted(setting):
            yield from _blobs(setting, n_landmarks, _MOST_BLOB_LABELS, _ABOUT if is_last else {})
    for n_labels in BLOB_LABELS:
        setting = f"Blobs and Line, {n_labels} labels"
        if wanted(setting):
            yield from _blobs(setting, _MOST_BLOB_LANDMARKS, n_labels, {})


def _blobs(
    setting: str, n_landmarks: int, n_labels: int, published: dict[str, float]
) -> Iterator[Row]:
    found: Accuracies = {}
    for seed in range(RUNS):
        data = datasets.blobs_and_line(N_ROWS, random_state=seed, **_BLOBS)
        naive = _features(data.X, "naive", seed, n_landmarks)
        kinds = {"native": data.X, "similarity": naive, "both": np.hstack([data.X, naive])}
        _add(found, kinds, data.y, n_labels)
        nearest = _features(data.X, "ranked", seed, n_landmarks, boolean=0.01)
        booleans = {"similarity": nearest, "both": np.hstack([data.X, nearest])}
        _add(
            found,
            {f"{kind}, nearest 1 %": table for kind, table in booleans.items()},
            data.y,
            n_labels,
            forms=[""],
        )
    note = f"{RUNS} runs; d=20, k=40, r=1, which are ours; {n_landmarks} landmarks, "
    yield from _rows(setting, found, f"{note}{n_labels} labels", published)


def irrelevant_features(wanted: Wanted) -> Iterator[Row]:
    """Yield the mistakes of Winnow and the Perceptron by the number of irrelevant features."""
    note = "mistakes in one pass over 2,000 rows of signs, labeled by a majority of three"
    for n_features in FEATURES:
        setting = f"{n_features} features"
        if not wanted(setting):
            continue
        found: dict[str, list[float]] = {}
        for seed in range(5):
            signs = np.array([-1, 1], np.float32)
            X = np.random.default_rng(seed).choice(signs, size=(2000, n_features))
            y = X[:, :3].sum(axis=1) > 0
            winnow = BalancedWinnow(epsilon=0.25).partial_fit(X, y, classes=[False, True])
            found.setdefault("Winnow, mistakes", []).append(winnow.n_mistakes_)
            found.setdefault("Perceptron, mistakes", []).append(_perceptron_mistakes(X, y))
        yield from _rows(setting, found, note)


def curves(rows: list[Row]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield title, labels of both axes, and the curve of each method, from measured rows."""
    for title, pattern, x_label, y_label in (
        ("circle", r"Circle, (\d+) labels", "labels", "% right"),
        ("blobs-landmarks", r"Blobs and Line, (\d+) landmarks", "landmarks", "% right"),
        ("blobs-labels", r"Blobs and Line, (\d+) labels", "labels", "% right"),
        ("mistakes", r"(\d+) features", "features, of which three matter", "mistakes"),
    ):
        points: dict[str, list[tuple[int, float, float]]] = {}
        for row in rows:
            matched = re.fullmatch(pattern, row.setting)
            if matched and row.ours is not None:
                point = int(matched.group(1)), row.ours, row.deviation or 0.0
                points.setdefault(row.method, []).append(point)
        if points:
            yield (
                title,
                x_label,
                y_label,
                {
                    method: tuple(zip(*sorted(of_method), strict=True))
                    for method, of_method in points.items()
                },
            )


def _features(
    X: np.ndarray, kind: str, seed: int, n_landmarks: int = N_LANDMARKS, boolean: Any = None
) -> np.ndarray:
    """Return the similarity features of all rows."""
    features = LandmarkFeatures(
        kind, n_landmarks, boolean=boolean, keep_native=False, random_state=seed
    )
    return np.asarray(features.fit_transform(X))


def _add(
    found: Accuracies,
    tables: dict[str, np.ndarray],
    y: np.ndarray,
    n_labels: int,
    forms: list[str] | None = None,
) -> None:
    """Train each form of Winnow on the first rows of each table, and test it on the others."""
    for form in _FORMS if forms is None else forms:
        for kind, table in tables.items():
            fitted = _FORMS[form]().fit(table[:n_labels], y[:n_labels])
            right = fitted.predict(table[n_labels:]) == y[n_labels:]
            found.setdefault(f"{kind}{form}", []).append(100 * float(np.mean(right)))


def _rows(
    setting: str, found: Accuracies, note: str, published: dict[str, float] | None = None
) -> Iterator[Row]:
    for method, values in found.items():
        about = (published or {}).get(method)
        mean, deviation = float(np.mean(values)), float(np.std(values))
        yield Row(setting, method, about, mean, deviation, note, about=about is not None)


def _perceptron_mistakes(X: np.ndarray, y: np.ndarray) -> int:
    """Return the number of updates of Rosenblatt's rule in one pass."""
    weights, intercept, mistakes = np.zeros(X.shape[1]), 0.0, 0
    for row, sign in zip(X, np.where(y, 1.0, -1.0), strict=True):
        if sign * (row @ weights + intercept) <= 0:
            weights += sign * row
            intercept += sign
            mistakes += 1
    return mistakes
