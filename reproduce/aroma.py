"""AROMA and OASIS: retrieval of newsgroup posts, images and abstracts, before and after."""

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np

from likewise import datasets
from likewise._threads import slices
from likewise.exceptions import DatasetUnavailableError
from likewise.learners import AROMA, OASIS
from likewise.metrics import average_precision, precision_at
from likewise.similarities import as_similarity
from likewise.supervision import LabelTriplets
from reproduce._datasets import load
from reproduce._frame import Row
from reproduce._texts import KINDS, Texts, load_texts

PAPER = (
    "Crammer and Chechik: Adaptive Regularization for Weight Matrices (2012); precision at 1, 10 "
    "and 50 and mean average precision"
)

_SPLITS = 5
_TRAIN_SHARE = 0.65
_TERMS = 1000
_AT = (1, 10, 50)
_CHECKPOINTS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 500_000)
_TABLED = (10_000, 100_000, 500_000)
_MAX_FACTORED = 100_000  # triplets; with a thousand features they are slow, and it has converged
_RATES = (0.01, 0.1, 1.0, 10.0)
_CONSTRAINTS_OF_ITML = 2_000  # of a thousand features: each moves a million numbers
_QUERIES_AT_A_TIME = 512

Split = tuple[Any, np.ndarray, Any, np.ndarray]
_curves: dict[str, dict[str, list[tuple[float, float]]]] = {}


def rows(only: str = "") -> Iterator[Row]:
    """Yield precisions and gains of each setting."""
    for name, measure in _SETTINGS.items():
        if only.lower() not in name.lower():
            continue
        try:
            yield from measure(name)
        except DatasetUnavailableError as error:
            yield Row(name, "all", None, None, note=str(error))


def figures(rows: list[Row]) -> Iterable[tuple[str, Any]]:
    """Yield precision against triplets, against r, and against the number of answers."""
    from matplotlib.figure import Figure

    for title, curves in _curves.items():
        figure = Figure(figsize=(5, 3.5), layout="constrained")
        ax = figure.subplots()
        for label, points in curves.items():
            ax.plot(*zip(*points, strict=True), "o-", markersize=3, label=label)
        xlabel, ylabel = _AXES[title]
        ax.set(xlabel=xlabel, ylabel=ylabel, xscale="linear" if "answers" in xlabel else "log")
        ax.legend(fontsize=8)
        yield title, figure


_AXES = {
    "triplets": ("triplets", "precision at 10, 20 newsgroups"),
    "sensitivity": ("r", "precision at 10 after 100,000 triplets"),
    "teaching": ("answers", "mean average precision, USPS"),
}


def _news(name: str) -> Iterator[Row]:
    """Yield identity, OASIS with a validated C, ITML and both forms of AROMA on five splits."""
    counts, y = _news_counts()
    found: dict[str, list[np.ndarray]] = {}
    for seed in range(_SPLITS):
        split = _news_split(counts, y, seed)
        found.setdefault("identity", []).append(_measures(as_similarity("cosine"), *split[2:]))
        chosen = _validated_C(*split[:2], seed)
        learners = {
            "OASIS": OASIS(chosen),
            "diagonal AROMA r=1": AROMA(r=1.0),
            "factored AROMA r=.1": AROMA("factored", r=0.1),
        }
        for method, learner in learners.items():
            for n, measured in _along_the_way(method, learner, split, seed):
                found.setdefault(f"{method}, {n:,} triplets", []).append(measured)
        if seed == 0:
            _sensitivity(split)
    itml = _itml(_news_split(counts, y, 0))
    for method, of_splits in found.items():
        yield from _precision_rows(name, method, np.array(of_splits), f"{_SPLITS} splits")
    if isinstance(itml, str):
        yield Row(name, "ITML", None, None, note=itml)
    else:
        note = f"metric-learn, {_CONSTRAINTS_OF_ITML} pairs once, not converged; 1 split"
        yield from _precision_rows(name, "ITML", itml[None], note)


def _precision_rows(
    setting: str, method: str, measured: np.ndarray, note: str, published: float | None = None
) -> Iterator[Row]:
    mean, deviation = measured.mean(axis=0), measured.std(axis=0)
    for column, measure in enumerate((*(f"p@{k}" for k in _AT), "mAP")):
        yield Row(
            setting,
            f"{method}: {measure}",
            published if measure == "p@1" else None,
            float(mean[column]),
            float(deviation[column]),
            note,
        )


@functools.cache
def _news_counts() -> tuple[Any, np.ndarray]:
    """Return the counts of words in each post, without stop words."""
    from sklearn.feature_extraction.text import CountVectorizer

    data: Any = load("news20")
    texts = [*data.X, *data.X_test]
    counts = CountVectorizer(stop_words="english", min_df=3).fit_transform(texts)
    return counts, np.concatenate([data.y, data.y_test])


def _news_split(counts: Any, y: np.ndarray, seed: int) -> Split:
    """Return a random split in tf-idf of the thousand most informative terms."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [int(_TRAIN_SHARE * len(y))])
    terms = np.sort(np.argsort(-_information_gain(counts[train], y[train]))[:_TERMS])
    X, X_test = _tfidf(counts[train][:, terms], counts[test][:, terms])
    return X, y[train], X_test, y[test]


def _tfidf(counts: Any, test_counts: Any) -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import TfidfTransformer

    weighting = TfidfTransformer().fit(counts)
    return tuple(weighting.transform(part).astype(np.float32) for part in (counts, test_counts))


def _information_gain(counts: Any, y: np.ndarray) -> np.ndarray:
    """Return the mutual information of the presence of each term and the class, in nats."""
    classes = np.unique(y)
    present = np.vstack([np.asarray((counts[y == c] > 0).sum(axis=0)).ravel() for c in classes])
    sizes = np.bincount(np.searchsorted(classes, y))[:, None]
    gain = np.zeros(counts.shape[1])
    for occurs, total in ((present, present.sum(axis=0)), (sizes - present, None)):
        total = occurs.sum(axis=0) if total is None else total
        joint = occurs / len(y)
        apart = (sizes / len(y)) * (total / len(y))
        ratio = np.divide(joint, apart, out=np.ones_like(apart), where=joint > 0)
        gain += (joint * np.log(ratio)).sum(axis=0)
    return gain


def _validated_C(X: Any, y: np.ndarray, seed: int) -> float:
    """Return the C, of 0.1 and 1, that ranks a held-out fifth of the training rows better."""
    held = np.random.default_rng(seed).random(len(y)) < 0.2

    def precision(C: float) -> float:
        learner = OASIS(C, n_triplets=100_000, early_stopping=False, random_state=seed)
        return _measures(learner.fit(X[~held], y[~held]).similarity_, X[held], y[held])[-1]

    return max((0.1, 1.0), key=precision)


def _along_the_way(
    method: str, learner: Any, split: Split, seed: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield test precisions at the tabulated numbers of triplets; the first split is drawn."""
    X, y, X_test, y_test = split
    source, rng = LabelTriplets(y), np.random.default_rng(seed)
    seen = 0
    for n in _CHECKPOINTS:
        if isinstance(learner, AROMA) and learner.covariance == "factored" and n > _MAX_FACTORED:
            return
        learner.partial_fit_triplets(source.draw(n - seen, rng), X)
        seen = n
        if n in _TABLED or seed == 0:
            measured = _measures(learner.similarity_, X_test, y_test)
            if seed == 0:
                curve = _curves.setdefault("triplets", {}).setdefault(method, [])
                curve.append((n, float(measured[1])))
            if n in _TABLED:
                yield n, measured


def _sensitivity(split: Split) -> None:
    """Draw the precision after 100,000 triplets against r."""
    X, y, X_test, y_test = split
    triplets = LabelTriplets(y).draw(100_000, np.random.default_rng(0))
    for covariance in ("diagonal", "factored"):
        curve = _curves.setdefault("sensitivity", {}).setdefault(covariance, [])
        for r in _RATES:
            learner = AROMA(covariance, r=r).fit_triplets(triplets, X)
            curve.append((r, float(_measures(learner.similarity_, X_test, y_test)[1])))


def _measures(similarity: Any, X: Any, y: np.ndarray) -> np.ndarray:
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
        found.append(
            np.column_stack(
                [
                    *(precision_at(judged, k) for k in _AT),
                    average_precision(judged, n_relevant),
                ]
            )
        )
    return np.asarray(np.concatenate(found).mean(axis=0))


def _itml(split: Split) -> np.ndarray | str:
    """Return the measures of metric-learn's ITML, or why there are none."""
    try:
        import metric_learn
    except ImportError:
        return "metric-learn is not installed"
    X, y, X_test, y_test = split
    learner = metric_learn.ITML_Supervised(
        n_constraints=_CONSTRAINTS_OF_ITML, max_iter=1, random_state=0
    )
    try:
        with _renamed_argument(metric_learn._util), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the note says that it has not converged
            learner.fit(X.toarray().astype(np.float64), y)
            learned = as_similarity(learner)
    except TypeError as error:
        return f"metric-learn does not run with this scikit-learn: {error}"
    return _measures(learned, X_test.toarray(), y_test)


@contextmanager
def _renamed_argument(module: Any) -> Iterator[None]:
    """Adapt metric-learn 0.7.0 to scikit-learn 1.8, which renamed `force_all_finite`."""
    names = ("check_array", "check_X_y")
    originals = {name: getattr(module, name) for name in names}

    def translated(check: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, force_all_finite: Any = True, **options: Any) -> Any:
            return check(*given, ensure_all_finite=force_all_finite, **options)

        return call

    for name, check in originals.items():
        setattr(module, name, translated(check))
    try:
        yield
    finally:
        for name, check in originals.items():
            setattr(module, name, check)


def _images(name: str) -> Iterator[Row]:
    """Yield figures on bags of visual words of ten classes, in tf-idf, on five random splits."""
    data = load("caltech10_office_surf")
    learners = {
        "OASIS": lambda seed: OASIS(random_state=seed),
        "diagonal AROMA": lambda seed: AROMA(random_state=seed),
        "factored AROMA": lambda seed: AROMA("factored", r=0.1, random_state=seed),
    }
    published = {"OASIS": 0.22, "diagonal AROMA": 0.33, "factored AROMA": 0.33}
    found: dict[str, list[np.ndarray]] = {}
    for seed in range(_SPLITS):
        order = np.random.default_rng(seed).permutation(len(data.y))
        train, test = np.split(order, [int(_TRAIN_SHARE * len(order))])
        X, X_test = _tfidf(data.X[train], data.X[test])
        found.setdefault("identity", []).append(
            _measures(as_similarity("cosine"), X_test, data.y[test])
        )
        for method, make in learners.items():
            learner = make(seed).set_params(n_triplets=200_000).fit(X, data.y[train])
            found.setdefault(method, []).append(
                _measures(learner.similarity_, X_test, data.y[test])
            )
    for method, measured in found.items():
        note = f"{_SPLITS} splits; the paper had 50 other classes and 1,000 words"
        yield from _precision_rows(name, method, np.array(measured), note, published.get(method))


def _scifact(name: str) -> Iterator[Row]:
    """Learn from the training claims, measure on the test claims."""
    yield from _retrieval(name, [load_texts("scifact_minilm")] * 3)


def _cranfield(name: str) -> Iterator[Row]:
    """Learn from four fifths of the queries, measure on the other fifth, for each fifth."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.model_selection import KFold

    data = datasets.load_retrieval("cranfield")
    weighting = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=2)
    items = weighting.fit_transform(data.documents).astype(np.float32)
    queries = weighting.transform(data.queries).astype(np.float32)
    folds = KFold(5, shuffle=True, random_state=0).split(queries)
    relevance = data.relevance.tocsr()
    yield from _retrieval(name, [Texts(items, queries, relevance, *fold) for fold in folds])


def _retrieval(name: str, runs: list[Texts]) -> Iterator[Row]:
    learners: dict[str, Callable[[int], Any]] = {
        "OASIS": lambda seed: OASIS(random_state=seed),
        "diagonal AROMA": lambda seed: AROMA(random_state=seed),
        "diagonal AROMA, hard negatives": lambda seed: AROMA(hard_negatives=0.5, random_state=seed),
        "factored AROMA": lambda seed: AROMA("factored", random_state=seed),
    }
    if runs[0].queries.shape[1] > _TERMS:
        del learners["factored AROMA"]  # needs dense matrices of all terms for every block
    found: dict[str, list[np.ndarray]] = {}
    kept: dict[str, int] = {}
    for seed, texts in enumerate(runs):
        found.setdefault("base: cosine", []).append(texts.ndcg("cosine"))
        for method, make in learners.items():
            learner = make(seed).set_params(n_triplets=100_000)
            learner.fit_relevance(
                texts.relevance[texts.train], texts.queries[texts.train], texts.documents
            )
            found.setdefault(method, []).append(texts.ndcg(learner.similarity_))
            kept[method] = kept.get(method, 0) + (learner.validation_["share"] == 0)
    for method, values in found.items():
        note = f"nDCG@10, {len(runs)} runs"
        if method in kept:
            note += f", start kept in {kept[method]}"
        for kind, measured in zip(KINDS, np.transpose(values), strict=True):
            mean, deviation = float(measured.mean()), float(measured.std())
            yield Row(name, f"{method}: {kind}", None, mean, deviation, note)


def _merging(name: str) -> Iterator[Row]:
    """Learn on shards and merge them in rounds, beside one run on all triplets."""
    X, y, X_test, y_test = _usps()
    n_triplets, n_rounds = 50_000, 10
    triplets = LabelTriplets(y).draw(n_triplets, np.random.default_rng(0))
    single = AROMA().fit_triplets(triplets, X)
    yield Row(name, "identity", None, _mean_precision(as_similarity("cosine"), X_test, y_test))
    yield Row(name, "one run", None, _mean_precision(single.similarity_, X_test, y_test))
    for n_shards in (2, 8):
        current: Any = None
        for batch in np.array_split(triplets, n_rounds):
            shards = []
            for part in np.array_split(batch, n_shards):
                shard = AROMA() if current is None else deepcopy(current)
                shards.append(shard.partial_fit_triplets(part, X))
            current = AROMA.merge(shards, start=current)
        precision = _mean_precision(current.similarity_, X_test, y_test)
        yield Row(name, f"{n_shards} shards", None, precision, note=f"{n_rounds} rounds")


def _teaching(name: str) -> Iterator[Row]:
    """Compare the most informative questions with random ones by the number of answers."""
    X, y, X_test, y_test = _usps(most=1500)
    asked, at_a_time, n_candidates, n_seeds = 1200, 20, 3000, 3
    curves: dict[str, list[list[float]]] = {"most informative": [], "any": []}
    for way, found in curves.items():
        for seed in range(n_seeds):
            rng, source = np.random.default_rng(seed), LabelTriplets(y)
            learner = AROMA("factored", r=0.1).fit_triplets(source.draw(at_a_time, rng), X)
            precisions = []
            for n_answers in range(2 * at_a_time, asked + 1, at_a_time):
                candidates = source.draw(n_candidates, rng)
                chosen = candidates[:at_a_time]
                if way == "most informative":
                    chosen = learner.most_informative(candidates, X, n=at_a_time)
                learner.partial_fit_triplets(chosen, X)
                if n_answers % 100 == 0:
                    precisions.append(_mean_precision(learner.similarity_, X_test, y_test))
            found.append(precisions)
    answers = np.arange(1, asked // 100 + 1) * 100
    means = {way: np.mean(found, axis=0) for way, found in curves.items()}
    _curves["teaching"] = {
        way: list(zip(answers.tolist(), mean.tolist(), strict=True)) for way, mean in means.items()
    }
    goal = means["any"][-1]
    for way, mean in means.items():
        needed = answers[np.argmax(mean >= goal)]
        note = f"reaches {goal:.3f} with {needed} answers; {n_seeds} runs"
        yield Row(name, f"{way}: mAP after {asked}", None, float(mean[-1]), note=note)


def _usps(most: int = 7291) -> Split:
    data: Any = load("usps")
    rng = np.random.default_rng(0)
    train, test = rng.permutation(len(data.y))[:most], rng.permutation(len(data.y_test))[:1000]
    return data.X[train], data.y[train], data.X_test[test], data.y_test[test]


def _mean_precision(similarity: Any, X: Any, y: np.ndarray) -> float:
    return float(_measures(similarity, X, y)[-1])


_SETTINGS: dict[str, Callable[[str], Iterator[Row]]] = {
    "20 newsgroups": _news,
    "caltech10 visual words": _images,
    "SciFact embeddings": _scifact,
    "Cranfield tf-idf": _cranfield,
    "USPS, merged shards": _merging,
    "USPS, teaching": _teaching,
}
