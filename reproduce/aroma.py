"""AROMA and OASIS: retrieval of newsgroup posts, images and abstracts, before and after."""

import functools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from likewise import datasets
from likewise.exceptions import DatasetUnavailableError
from likewise.learners import AROMA, OASIS
from likewise.similarities import as_similarity
from likewise.supervision import LabelTriplets
from reproduce._datasets import load
from reproduce._frame import Row
from reproduce._newsgroups import TRAIN_SHARE, news_splits
from reproduce._retrieval import (
    Measure,
    Split,
    best_value,
    chosen_values,
    measures,
    precision_rows,
)
from reproduce._texts import KINDS, Texts, load_texts
from reproduce._visual_words import IMAGE_RIVALS, image_identity, image_learner

PAPER = (
    "Crammer and Chechik: Adaptive Regularization for Weight Matrices (2012); precision at 1, 10 "
    "and 50 and mean average precision"
)

_SPLITS = 5
_CHECKPOINTS = (1_000, 10_000, 100_000, 500_000)
_RATES = (0.01, 0.1, 1.0, 10.0)  # r of AROMA
_STEPS = (0.001, 0.01, 0.1, 0.3, 1.0)  # C of OASIS
# Triplets with which a rate is validated; of small sets; of queries and documents; of random ones.
_N_VALIDATED, _N_SMALL, _N_RELEVANCE, _N_RANDOM = 100_000, 20_000, 100_000, 3_000
_N_DRAWS = 200  # of random labels or relevance

_curves: dict[str, dict[str, list[tuple[float, float]]]] = {}


def rows(only: str = "") -> Iterator[Row]:
    """Yield precisions and gains; `only` is part of a setting, or of "setting: method"."""
    for setting, methods in _SETTINGS.items():
        for method, measure in methods.items():
            if only.lower() not in f"{setting}: {method}".lower():
                continue
            try:
                yield from measure(setting, method)
            except DatasetUnavailableError as error:
                yield Row(setting, method, None, None, note=str(error))


def figures(rows: list[Row]) -> Iterable[tuple[str, Any]]:
    """Yield precision against triplets, against r, and against the number of answers."""
    curves = {
        "triplets": _curve(rows, _NEWS, r"(.*), ([\d,]+) triplets: p@10"),
        "sensitivity": _curve(rows, _SENSITIVITY, r"(.*), r = ([\d.]+): p@10"),
        **_curves,
    }
    from matplotlib.figure import Figure

    for title, lines in curves.items():
        if not lines:
            continue
        figure = Figure(figsize=(5, 3.5), layout="constrained")
        ax = figure.subplots()
        for label, points in lines.items():
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
_NEWS, _SENSITIVITY = "20 newsgroups", "20 newsgroups, one split"


def _curve(rows: list[Row], setting: str, pattern: str) -> dict[str, list[tuple[float, float]]]:
    """Return the points of each method of a setting whose rows have a number in their name."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        found = re.fullmatch(pattern, row.method)
        if row.setting == setting and found and row.ours is not None:
            x = float(found[2].replace(",", ""))
            lines.setdefault(found[1], []).append((x, row.ours))
    return {label: sorted(points) for label, points in lines.items()}


# 20 newsgroups.


def _identity(setting: str, method: str) -> Iterator[Row]:
    measured = [measures(as_similarity("cosine"), *split[2:]) for split in news_splits(_SPLITS)]
    yield from precision_rows(setting, method, measured, f"{_SPLITS} splits")


def _online(name: str, grid: tuple[float, ...], make: Callable[[float], Any]) -> Measure:
    """Return the figures of a learner along its way, with a rate chosen within the training part.

    Parameters
    ----------
    name : {"r", "C"}
    grid : rates
    make : callable from a rate to a learner
    """

    def measure(setting: str, method: str) -> Iterator[Row]:
        found: dict[int, list[np.ndarray]] = {}
        chosen = []
        for seed, (X, y, X_test, y_test) in enumerate(news_splits(_SPLITS)):

            def learned(rate: float, X: Any, y: np.ndarray, seed: int = seed) -> Any:
                triplets = LabelTriplets(y).draw(_N_VALIDATED, np.random.default_rng(seed))
                return make(rate).fit_triplets(triplets, X).similarity_

            chosen.append(best_value(learned, grid, X, y, seed))
            learner, source = make(chosen[-1]), LabelTriplets(y)
            rng, seen = np.random.default_rng(seed), 0
            for n in _CHECKPOINTS:
                learner.partial_fit_triplets(source.draw(n - seen, rng), X)
                seen = n
                found.setdefault(n, []).append(measures(learner.similarity_, X_test, y_test))
        note = f"{_SPLITS} splits; {chosen_values(name, chosen)}"
        for n, measured in found.items():
            yield from precision_rows(setting, f"{method}, {n:,} triplets", measured, note)

    return measure


def _sensitivity(setting: str, method: str) -> Iterator[Row]:
    """Yield the precision after 100,000 triplets of one split for each r."""
    X, y, X_test, y_test = next(news_splits(_SPLITS))
    triplets = LabelTriplets(y).draw(_N_VALIDATED, np.random.default_rng(0))
    for r in _RATES:
        learner = AROMA(method.split()[0], r=r).fit_triplets(triplets, X)
        measured = [measures(learner.similarity_, X_test, y_test)]
        yield from precision_rows(setting, f"{method}, r = {r:g}", measured, "1 split")


# Full covariance.


def _small(covariance: str, update: str) -> Measure:
    """Return the figures of a covariance on rows of few features, with r validated."""

    def measure(setting: str, method: str) -> Iterator[Row]:
        measured, chosen = [], []
        for seed, (X, y, X_test, y_test) in enumerate(_small_splits(setting.partition(",")[0])):

            def learned(r: float, X: Any, y: np.ndarray, seed: int = seed) -> Any:
                triplets = LabelTriplets(y).draw(_N_SMALL, np.random.default_rng(seed))
                return AROMA(covariance, r=r, update=update).fit_triplets(triplets, X).similarity_

            chosen.append(best_value(learned, _RATES, X, y, seed))
            measured.append(measures(learned(chosen[-1], X, y), X_test, y_test))
        note = f"{_SPLITS} splits, {_N_SMALL:,} triplets; {chosen_values('r', chosen)}"
        yield from precision_rows(setting, method, measured, note)

    return measure


def _small_identity(setting: str, method: str) -> Iterator[Row]:
    splits = _small_splits(setting.partition(",")[0])
    measured = [measures(as_similarity("cosine"), *split[2:]) for split in splits]
    yield from precision_rows(setting, method, measured, f"{_SPLITS} splits")


def _small_splits(name: str) -> Iterator[Split]:
    """Yield random splits of at most 3,000 standardized rows."""
    data: Any = load(name)
    X, y = np.asarray(data.X, dtype=np.float64), data.y
    for seed in range(_SPLITS):
        order = np.random.default_rng(seed).permutation(len(y))[:3000]
        train, test = np.split(order, [int(TRAIN_SHARE * len(order))])
        mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
        deviation[deviation == 0] = 1
        parts = ((X[part] - mean) / deviation for part in (train, test))
        X_train, X_test = parts
        yield X_train, y[train], X_test, y[test]


# Queries and documents.


def _retrieval(make: Callable[[int], Any]) -> Measure:
    """Return nDCG@10 of a learner that holds out queries and items itself."""

    def measure(setting: str, method: str) -> Iterator[Row]:
        found, n_kept = [], 0
        runs = _TEXTS[setting]()
        for seed, texts in enumerate(runs):
            learner = make(seed).set_params(n_triplets=_N_RELEVANCE)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*the start is kept")
                learner.fit_relevance(
                    texts.relevance[texts.train], texts.queries[texts.train], texts.documents
                )
            found.append(texts.ndcg(learner.similarity_))
            n_kept += not learner.validation_["published"]
        note = f"nDCG@10, {len(runs)} runs, start kept in {n_kept}"
        yield from _ndcg_rows(setting, method, found, note)

    return measure


def _base(setting: str, method: str) -> Iterator[Row]:
    found = [texts.ndcg("cosine") for texts in _TEXTS[setting]()]
    yield from _ndcg_rows(setting, method, found, f"nDCG@10, {len(found)} runs")


def _ndcg_rows(setting: str, method: str, found: Any, note: str) -> Iterator[Row]:
    for kind, measured in zip(KINDS, np.transpose(found), strict=True):
        mean, deviation = float(measured.mean()), float(measured.std())
        yield Row(setting, f"{method}: {kind}", None, mean, deviation, note)


@functools.cache
def _scifact() -> list[Texts]:
    """Return the published split three times: learn from its training claims, test on the rest."""
    return [load_texts("scifact_minilm")] * 3


@functools.cache
def _cranfield() -> list[Texts]:
    """Learn from four fifths of the queries, measure on the other fifth, for each fifth."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.model_selection import KFold

    data = datasets.load_retrieval("cranfield")
    weighting = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=2)
    items = weighting.fit_transform(data.documents).astype(np.float32)
    queries = weighting.transform(data.queries).astype(np.float32)
    folds = KFold(5, shuffle=True, random_state=0).split(queries)
    relevance = data.relevance.tocsr()
    return [Texts(items, queries, relevance, *fold) for fold in folds]


def _false_passes(make: Callable[[int], Any]) -> Measure:
    """Return the share of fits in which the gate passes what cannot be learned."""

    def measure(setting: str, method: str) -> Iterator[Row]:
        n_passed = 0
        for seed in range(_N_DRAWS):
            rng, learner = np.random.default_rng(seed), make(seed).set_params(n_triplets=_N_RANDOM)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*the start is kept")
                if "labels" in setting:
                    learner.fit(rng.normal(size=(300, 5)), rng.integers(0, 3, 300))
                else:
                    Q, grades = rng.normal(size=(100, 4)), rng.random((100, 100)) < 0.05
                    grades[np.arange(100), rng.permutation(100)] = True
                    learner.fit_relevance(grades, Q)
            n_passed += learner.validation_["published"]
        yield Row(setting, method, None, n_passed / _N_DRAWS, note=f"share of {_N_DRAWS} fits")

    return measure


# Merging and teaching.


def _merging(name: str, _: str) -> Iterator[Row]:
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


def _teaching(name: str, _: str) -> Iterator[Row]:
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
    return float(measures(similarity, X, y)[-1])


_GATED: dict[str, Callable[[int], Any]] = {
    "OASIS": lambda seed: OASIS("auto", random_state=seed),
    "diagonal AROMA": lambda seed: AROMA(r="auto", random_state=seed),
    "diagonal AROMA, hard negatives": lambda seed: AROMA(
        r="auto", hard_negatives=0.5, random_state=seed
    ),
    "factored AROMA": lambda seed: AROMA("factored", r="auto", random_state=seed),
}
_TEXTS: dict[str, Callable[[], list[Texts]]] = {
    "SciFact embeddings": _scifact,
    "Cranfield tf-idf": _cranfield,  # factored needs dense matrices of all terms for every block
}
_RANDOM: dict[str, Callable[[int], Any]] = {
    "OASIS, C = 1": lambda seed: OASIS(random_state=seed),
    "OASIS, C chosen": lambda seed: OASIS("auto", random_state=seed),
    "AROMA, r chosen": lambda seed: AROMA(r="auto", random_state=seed),
}
_SETTINGS: dict[str, Mapping[str, Measure]] = {
    _NEWS: {
        "identity": _identity,
        "OASIS": _online("C", _STEPS, OASIS),
        "diagonal AROMA": _online("r", _RATES, lambda r: AROMA(r=r)),
        "factored AROMA": _online("r", _RATES, lambda r: AROMA("factored", r=r)),
    },
    _SENSITIVITY: {"diagonal AROMA": _sensitivity, "factored AROMA": _sensitivity},
    "caltech10 visual words": {
        "identity": image_identity,
        "OASIS": image_learner("C", _GATED["OASIS"]),
        "diagonal AROMA": image_learner("r", _GATED["diagonal AROMA"]),
        "factored AROMA": image_learner("r", _GATED["factored AROMA"]),
        **IMAGE_RIVALS,
    },
    **{
        f"{name}, full covariance": {
            "identity": _small_identity,
            **{
                f"{covariance} AROMA" + (", from mistakes" if update == "mistake" else ""): _small(
                    covariance, update
                )
                for covariance in ("diagonal", "factored", "full")
                for update in ("margin", "mistake")
            },
        }
        for name in ("vowel", "vehicle", "image", "letter")
    },
    **{
        setting: {
            "base: cosine": _base,
            **{
                method: _retrieval(make)
                for method, make in _GATED.items()
                if "factored" not in method or "tf-idf" not in setting
            },
        }
        for setting in _TEXTS
    },
    **{
        f"gate, random {kind}": {method: _false_passes(make) for method, make in _RANDOM.items()}
        for kind in ("labels", "relevance")
    },
    "USPS, merged shards": {"diagonal AROMA": _merging},
    "USPS, teaching": {"factored AROMA": _teaching},
}
