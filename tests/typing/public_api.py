"""Every public name, used as a user would: mypy checks this file.

>>> from pathlib import Path
>>> text = Path(__file__).read_text(encoding="utf8")
>>> [name for name in dir(lw) if f"lw.{name}" not in text]
[]
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, assert_type

import numpy as np
from sklearn.decomposition import PCA

import likewise as lw

Metric = Literal["inner_product", "cosine", "euclidean"]


def classify(X: np.ndarray, y: list[str]) -> np.ndarray:
    """Fit, predict, look at the neighbors."""
    clf = lw.SimilarityClassifier(learner=PCA(2), n_neighbors=5, rule="energy", c=0.5)
    fitted = clf.fit(X, y)
    assert_type(fitted, lw.SimilarityClassifier)
    assert_type(fitted.kneighbors(), lw.Matches)
    assert_type(fitted.kneighbors(X, n_neighbors=2).ids, np.ndarray)
    shares: np.ndarray | list[np.ndarray] = fitted.predict_proba(X)
    assert len(shares) == len(X)
    lw.SimilarityClassifier(similarity=lw.Mahalanobis(1.0), rule="softmax")
    weighted = lw.SimilarityClassifier(weights="distance").fit(X, y, sample_weight=np.ones(len(X)))
    assert_type(weighted, lw.SimilarityClassifier)
    lw.SimilarityClassifier(similarity="cosine")
    return fitted.predict(X)


def regress(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Predict numbers."""
    model = lw.SimilarityRegressor(lw.MLKR(), weights="kernel").fit(X, y, sample_weight=y > 0)
    assert_type(model, lw.SimilarityRegressor)
    assert_type(model.kneighbors(), lw.Matches)
    lw.SimilarityRegressor(similarity="cosine", n_neighbors=3, weights="uniform")
    return model.predict(X)


def learn(X: np.ndarray, y: list[str]) -> lw.Similarity:
    """Fit a learner, by itself or inside a classifier."""
    learner = lw.LMNN(n_neighbors=3, c=0.1)
    lw.SimilarityClassifier(learner=learner).fit(X, y)
    lw.SimilarityClassifier(learner=lw.SiLA("symmetric", norm="dice", tail=5)).fit(X, y)
    nca = lw.NCA(2, objective="accuracy", n_references=None, alpha=0.1, random_state=0)
    assert_type(nca.fit(X, y, sample_weight=np.ones(len(X))), lw.NCA)
    assert_type(nca.transform(X), np.ndarray)
    mlkr = lw.MLKR(init="pca", alpha="auto").fit(X, X[:, 0])
    assert_type(mlkr, lw.MLKR)
    assert_type(mlkr.predict(X), np.ndarray)
    assert_type(lw.RCA(2).fit(X, y, sample_weight=np.ones(len(X))), lw.RCA)
    assert_type(lw.MCML(tol=1e-3).fit(X, y), lw.MCML)
    learned: lw.Similarity = learner.fit(X, y).similarity_
    return learned


def learn_from_pairs(pairs: np.ndarray, y: np.ndarray, X: np.ndarray) -> lw.Mahalanobis:
    """Learn a distance from similar and dissimilar pairs."""
    itml = lw.ITML(0.1, init="covariance", bounds=(1.0, 4.0)).fit_pairs(pairs, y, X)
    assert_type(itml, lw.ITML)
    assert_type(lw.MMC(diagonal=True).fit_pairs(pairs, y, X), lw.MMC)
    assert_type(lw.LEGO(0.5).partial_fit_pairs(pairs, y, X), lw.LEGO)
    pola = lw.POLA(1000, random_state=0).partial_fit(X, y)
    assert_type(pola.threshold_, float)
    drawn, similar = lw.supervision.LabelPairs(y).draw(10, np.random.default_rng(0))
    assert_type(similar, np.ndarray)
    return itml.fit_pairs(drawn, similar, X).similarity_


def learn_online(triplets: np.ndarray, Q: np.ndarray, P: np.ndarray) -> lw.Bilinear:
    """Follow a stream, ask what is uncertain, merge."""
    aroma = lw.AROMA("factored", r=0.1, forget=0.01, random_state=0)
    aroma.partial_fit_triplets(triplets, Q, P, weights=np.ones(len(triplets)))
    assert_type(aroma.score_variance(Q, P), np.ndarray)
    assert_type(aroma.confidence(triplets, Q, P), np.ndarray)
    assert_type(aroma.most_informative(triplets, Q, P, n=5), np.ndarray)
    assert_type(aroma.similarity_, lw.Bilinear)
    merged: lw.AROMA = lw.AROMA.merge([aroma, aroma], start=None)
    chosen = lw.AROMA("full", r="auto", update="mistake").fit(Q, [0] * len(Q))
    assert_type(chosen.r_, float)
    assert_type(lw.OASIS("auto").fit(Q, [0] * len(Q)).C_, float)
    oasis = lw.OASIS(C=0.1, init=merged.similarity_, normalize=True)
    oasis.fit_triplets("triplets.parquet", Q, P)
    oasis.fit_relevance(np.eye(len(Q)), Q, weights=np.eye(len(Q)))
    oasis.fit_pairs([[0, 1]], [1], Q, P)
    assert_type(oasis.score(Q, ["a"] * len(Q)), float)
    return oasis.similarity_


def learn_in_closed_form(relevance: np.ndarray, Q: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Learn a bilinear form and offsets of the items."""
    ridge = lw.RidgeSimilarity(new_items="protect", random_state=0)
    ridge.fit_relevance(relevance, Q, P, item_ids=list(range(len(P))))
    offsets = ridge.offsets_
    assert isinstance(offsets, lw.ItemOffsets)
    return np.asarray(offsets.apply(list(range(len(P))), P))


def draw_triplets(y: np.ndarray, relevance: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Draw triplets from what there is."""
    rng = np.random.default_rng(0)
    sources: list[lw.supervision.TripletSource] = [
        lw.supervision.LabelTriplets(y),
        lw.supervision.RelevanceTriplets(relevance, negatives="judged", hard=0.5),
    ]
    triplets, weights = lw.supervision.click_triplets(shown, bias=0.7, n_after=2)
    assert_type(weights, np.ndarray)
    assert_type(lw.supervision.position_weights([1, 2], bias=1.0, maximum=5.0), np.ndarray)
    return np.vstack([triplets, *(source.draw(10, rng) for source in sources)])


def make_similarities() -> list[lw.Similarity]:
    """Make one of every kind."""
    words = lw.from_distance(lambda a, b: abs(len(a) - len(b)), symmetric=True)
    return [
        lw.as_similarity("cosine"),
        lw.as_similarity(PCA(2)),
        lw.Mahalanobis([[1.0, 0.0], [0.0, 2.0]]),
        lw.Mahalanobis(np.eye(2)),
        lw.Bilinear([1.0, 2.0], norm="dice"),
        lw.Precomputed(is_distance=True),
        lw.from_callable(lambda a, b: len(a) + len(b)),
        words,
    ]


def boost(words: list[str], X: np.ndarray, y: list[str]) -> np.ndarray:
    """Classify by a dissimilarity, and make features of it."""
    fitted = lw.DBoost("levenshtein", n_rounds=10, n_prototypes=4, max_depth=2).fit(words, y)
    assert_type(fitted, lw.DBoost)
    assert_type(fitted.decision_function(words), np.ndarray)
    lw.DissimilaritySpace("cityblock", n_prototypes=3, width=1.0).fit(X).transform(X)
    return next(fitted.staged_predict(words))


def compare_objects(words: list[str], X: np.ndarray) -> np.ndarray:
    """Compare by a name, a function, or in levels."""
    edits = lw.as_similarity("levenshtein")
    assert_type(edits, lw.Similarity)
    assert_type(lw.from_distance("dtw"), lw.Similarity)
    lw.from_distance(lambda a, b: abs(len(a) - len(b))).distance(words, words)
    levels = lw.distances.quantize("euclidean", 5).fitted(X)
    assert_type(lw.distances.ranked(lw.distances.TangentDistance((4, 4))).fitted(X), lw.Ranked)
    return edits.distance(words, words) + levels.distance(X, X)


def use(similarity: lw.Similarity, Q: np.ndarray, P: np.ndarray) -> float:
    """Score, search, explain."""
    assert_type(similarity.score(Q, P), np.ndarray)
    assert_type(similarity.score_pairs(Q, P), np.ndarray)
    assert_type(similarity.takes, Literal["rows", "objects", "matrix"])
    assert_type(similarity.has_distance, bool)
    assert_type(similarity.is_symmetric, bool)
    matches = similarity.neighbors(Q, P, k=3, exclude_self=True)
    assert_type(matches, lw.Matches)
    pairs: list[tuple[Any, float]] = matches.row(0)
    explanation = similarity.explain(Q[0], P[0], ["a"], ["b"], top=None)
    assert_type(explanation, lw.Explanation)
    strongest = max(explanation, key=lambda term: abs(term.contribution))
    label: str = strongest.query_feature + strongest.item_feature
    return explanation.rest + explanation.score + len(pairs) + len(label) + len(explanation)


def fold(similarity: lw.Foldable, Q: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Search with any index."""
    metric: Metric = similarity.folded_metric
    queries, items = similarity.fold_queries(Q), similarity.fold_items(P, metric)
    return similarity.unfold_scores(queries @ items.T, Q, metric=metric)


def fold_both(Q: np.ndarray, P: np.ndarray) -> None:
    """Both linear similarities fold; of a Mahalanobis there is also the distance."""
    fold(lw.Mahalanobis(1.0), Q, P)
    fold(lw.Bilinear(1.0, "cosine"), Q, P)
    assert_type(lw.Mahalanobis(1.0).distance(Q, P), np.ndarray)
    assert_type(lw.Mahalanobis(1.0).L, np.ndarray)
    assert_type(lw.Bilinear(1.0).W, np.ndarray)
    assert_type(lw.Bilinear(1.0).norm, Literal["none", "cosine", "dice", "jaccard"])


def keep(similarity: lw.Similarity, path: Path) -> lw.Similarity:
    """Save and load."""
    similarity.save(path)
    similarity.save("shoes.safetensors")
    lw.save(similarity, path)
    loaded: lw.Similarity = lw.load(path)
    return loaded


def search(Q: np.ndarray, P: np.ndarray) -> float:
    """Keep items under ids, search them, tune, and learn anew."""
    index = lw.Index(lw.Bilinear(1.0), engine="auto", fold="both")
    assert_type(index.add(range(len(P)), P, fields={"n": [1] * len(P)}), lw.Index)
    assert_type(index.update([0], P[:1]).remove([1]), lw.Index)
    assert_type(index.search(Q, k=3, where={"n": [1, None]}), lw.Matches)
    assert_type(index.search("shoe", where=["boot", 3]).ids, np.ndarray)
    index.search(Q, where=lw.index.SQL("id > %s", (3,)))
    tuned = index.tune(recall=0.9, queries=Q)
    assert_type(tuned, lw.index.Tuning)
    assert_type(index.swap(lw.Mahalanobis(1.0)).served_recall(Q, k=5), float)
    assert_type((index.engine, index.reason, len(index)), tuple[str, str, int])
    index.save(Path("index"))
    return tuned.recall


def evaluate(X: np.ndarray, y: np.ndarray) -> str:
    """Compare, and measure a search."""
    comparison = lw.compare({"a": lw.SimilarityClassifier()}, X, y, cv=3, verbose=True)
    assert_type(comparison, lw.Comparison)
    assert_type(comparison.scores, Mapping[str, np.ndarray])
    assert_type(comparison.p_value(comparison.best), float)
    retrieval = lw.evaluate_retrieval("cosine", X, labels=y, k=(1, 5), depth=100)
    assert_type(retrieval, lw.RetrievalReport)
    assert_type(retrieval["map"], float)
    assert_type(retrieval.means(), dict[str, float])
    lw.evaluate_retrieval(lw.Bilinear(1.0), X, X, relevance=np.eye(len(X)), k=5)
    apart = lw.evaluate_retrieval("cosine", X, labels=y, trained_on=np.arange(len(X)) < 3)
    assert_type(apart.seen, lw.RetrievalReport | None)
    return comparison.table().to_markdown() + str(retrieval.table())


def landmarks(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Make features of similarities, learn on them, and tell how good a similarity is."""
    assert_type(lw.Ranked(X, "cosine", transductive=True).closer(X, X), np.ndarray)
    features = lw.LandmarkFeatures(lw.Naive(), 50, boolean=(0.1, 0.2), base="euclidean")
    assert_type(features.fit(X), lw.LandmarkFeatures)
    booleans: np.ndarray = lw.MedianBinarizer().fit(X).transform(X)
    winnow = lw.BalancedWinnow(margin=0.2).partial_fit(booleans, y, classes=[0, 1])
    assert_type(winnow.fit(booleans, y), lw.BalancedWinnow)
    assert_type(lw.Winnow(threshold=2.0).fit(booleans, y), lw.Winnow)
    report = lw.goodness("ranked", X, y, form="mean")
    assert_type(report, lw.Goodness)
    assert_type(report.gamma(0.1) + report.epsilon(0.1) + report.pseudo_gamma, float)
    assert_type(lw.metrics.sampling_error(10, 100), float)
    return lw.SimilarityFeatureClassifier(use="both", classifier=winnow).fit(X, y).predict(X)


def tables(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Read a table, choose a learner, and use the model on tables."""
    table = lw.tables.read_table("wine", target="target")
    assert_type(table, lw.tables.Table)
    assert_type(lw.tables.Columns(scale="range").fit(table.rows), lw.tables.Columns)
    found = lw.selection.select(table.rows, table.labels, budget=60.0)
    assert_type(found, lw.selection.Selection)
    model = found.fit(table.rows, table.labels)
    assert_type(model, lw.tables.TableModel)
    assert_type(model.neighbors(table.rows, table.rows, 3), lw.Matches)
    return model.score(table.rows, table.rows)


def match(left: Any, right: Any, labeled: Any) -> np.ndarray:
    """Match the records of two tables."""
    matcher = lw.Matcher(k=5, one_to_one=True).fit(left, right, labeled)
    assert_type(matcher, lw.Matcher)
    assert_type(matcher.learn(matcher.ask(10)), lw.Matcher)
    assert_type(matcher.match(left, right).threshold, float)
    assert_type(matcher.explain("a", "b").probability, float)
    return matcher.predict_proba(left, right, labeled)


def measure(gains: np.ndarray, n_relevant: np.ndarray) -> None:
    """Call the pure functions."""
    assert_type(lw.metrics.precision_at(gains, 5), np.ndarray)
    assert_type(lw.metrics.recall_at(gains, 5, n_relevant), np.ndarray)
    assert_type(lw.metrics.ndcg_at(gains, 5, ideal=gains), np.ndarray)
    assert_type(lw.metrics.average_precision(gains, n_relevant), np.ndarray)
    assert_type(lw.metrics.reciprocal_rank(gains), np.ndarray)
    assert_type(lw.metrics.majority_votes(gains, n_classes=3), np.ndarray)


def on_a_cluster(X: np.ndarray, y: np.ndarray, triplets: np.ndarray, client: Any) -> np.ndarray:
    """Do the same on a cluster."""
    with lw.distributed.run_on(client, 10, 1000, checkpoint="rounds.safetensors") as run:
        aroma = lw.AROMA(r=0.1).fit_triplets(triplets, X)
        assert_type(run.finished_rounds, list[dict[str, Any]])
    with lw.distributed.run_on(4):
        assert_type(lw.LMNN().fit(X, y), lw.LMNN)
        lw.LandmarkFeatures(sample_size=100).fit("rows.npy").transform(X, out="out.npy")
        items = lw.distributed.read_parquet("items", ["a", "b"])
        assert_type(aroma.similarity_.neighbors(X, items, 5), lw.Matches)
        assert_type(lw.evaluate_retrieval("cosine", X, labels=y), lw.RetrievalReport)
        lost: type[ConnectionError] = lw.exceptions.ClusterLostError
        assert issubclass(lost, OSError)
        return lw.SimilarityClassifier().fit(X, y).predict("rows.npy")


def open_data() -> list[str]:
    """Load a set, show progress, catch what may go wrong."""
    with lw.show_progress():
        try:
            data = lw.datasets.load("iris")
        except lw.exceptions.DatasetUnavailableError:
            return []
    assert_type(data, lw.datasets.Dataset)
    return [*lw.datasets.names(), lw.__version__]
