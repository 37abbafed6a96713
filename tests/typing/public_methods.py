"""The methods of the public classes that `public_api` does not use: mypy checks this file.

>>> from inspect import isclass, isfunction
>>> from pathlib import Path
>>> files = (Path(__file__), Path(__file__).with_name("public_api.py"))
>>> text = "".join(file.read_text(encoding="utf8") for file in files)
>>> classes = [each for name in dir(lw) if isclass(each := getattr(lw, name))]
>>> own = [base for each in classes for base in each.__mro__ if "likewise" in base.__module__]
>>> methods = {name for base in own for name, value in vars(base).items()
...            if name[0] != "_" and isinstance(value, (type(isfunction), property, classmethod))}
>>> sorted(name for name in methods if f".{name}" not in text)
[]
"""

from typing import Any, assert_type

import numpy as np

import likewise as lw
from likewise.evaluation import Table


def check(similarity: lw.Similarity, Q: np.ndarray, P: np.ndarray) -> lw.Matches:
    """Check rows once, and prepare items for many searches."""
    similarity.check_queries(Q, "queries")
    similarity.check_items(P)
    return similarity.neighbors(Q, similarity.prepare_items(P), k=3)


def widths(bilinear: lw.Bilinear, mahalanobis: lw.Mahalanobis, offsets: lw.ItemOffsets) -> int:
    """Return the number of columns; a similarity of any width has None."""
    assert_type(bilinear.n_query_features, int | None)
    assert_type(bilinear.n_item_features, int | None)
    assert_type(mahalanobis.n_features, int | None)
    return offsets.n_item_features


def certify(X: np.ndarray, y: np.ndarray) -> float:
    """Measure margins, bounds and the gap."""
    lw.SiLA().fit(X, y).margin(X, y)
    boost = lw.DBoost(calibrate="sigmoid", n_rounds=5).fit(X, y)
    assert_type(boost.margins(X, y), np.ndarray)
    assert_type([len(scores) for scores in boost.staged_decision_function(X)], list[int])
    assert_type(boost.predict_set(X, alpha=0.2), np.ndarray)
    assert_type(boost.predict_proba(X), np.ndarray)
    clf = lw.SimilarityClassifier(calibrate="isotonic").fit(X, y)
    assert_type(clf.predict_set(X), np.ndarray)
    assert_type(lw.LMNN().fit(X, y).duality_gap_, float)
    assert_type(lw.LMNN().fit(X, y).transform(X), np.ndarray)
    return lw.LMNN().fit_triplets([[0, 1, 2]], X).duality_gap_


def online(X: np.ndarray, y: np.ndarray) -> Any:
    """Begin without data, continue with labels, and draw."""
    aroma = lw.AROMA().initialize(3, 5)
    assert_type(aroma, lw.AROMA)
    assert_type(lw.OASIS().initialize(3, 3).partial_fit(X, y), lw.OASIS)
    assert_type(lw.RidgeSimilarity().fit_pairs([[0, 1]], [1], X), lw.RidgeSimilarity)
    return aroma.plot_history()


def landmarks(X: np.ndarray) -> np.ndarray:
    """Name the columns, and score rows against landmarks."""
    features = lw.LandmarkFeatures(n_landmarks=5).fit(X)
    rows = features.check_rows(X, features.compared_similarity())
    assert_type(features.get_feature_names_out(), np.ndarray)
    return features.landmark_scores(rows)


def distances(matrix: np.ndarray) -> np.ndarray:
    """Read columns of a matrix."""
    precomputed = lw.Precomputed(is_distance=True)
    rows = precomputed.prepare(matrix)
    assert_type(precomputed.columns(rows, np.arange(3), is_symmetric=False), np.ndarray)
    return precomputed.block(rows, np.arange(2), lambda i, j: f"{i}, {j}")


def index(items: np.ndarray, offsets: lw.ItemOffsets) -> int:
    """Look into an index, and move its items."""
    made = lw.Index(lw.Bilinear(1.0)).add(range(len(items)), items)
    assert_type(made.set_offsets(offsets).set_offsets(None), lw.Index)
    assert_type(made.snapshot, lw.index.Snapshot)
    assert_type(made.snapshot.search(items, k=2), lw.Matches)
    made.items([0, 1])
    assert_type((made.is_exact, made.effort), tuple[bool, int | None])
    return made.n_candidates


def reports(comparison: lw.Comparison, found: lw.RetrievalReport, good: lw.Goodness) -> str:
    """Draw and describe results."""
    comparison.plot()
    found.plot(label="cosine")
    good.plot(label="cosine")
    assert_type(comparison.table(), Table)
    assert_type(comparison.p_value_between("a", "b"), float)
    assert_type(good.curve, tuple[np.ndarray, np.ndarray])
    return good.sentence
