"""Write a model file of every class, and what each answers: ``python -m tests.data.write_edition``.

`tests/test_editions.py` loads what earlier editions wrote and expects the same answers. Files that
lie there already are left alone: what was written once must stay readable.
"""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import likewise as lw
from likewise._files._classes import HOMES

FOLDER = Path(__file__).parent / "editions"
WORDS = ["apple", "plum", "fig", "banana", "date", "elderberry", "grape", "lime", "kiwi", "pear"]
KINDS = ["stone", "stone", "seed", "seed", "stone", "seed", "seed", "seed", "seed", "stone"]


def rows(n: int = 60, width: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, width)) + 2.0 * np.eye(3, width)[y], y


def asked(name: str) -> Any:
    """Return what a model of this name is asked about."""
    if name in _SERIES:
        return [np.sin(np.arange(5 + k) / (1 + k)) for k in range(4)]
    if name in _WORDS:
        return WORDS[:5]
    if name in _IMAGES:
        return np.random.default_rng(1).random((5, 16))
    if name in _MATRIX:
        return np.abs(np.subtract.outer(np.arange(60.0)[:5], np.arange(60.0)))
    if name in _HISTOGRAMS:
        return np.random.default_rng(1).random((5, 4)) + 0.1
    return np.abs(rows(7, seed=1)[0]) % 1.0


_SERIES = {"SeriesDistance"}
_WORDS = {"StringDistance", "AlignmentDistance", "dboost-words"}
_IMAGES = {"FuzzyImageDistance", "ImageDistance", "TangentDistance"}
_MATRIX = {"MatrixDistance", "Precomputed", "dboost-matrix"}
_HISTOGRAMS = {"TransportDistance"}


def models() -> dict[str, Any]:
    """Return a model of every class that a file can name."""
    X, y = rows()
    rng = np.random.default_rng(0)
    relevance = np.zeros((60, 60))
    relevance[np.arange(60), (np.arange(60) * 7 + 1) % 20] = 1
    queries = rng.normal(size=(20, 4))[(np.arange(60) * 7 + 1) % 20] + 0.1 * X
    matrix = np.abs(np.subtract.outer(np.arange(60.0), np.arange(60.0)))
    image = {"shape": (4, 4)}
    triplets = lw.supervision.LabelTriplets(y).draw(200, rng)
    distances = lw.distances
    table = _table_model()
    made = {
        "AROMA": lw.AROMA(random_state=0, n_triplets=2000).fit(X, y),
        "aroma-factored": lw.AROMA("factored").fit_triplets(triplets, X),
        "aroma-full": lw.AROMA("full", update="mistake").fit_triplets(triplets, X),
        "oasis-auto": lw.OASIS("auto", random_state=0, n_triplets=1000).fit(X, y),
        "OASIS": lw.OASIS(random_state=0, n_triplets=2000).fit(X, y),
        "RidgeSimilarity": lw.RidgeSimilarity(random_state=0).fit_relevance(relevance, queries, X),
        "RidgeBelief": lw.learners.RidgeBelief.learned(X[:20], X[20:40], np.eye(4), alpha=3.0),
        "LMNN": lw.LMNN(max_iter=20).fit(X, y),
        "NCA": lw.NCA(max_iter=9, random_state=0).fit(X, y),
        "RCA": lw.RCA().fit(X, y),
        "ITML": lw.ITML(random_state=0).fit(X, y),
        "LEGO": lw.LEGO(n_pairs=200, random_state=0).fit(X, y),
        "POLA": lw.POLA(200, random_state=0).fit(X, y),
        "MMC": lw.MMC(200, random_state=0).fit(X, y),
        "MCML": lw.MCML().fit(X, y),
        "MLKR": lw.MLKR(max_iter=9, random_state=0).fit(X, X[:, 0] * X[:, 1]),
        "SiLA": lw.SiLA(n_epochs=3).fit(np.abs(X), y),
        "sila-one-vs-rest": lw.SiLA(n_epochs=3, protocol="one_vs_rest").fit(np.abs(X), y),
        "SimilarityClassifier": lw.SimilarityClassifier(learner=lw.LMNN(max_iter=9)).fit(X, y),
        "classifier-softmax": lw.SimilarityClassifier(rule="softmax").fit(X, y, 1 + y),
        "classifier-labels": lw.SimilarityClassifier(weights="distance").fit(X, np.eye(3)[y]),
        "SimilarityRegressor": lw.SimilarityRegressor(weights="kernel").fit(X, X[:, 0] * X[:, 1]),
        "classifier-energy": lw.SimilarityClassifier(rule="energy").fit(X, y),
        "DBoost": lw.DBoost(n_rounds=10, random_state=0).fit(X, y),
        "dboost-words": lw.DBoost("levenshtein", n_rounds=5, random_state=0).fit(WORDS, KINDS),
        "dboost-quantized": lw.DBoost(
            distances.quantize("cityblock", 4), n_rounds=10, random_state=0
        ).fit(X, y),
        "dboost-ranked": lw.DBoost(distances.ranked("euclidean"), n_rounds=10, random_state=0).fit(
            X, y
        ),
        "classifier-cityblock": lw.SimilarityClassifier(similarity="cityblock").fit(X, y),
        "dboost-matrix": lw.DBoost("precomputed", n_rounds=5, random_state=0).fit(matrix, y),
        "BalancedWinnow": lw.BalancedWinnow().fit(X > 0, y == 1),
        "Winnow": lw.Winnow().fit(X > 0, y == 1),
        "LandmarkFeatures": lw.LandmarkFeatures(n_landmarks=7, random_state=0).fit(X),
        "DissimilaritySpace": lw.DissimilaritySpace(n_prototypes=5, random_state=0).fit(X, y),
        "MedianBinarizer": lw.MedianBinarizer().fit(X),
        "SimilarityFeatureClassifier": lw.SimilarityFeatureClassifier(random_state=0).fit(X, y),
        "Bilinear": lw.Bilinear(rng.normal(size=(4, 4)), norm="cosine"),
        "bilinear-dice": lw.Bilinear(1.0, norm="dice"),
        "Mahalanobis": lw.Mahalanobis(rng.normal(size=(2, 4))),
        "Ranked": lw.Ranked(X),
        "Naive": lw.Naive(),
        "Precomputed": lw.as_similarity("precomputed_distance"),
        "ItemOffsets": lw.ItemOffsets(["a", 3], rng.normal(size=(2, 4)), [1.0, 2.0], 0.5, X[0]),
        "Matcher": lw.Matcher(k=3).fit(*people()),
        "matcher-guess": lw.Matcher(k=3).fit(*people()[:2]),
        "TableModel": table,
        "Columns": table.columns,
        "VectorDistance": lw.as_similarity("chebyshev"),
        "StringDistance": lw.as_similarity("jaro_winkler"),
        "SeriesDistance": lw.as_similarity("dtw"),
        "AlignmentDistance": distances.AlignmentDistance(),
        "TransportDistance": lw.as_similarity("emd"),
        "ImageDistance": distances.ImageDistance(**image),
        "FuzzyImageDistance": distances.FuzzyImageDistance(0.5),
        "TangentDistance": distances.TangentDistance(**image),
        "QuantizedDistance": distances.quantize("euclidean", 3).fitted(X),
    }
    for engine in ("exact", "faiss", "usearch"):
        index = lw.Index(made["Bilinear"], engine, offsets=made["ItemOffsets"])
        made[f"index-{engine}"] = index.add([*map(str, range(59)), "a"], X.astype(np.float32))
    return made


def _table_model() -> Any:
    import pyarrow

    X, y = rows()
    table = pyarrow.table(
        {"width": X[:, 0], "height": X[:, 1], "kind": [WORDS[k] for k in y], "text": WORDS * 6}
    )
    columns = lw.tables.Columns(text=["text"]).fit(table)
    knn = lw.SimilarityClassifier().fit(columns.transform(table), y)
    return lw.tables.TableModel(columns, knn, target="sort")


def people() -> tuple[Any, Any, list[tuple[int, int, int]]]:
    """Return two tables of fruits, each once more with an error, and labels of pairs."""
    import pyarrow

    left = pyarrow.table({"id": range(10), "fruit": WORDS, "kind": KINDS})
    wrong = [f"{word[:2]}{word[3:]}s" for word in WORDS]
    right = pyarrow.table({"id": range(10), "fruit": wrong, "kind": KINDS})
    labels = [(row, row, 1) for row in range(4)] + [(row, row + 1, 0) for row in range(6)]
    return left, right, labels


def answers(name: str, model: Any) -> dict[str, np.ndarray]:
    """Return what a model answers, as arrays."""
    Q = asked(name)
    found: dict[str, Any] = {}
    if name.startswith("index-"):
        matches = model.search(rows(7, seed=1)[0], k=5)
        return {"ids": matches.ids.astype(str), "scores": matches.scores}
    if name in ("TableModel", "Columns"):
        import pyarrow

        rows_ = pyarrow.table(
            {"width": [0.5, 2.0], "height": [1.0, -1.0], "kind": ["fig", "plum"], "text": WORDS[:2]}
        )
        columns = model.columns if name == "TableModel" else model
        found["transform"] = columns.transform(rows_)
        if name == "TableModel":
            found["predict"] = model.predict(rows_)
        return {key: _dense(value) for key, value in found.items()}
    if name in ("Matcher", "matcher-guess"):
        left, right, labels = people()
        return {
            "match": np.asarray(model.match(left, right).pairs["probability"]),
            "predict_proba": model.predict_proba(left, right, labels),
            "transform": _dense(model.transform(left)),
        }
    if name == "ItemOffsets":
        return {"apply": model.apply(["a", "b", 3], rows(3, seed=1)[0])}
    if name == "RidgeBelief":
        triplets = np.random.default_rng(1).integers(7, size=(9, 3))
        return {"confidence": model.confidence(triplets, Q)}
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            given = Q > 0.5 if name.endswith("Winnow") else Q
            found[method] = getattr(model, method)(given)
    if hasattr(model, "score_variance"):
        found["score_variance"] = model.score_variance(Q, Q)
    if getattr(model, "similarities_", None) is not None:
        found["scores"] = [each.score(Q, Q) for each in model.similarities_]
    similarity = getattr(model, "similarity_", model)
    if name == "RankedDistance":
        found["distances"] = similarity.closer(Q, Q)
    elif name.endswith("Distance") and name not in _MATRIX:
        found["distances"] = similarity.distance(Q, Q)
    elif hasattr(similarity, "score_pairs") and name not in _MATRIX:
        found["score"] = similarity.score(Q, Q)
    if name in ("MatrixDistance", "Precomputed"):
        sign = -1 if name == "MatrixDistance" else 1
        found["distances"] = sign * similarity.score(Q, np.arange(60))
    return {key: _dense(value) for key, value in found.items()}


def _dense(value: Any) -> np.ndarray:
    return np.asarray(value.toarray() if hasattr(value, "toarray") else value)


def main() -> None:
    """Write what is missing."""
    FOLDER.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")
    made = models()
    inner = {"DiagonalState", "FactoredState", "FullState", "OasisState", "RidgeBelief", "Index"}
    inner |= {"Calibration", "Candidates", "Guess", "PairLearner", "PairModel"}
    missing = set(HOMES) - set(made) - inner
    assert not missing, missing
    for name, model in made.items():
        path = FOLDER / f"{name}.safetensors"
        if path.exists():
            continue
        told = {key: value.tolist() for key, value in answers(name, model).items()}
        assert told, name
        path.with_suffix(".json").write_text(json.dumps(told))
        lw.save(model, path)


if __name__ == "__main__":
    main()
