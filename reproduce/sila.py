"""SiLA: Tables 1 and 2, and Figure 1, of similarity learning for nearest neighbors.

The paper defines forms of Dice's and Jaccard's coefficients too, and measures neither: here they
are, beside their bases, on votes.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from likewise.classifiers import SimilarityClassifier
from likewise.exceptions import DatasetUnavailableError
from likewise.learners import LMNN, SiLA
from likewise.metrics import majority_votes
from reproduce._datasets import load
from reproduce._frame import Row

PAPER = (
    "Qamar, Gaussier, Chevallet and Lim: Similarity Learning for Nearest Neighbor "
    "Classification (2008)"
)

# Table 1, one classifier against the rest for each class, average accuracy at the best k.
_PUBLISHED = {
    "balance": {
        "kNN euclidean": 0.911,
        "kNN cosine": 0.959,
        "SkNN cosine": 0.969,
        "kNN-A": 0.979,
        "SkNN-A": 0.983,
    },
    "wine": {
        "kNN euclidean": 0.840,
        "kNN cosine": 0.905,
        "SkNN cosine": 0.909,
        "kNN-A": 0.916,
        "SkNN-A": 0.916,
    },
    "iris": {
        "kNN euclidean": 0.978,
        "kNN cosine": 0.987,
        "SkNN cosine": 0.982,
        "kNN-A": 0.987,
        "SkNN-A": 0.987,
    },
    "news": {"kNN cosine": 0.929, "SkNN cosine": 0.907, "kNN-A": 0.947, "SkNN-A": 0.902},
}
# Table 2, all classes at once, accuracy; the paper quotes the others from their own papers.
_MULTICLASS = {
    "balance": {"SiLA": 0.952, "LMNN": 0.916, "MCML": 0.925, "ITML": 0.920, "SVM": 0.922},
    "wine": {"SiLA": 0.863, "LMNN": 0.974, "MCML": 0.837, "ITML": 0.974, "SVM": 0.801},
    "iris": {"SiLA": 0.982, "LMNN": 0.953, "MCML": 0.967, "ITML": 0.961, "SVM": 0.956},
}
_NEIGHBORS = (1, 2, 3, 4, 5, 7, 9, 11, 15, 21, 31)
_SEEDS = range(5)
_NEWS_DOCUMENTS, _NEWS_TRAINING, _NEWS_DIMENSIONS = 4561, 2281, 200
_NEWS_NOTE = "which 4,561 posts the paper kept is not known: drawn at random here"

# The forms, their starts and numbers of epochs; our choice, since the paper does not state them.
_FORMS = (("square", "zero"), ("symmetric", "zero"), ("diagonal", "base"))
_LEARNED_NEIGHBORS = {
    "balance": (1, 3),
    "wine": (1, 3),
    "iris": (1, 3),
    "news": (5,),
    "votes": (1, 3),
}
_EPOCHS = {"balance": 30, "wine": 2_000, "iris": 30, "news": 8, "votes": 30}
_CURVE = tuple(2**power for power in range(14))  # epochs at which Figure 1 is drawn
_RULES = {"kNN": "majority", "SkNN": "symmetric"}

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
_curves: dict[int, np.ndarray] = {}


def rows(only: str = "") -> Iterator[Row]:
    """Yield Table 1, Table 2, Dice and Jaccard, and the end of Figure 1, for sets named `only`."""
    wanted = [name for name in _EPOCHS if only.lower() in name]
    for name, published in _PUBLISHED.items():
        if name not in wanted:
            continue
        try:
            splits = list(_news() if name == "news" else _folds(name))
        except DatasetUnavailableError as error:
            yield Row(name, "all", None, None, note=str(error))
            continue
        yield from _without_learning(name, published, splits)
        yield from _with_learning(name, published, splits)
    for name, published in _MULTICLASS.items():
        if name in wanted:
            yield from _all_classes(name, published, list(_folds(name)))
    if "votes" in wanted:
        yield from _presence("votes")
    if "wine" in wanted:
        yield from _long_run("wine")


def figures(rows: list[Row]) -> Iterable[tuple[str, Any]]:
    """Yield Table 1 as bars, published beside ours, and Figure 1 if it was run."""
    from matplotlib.figure import Figure

    measured = [row for row in rows if row.ours is not None and row.setting in _PUBLISHED]
    figure = Figure(figsize=(12, 4), layout="constrained")
    ax = figure.subplots()
    places = np.arange(len(measured))
    heights = [row.published or 0.0 for row in measured]
    ax.bar(places - 0.2, heights, 0.4, label="published", color="0.7")
    heights = [row.ours or 0.0 for row in measured]
    spread = [row.deviation for row in measured]
    ax.bar(places + 0.2, heights, 0.4, yerr=spread, capsize=3, label="ours")
    names = [f"{row.setting} {row.method}" for row in measured]
    ax.set_xticks(places, names, fontsize=7, rotation=60, ha="right")
    ax.set(ylim=(0.7, 1), ylabel="average accuracy", title="SiLA, Table 1")
    ax.legend(loc="lower right")
    yield "table1", figure
    if _curves:
        figure = Figure(figsize=(6, 3.5), layout="constrained")
        ax = figure.subplots()
        for k, points in _curves.items():
            ax.plot(points[:, 0], points[:, 1], marker=".", label=f"wine, k={k}")
        ax.set(xlabel="updates", ylabel="average accuracy", title="SiLA, Figure 1")
        ax.legend(loc="lower right")
        yield "figure1", figure


def _folds(name: str) -> Iterator[Split]:
    """Yield five splits of raw attributes for each seed."""
    from sklearn.model_selection import StratifiedKFold

    data = load(name)
    X, y = data.X, np.unique(data.y, return_inverse=True)[1]
    for seed in _SEEDS:
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y):
            yield X[train], y[train], X[test], y[test]


def _news() -> Iterator[Split]:
    """Yield random halves of as many posts as in the paper, in 200 dimensions."""
    from scipy.sparse import vstack
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer

    data = load("news20_counts")
    counts = vstack([data.X, data.X_test], format="csr")
    y = np.concatenate([data.y, data.y_test])
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    dense = TruncatedSVD(_NEWS_DIMENSIONS, random_state=0).fit_transform(weighted)
    for seed in _SEEDS:
        drawn = np.random.default_rng(seed).permutation(len(y))[:_NEWS_DOCUMENTS]
        train, test = drawn[:_NEWS_TRAINING], drawn[_NEWS_TRAINING:]
        yield dense[train], y[train], dense[test], y[test]


def _without_learning(name: str, published: dict[str, float], splits: list[Split]) -> Iterator[Row]:
    for method in ("kNN euclidean", "kNN cosine", "SkNN cosine"):
        if method not in published:
            continue
        rule, similarity = method.split()
        neighbors: tuple[int, ...] = _NEIGHBORS
        if rule == "kNN":
            found = [_one_against_rest(similarity, *split) for split in splits]
        else:
            neighbors = _LEARNED_NEIGHBORS[name]
            found = [
                [_average(split, [similarity] * (split[1].max() + 1), rule, k) for k in neighbors]
                for split in splits
            ]
        yield _best_row(name, method, published[method], np.array(found), neighbors)


def _with_learning(name: str, published: dict[str, float], splits: list[Split]) -> Iterator[Row]:
    neighbors = _LEARNED_NEIGHBORS[name]
    for form, init in _FORMS:
        found: dict[str, list[list[float]]] = {rule: [] for rule in _RULES}
        for split in splits:
            learned = [
                _learner(form, init, name, k, protocol="one_vs_rest").fit(*split[:2]).similarities_
                for k in neighbors
            ]
            for rule in _RULES:
                at_k = zip(learned, neighbors, strict=True)
                found[rule].append([_average(split, each, rule, k) for each, k in at_k])
        for rule, accuracy in found.items():
            method = f"{rule}-A"
            title = f"{method} {form}" + (" from I" if init == "base" else "")
            yield _best_row(name, title, published[method], np.array(accuracy), neighbors)


def _learner(
    form: Any, init: Any, name: str, k: int, norm: Any = "cosine", protocol: Any = "multiclass"
) -> SiLA:
    return SiLA(
        form,
        norm,
        n_neighbors=k,
        n_epochs=_EPOCHS[name],
        init=init,
        early_stopping=True,
        protocol=protocol,
        random_state=0,
    )


def _best_row(
    setting: str,
    method: str,
    published: float | None,
    accuracy: np.ndarray,
    neighbors: tuple[int, ...],
) -> Row:
    """Return the row of the k with the best mean over the splits, as in the paper."""
    best = accuracy.mean(axis=0).argmax()
    note = f"k={neighbors[best]}, {len(accuracy)} splits"
    if setting == "news":
        note += f"; {_NEWS_NOTE}"
    ours, deviation = float(accuracy[:, best].mean()), float(accuracy[:, best].std())
    return Row(setting, method, published, ours, deviation, note)


def _one_against_rest(similarity: str, X: Any, y: Any, X_test: Any, y_test: Any) -> list[float]:
    """Return the accuracy of each k, averaged over one binary problem per class.

    The neighbors are the same in all of them, so they are searched once.
    """
    fitted = SimilarityClassifier(similarity=similarity, n_neighbors=max(_NEIGHBORS)).fit(X, y)
    neighbors = y[fitted.kneighbors(X_test).ids]
    return [
        float(np.mean([_binary_accuracy(neighbors[:, :k] == c, y_test == c) for c in np.unique(y)]))
        for k in _NEIGHBORS
    ]


def _binary_accuracy(votes: np.ndarray, truth: np.ndarray) -> float:
    predicted = majority_votes(votes.astype(np.int64), 2).argmax(axis=1)
    return float(np.mean(predicted == truth))


def _average(split: Split, similarities: list[Any], rule: str, k: int) -> float:
    """Return the accuracy averaged over binary problems, one per class and similarity."""
    X, y, X_test, y_test = split
    right = []
    for c, similarity in enumerate(similarities):
        fitted = SimilarityClassifier(similarity=similarity, n_neighbors=k, rule=_RULES[rule])
        right.append(fitted.fit(X, y == c).score(X_test, y_test == c))
    return float(np.mean(right))


def _all_classes(name: str, published: dict[str, float], splits: list[Split]) -> Iterator[Row]:
    setting, neighbors = f"{name}, all classes", _LEARNED_NEIGHBORS[name]
    for form, init in _FORMS:
        accuracy = [
            [_accuracy(split, k, learner=_learner(form, init, name, k)) for k in neighbors]
            for split in splits
        ]
        title = f"SiLA {form}" + (" from I" if init == "base" else "")
        yield _best_row(setting, title, published["SiLA"], np.array(accuracy), neighbors)
    found = np.array(
        [[_accuracy(split, 3, learner=LMNN())] for split in splits[: len(splits) // 5]]
    )
    yield _best_row(setting, "LMNN", published["LMNN"], found, (3,))
    for method in ("MCML", "ITML", "SVM"):
        yield Row(setting, method, published[method], None, note="as the paper quotes it")


def _presence(name: str) -> Iterator[Row]:
    """Yield the Dice and Jaccard coefficients before and after learning, on the same splits."""
    try:
        splits = list(_folds(name))
    except DatasetUnavailableError as error:
        yield Row(name, "all", None, None, note=str(error))
        return
    neighbors = _LEARNED_NEIGHBORS[name]
    for norm in ("dice", "jaccard"):
        accuracy = [[_accuracy(split, k, similarity=norm) for k in neighbors] for split in splits]
        yield _best_row(name, norm, None, np.array(accuracy), neighbors)
        for form, init in _FORMS:
            accuracy = [
                [
                    _accuracy(split, k, learner=_learner(form, init, name, k, norm))
                    for k in neighbors
                ]
                for split in splits
            ]
            title = f"SiLA {norm}, {form}" + (" from the base" if init == "base" else "")
            yield _best_row(name, title, None, np.array(accuracy), neighbors)


def _accuracy(split: Split, k: int, **classifier: Any) -> float:
    X, y, X_test, y_test = split
    fitted = SimilarityClassifier(n_neighbors=k, **classifier).fit(X, y)
    return float(fitted.score(X_test, y_test))


def _long_run(name: str) -> Iterator[Row]:
    """Yield the accuracy at the end of Figure 1, and keep the curves for the figure."""
    splits = list(_folds(name))[:5]
    for k in (1, 3):
        points = np.zeros((len(_CURVE), 2))
        for split in splits:
            learner = SiLA("symmetric", n_neighbors=k, protocol="one_vs_rest")
            before = 0
            for number, epochs in enumerate(_CURVE):
                learner.set_params(n_epochs=epochs - before).partial_fit(*split[:2])
                before = epochs
                accuracy = _average(split, learner.similarities_, "kNN", k)
                points[number] += learner.n_updates_ / len(learner.similarities_), accuracy
        _curves[k] = points / len(splits)
        updates, accuracy = _curves[k][-1]
        note = f"after {updates:.0f} updates a class, {len(splits)} splits, no validation"
        yield Row(f"{name}, Figure 1", f"kNN-A symmetric, k={k}", None, float(accuracy), note=note)
