"""RidgeSimilarity: what new queries gain, over items seen in training and over new items."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from likewise.exceptions import DatasetUnavailableError
from likewise.learners import AROMA, OASIS, RidgeSimilarity
from reproduce._frame import Row
from reproduce._newsgroups import news_splits
from reproduce._retrieval import measures
from reproduce._texts import KINDS, Texts, load_texts

PAPER = (
    "ridge regression toward the start, with item offsets; nDCG@10 over all items, over items "
    "seen in training and over new ones. Published: the reference implementation"
)

Figures = tuple[float, float, float]  # overall, seen, new
_Method = Callable[[int, Texts], tuple[Any, Any, bool]]

_SCIFACT_SPLITS, _CRANFIELD_SPLITS, _NEWS_SPLITS = 5, 8, 5
_DRAWS = 100
_TRIPLETS = 100_000
_PUBLISHED: dict[tuple[str, str], Figures] = {
    ("SciFact, published split", "cosine"): (0.624, 0.623, 0.626),
    ("SciFact, published split", "ridge"): (0.817, 0.909, 0.645),
    ("SciFact, 5 splits", "cosine"): (0.636, 0.621, 0.655),
    ("SciFact, 5 splits", "ridge"): (0.825, 0.908, 0.658),
    ("SciFact, 5 splits", "gain of ridge"): (0.189, 0.287, 0.004),
    ("Cranfield, 8 splits", "cosine"): (0.528, 0.470, 0.422),
    ("Cranfield, 8 splits", "ridge"): (0.546, 0.493, 0.417),
    ("Cranfield, 8 splits", "gain of ridge"): (0.018, 0.023, -0.005),
}
_PUBLISHED_NEWS = {"p@1": 0.794, "p@10": 0.787, "p@50": 0.771, "mAP": 0.664}
_PUBLISHED_KEPT = 1 - (17 + 8) / (120 + 58)  # with 2 standard errors


def rows(only: str = "") -> Iterator[Row]:
    """Yield nDCG@10, gains and precisions, setting by setting."""
    for name, measure in _SETTINGS.items():
        if only.lower() not in name.lower():
            continue
        try:
            yield from measure(name)
        except DatasetUnavailableError as error:
            yield Row(name, "all", None, None, note=str(error))


def figures(rows: list[Row]) -> Iterable[tuple[str, Any]]:
    """Yield the gain over seen items against the gain over new ones, a point a method."""
    from matplotlib.figure import Figure

    points: dict[str, dict[str, float]] = {}
    for row in rows:
        method, _, kind = row.method.rpartition(": ")
        if method.startswith("gain of ") and row.ours is not None:
            points.setdefault(f"{row.setting}: {method[8:]}", {})[kind] = row.ours
    if not points:
        return
    figure = Figure(figsize=(6, 4), layout="constrained")
    ax = figure.subplots()
    for name, gains in points.items():
        ax.plot(gains["seen"], gains["new"], "o", label=name)
    ax.axhline(0, color="gray", linewidth=0.5)
    ax.set(xlabel="gain of nDCG@10, seen items", ylabel="gain of nDCG@10, new items")
    ax.legend(fontsize=7)
    yield "gains", figure


def _ridge(*, offsets: bool = True, **parameters: Any) -> _Method:
    def learn(seed: int, texts: Texts) -> tuple[Any, Any, bool]:
        ridge = RidgeSimilarity(random_state=seed, **parameters)
        ridge.fit_relevance(*_lesson(texts), offsets=offsets)
        return ridge.similarity_, ridge.offsets_, bool(ridge.validation_["published"])

    return learn


def _online(learner: type, **parameters: Any) -> _Method:
    def learn(seed: int, texts: Texts) -> tuple[Any, Any, bool]:
        online = learner(n_triplets=_TRIPLETS, random_state=seed, **parameters)
        online.fit_relevance(*_lesson(texts))
        return online.similarity_, None, bool(online.validation_["published"])

    return learn


def _lesson(texts: Texts) -> tuple[Any, Any, Any]:
    return texts.relevance[texts.train], texts.queries[texts.train], texts.documents


_RIDGE: dict[str, _Method] = {
    "ridge": _ridge(),
    "ridge without offsets": _ridge(offsets=False),
    'ridge, center="local"': _ridge(center="local"),
}
_RULES: dict[str, _Method] = {
    'ridge, new_items="allow"': _ridge(new_items="allow"),
    'ridge, new_items="strict"': _ridge(new_items="strict"),
}
_ONLINE: dict[str, _Method] = {
    "OASIS": _online(OASIS),
    "AROMA": _online(AROMA),
    "AROMA from ridge": _online(AROMA, init="ridge"),
}


def _scifact(name: str) -> Iterator[Row]:
    """MiniLM vectors: the published split, four random ones, and all five."""
    splits = [load_texts("scifact_minilm", seed) for seed in range(_SCIFACT_SPLITS)]
    starts, found, published = _learned(splits, _RIDGE)
    first = f"{name}, published split"
    yield from _rows(first, "cosine", starts[:1])
    for method, values in found.items():
        yield from _rows(first, method, values[:1], published[method][:1])
    for seed in range(1, _SCIFACT_SPLITS):
        gain = found["ridge"][seed : seed + 1] - starts[seed : seed + 1]
        yield from _rows(f"{name}, split {seed}", "gain of ridge", gain)
    yield from _mean_rows(f"{name}, {_SCIFACT_SPLITS} splits", starts, found, published)
    _, online, published = _learned(splits[:1], _ONLINE)
    for method, values in online.items():
        yield from _rows(first, method, values, published[method])


def _cranfield(name: str) -> Iterator[Row]:
    """Abstracts by tf-idf and truncated SVD; a third of the queries judges."""
    splits = [load_texts("cranfield", seed, graded=False) for seed in range(_CRANFIELD_SPLITS)]
    found = _learned(splits, {**_RIDGE, **_RULES, **_ONLINE})
    yield from _mean_rows(f"{name}, {_CRANFIELD_SPLITS} splits", *found)


def _graded(name: str) -> Iterator[Row]:
    """Learn and measure with the grades of the judges."""
    splits = [load_texts("cranfield", seed) for seed in range(_CRANFIELD_SPLITS)]
    found = _learned(splits, _RIDGE)
    yield from _mean_rows(f"{name}, {_CRANFIELD_SPLITS} splits", *found)


def _learned(
    splits: list[Texts], methods: dict[str, _Method]
) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, list[bool]]]:
    """Return values of the start, values of each method, and whether it published anything."""
    starts = np.array([texts.ndcg("cosine") for texts in splits])
    found: dict[str, np.ndarray] = {}
    published: dict[str, list[bool]] = {}
    for method, learn in methods.items():
        values = []
        for seed, texts in enumerate(splits):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the note says where the start is kept
                similarity, offsets, passed = learn(seed, texts)
            values.append(texts.ndcg(similarity, offsets))
            published.setdefault(method, []).append(passed)
        found[method] = np.array(values)
    return starts, found, published


def _mean_rows(
    setting: str,
    starts: np.ndarray,
    found: dict[str, np.ndarray],
    published: dict[str, list[bool]],
) -> Iterator[Row]:
    yield from _rows(setting, "cosine", starts)
    for method, values in found.items():
        yield from _rows(setting, method, values, published[method])
        yield from _rows(setting, f"gain of {method}", values - starts)


def _rows(
    setting: str, method: str, values: np.ndarray, published: list[bool] | None = None
) -> Iterator[Row]:
    """Yield means over splits: overall, seen and new."""
    reference: Any = _PUBLISHED.get((setting, method), (None,) * len(KINDS))
    note = ""
    if published is not None and not all(published):
        note = f"start kept in {published.count(False)} of {len(published)}"
    for kind, figure, column in zip(KINDS, reference, values.T, strict=True):
        deviation = float(column.std()) if len(column) > 1 else None
        yield Row(setting, f"{method}: {kind}", figure, float(column.mean()), deviation, note)


def _random_relevance(name: str) -> Iterator[Row]:
    """Count how often the start is kept where there is nothing to learn."""
    texts = load_texts("cranfield")
    kept = 0
    for seed in range(_DRAWS):
        grades = _shuffled(texts.relevance[texts.train], np.random.default_rng(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is the outcome that is counted
            ridge = RidgeSimilarity(random_state=seed)
            ridge.fit_relevance(grades, texts.queries[texts.train], texts.documents)
        kept += not ridge.validation_["published"]
    note = f"Cranfield, queries shuffled, grades drawn uniformly; {kept} of {_DRAWS} draws"
    yield Row(name, "start kept", _PUBLISHED_KEPT, kept / _DRAWS, note=note)


def _shuffled(grades: Any, rng: np.random.Generator) -> Any:
    """Give every query the relevant items of another one, with random grades."""
    shuffled = grades[rng.permutation(grades.shape[0])].copy()
    shuffled.data = rng.choice(np.unique(grades.data), len(shuffled.data))
    return shuffled


def _news(name: str) -> Iterator[Row]:
    """Learn from labels in closed form, without a triplet; splits as for AROMA."""
    found, alphas = [], []
    for seed, (X, y, X_test, y_test) in enumerate(news_splits(_NEWS_SPLITS)):
        ridge = RidgeSimilarity(random_state=seed).fit(X, y)
        found.append(measures(ridge.similarity_, X_test, y_test))
        alphas.append(ridge.alpha_)
    note = f"{_NEWS_SPLITS} splits; alpha {', '.join(f'{alpha:g}' for alpha in alphas)}"
    for (measure, reference), column in zip(
        _PUBLISHED_NEWS.items(), np.transpose(found), strict=True
    ):
        mean, deviation = float(column.mean()), float(column.std())
        yield Row(name, f"ridge: {measure}", reference, mean, deviation, note)


_SETTINGS: dict[str, Callable[[str], Iterator[Row]]] = {
    "SciFact": _scifact,
    "Cranfield": _cranfield,
    "Cranfield, graded": _graded,
    "random relevance": _random_relevance,
    "20 newsgroups": _news,
}
