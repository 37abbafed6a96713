"""What answers on the Teach page are worth: informative questions beside random ones.

A simulated person is asked, by the code of the Teach page, which of two items is more like a third.
They answer left, right, both or neither, and every answer counts. The version that is live, which
the gate has let through, ranks items that nobody was asked about for queries that nobody was asked
about, by mean average precision; so does the newest candidate, which the gate may have refused.

Digits, posts and claims are alike if they have the same label or are about the same abstract, names
of products if they are of the same manufacturer, whose name is not among their words unless the
name of the product has it. Where there are no USPS digits, scikit-learn's are taken.
"""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

# The sets and their numbers of items.
SETS = {"digits": 1_000, "news20": 1_000, "products": 434, "ssl_text": 900, "scifact": 1_000}
STRATEGIES = ("informative", "random")
AFTER = (50, 100, 200, 400)
N_SEEDS = 6
_N_COMPONENTS, _N_OTHERS, _N_CLAIMS = 256, 600, 300
_MIN_PRODUCTS = 20  # of a manufacturer


def main(folder: Path) -> None:
    """Print mean average precision by answers, with its standard error over seeds."""
    from likewise.evaluation import Table

    rows, found = [], []
    for name, n_items in SETS.items():
        data = load(name, n_items)
        for strategy in STRATEGIES:
            runs = [teach(data, strategy, seed) for seed in range(N_SEEDS)]
            found.append({"set": name, "questions": strategy, "runs": runs})
            start = runs[0]["start"]
            rows += [
                (name, strategy, which, f"{start:.3f}", *(_mean(runs, which, n) for n in AFTER))
                for which in ("live", "newest")
            ]
            print(*rows[-2:], sep="\n", flush=True)
    headers = ("", "questions", "version", "before", *(f"after {n}" for n in AFTER))
    table = Table(headers, rows)
    print(table)
    (folder / "teach.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf8")
    (folder / "teach.md").write_text(f"# teach\n\n{table.to_markdown()}\n", encoding="utf8")


def _mean(runs: list[dict[str, Any]], which: str, n: int) -> str:
    values = np.array([run[which][n] for run in runs])
    return f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


@dataclass(frozen=True, eq=False)
class Taught:
    """Items, which of them are alike, and the held-out measure of a similarity."""

    X: np.ndarray
    alike: np.ndarray
    quality: Callable[[Any], float]


def load(name: str, n_items: int) -> Taught:
    """Return the items of a set and its measure."""
    sets = {
        "digits": _digits,
        "news20": _news20,
        "products": _products,
        "ssl_text": _ssl_text,
        "scifact": _scifact,
    }
    return sets[name](n_items)


def _labeled(X: Any, y: Any, X_test: Any, y_test: Any, n_items: int) -> Taught:
    """Return some rows as items; others are ranked among themselves by mean average precision."""
    from likewise.learners.validation._held_out import average_precisions

    rng = np.random.default_rng(0)
    items, others = rng.permutation(len(y))[:n_items], rng.permutation(len(y_test))[:_N_OTHERS]
    X_test, y_test = np.asarray(X_test[others], dtype=np.float32), np.asarray(y_test)[others]
    of_items = np.asarray(y)[items]
    return Taught(
        np.asarray(X[items], dtype=np.float32),
        of_items[:, None] == of_items,
        lambda similarity: float(average_precisions(similarity.score, X_test, y_test).mean()),
    )


def _digits(n_items: int) -> Taught:
    import likewise as lw

    try:
        digits: Any = lw.datasets.load("usps")
        parts = digits.X, digits.y, digits.X_test, digits.y_test
    except OSError:
        digits = lw.datasets.load("digits")
        parts = digits.X[:1_200], digits.y[:1_200], digits.X[1_200:], digits.y[1_200:]
    return _labeled(*parts, n_items)


def _news20(n_items: int) -> Taught:
    from sklearn.feature_extraction.text import CountVectorizer

    import likewise as lw

    posts: Any = lw.datasets.load("news20")
    own = np.random.default_rng(0).permutation(len(posts.y))[:n_items]
    texts = [posts.X[row] for row in own]
    count = CountVectorizer(stop_words="english", min_df=2).fit(texts)
    X, X_test = _components(count.transform(texts), count.transform(posts.X_test))
    return _labeled(X, posts.y[own], X_test, posts.y_test, n_items)


def _products(n_items: int) -> Taught:
    """Return names of products at Amazon and Google, without makers of few."""
    import pandas as pd
    from sklearn.feature_extraction.text import CountVectorizer

    from benchmarks._published import files

    tables = files("amazon_google")
    frame = pd.concat([pd.read_csv(table, dtype=str, keep_default_na=False) for table in tables])
    frame = frame[frame["manufacturer"] != ""]
    frame = frame.groupby("manufacturer").filter(lambda of_maker: len(of_maker) >= _MIN_PRODUCTS)
    order = np.random.default_rng(0).permutation(len(frame))
    titles, makers = frame["title"].to_numpy()[order], frame["manufacturer"].to_numpy()[order]
    count = CountVectorizer(stop_words="english", min_df=2).fit(titles[:n_items])
    X, X_test = _components(*(count.transform(t) for t in (titles[:n_items], titles[n_items:])))
    return _labeled(X, makers[:n_items], X_test, makers[n_items:], n_items)


def _ssl_text(n_items: int) -> Taught:
    import likewise as lw

    posts: Any = lw.datasets.load("ssl_text")
    order = np.random.default_rng(0).permutation(len(posts.y))
    own, others = order[:n_items], order[n_items:]
    X, X_test = _components(posts.X[own], posts.X[others])
    return _labeled(X, posts.y[own], X_test, posts.y[others], n_items)


def _components(X: Any, X_test: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return counts mapped by tf-idf and truncated SVD, both learned from X."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer

    weigh = TfidfTransformer(sublinear_tf=True).fit(X)
    weighed = weigh.transform(X)
    svd = TruncatedSVD(_N_COMPONENTS, random_state=0).fit(weighed)
    return svd.transform(weighed), svd.transform(weigh.transform(X_test))


def _scifact(n_items: int) -> Taught:
    """Return claims and abstracts as items; for other claims the other abstracts are ranked."""
    from reproduce._texts import load_texts

    from likewise.evaluation import evaluate_retrieval

    texts = load_texts("scifact", graded=False)
    rng = np.random.default_rng(0)
    claims = texts.train[:_N_CLAIMS]
    cited = np.unique(texts.relevance[claims].indices)
    rest = np.setdiff1d(np.arange(len(texts.documents)), cited)
    abstracts = np.append(cited, rng.permutation(rest)[: n_items - len(claims) - len(cited)])
    relevant = texts.relevance[claims][:, abstracts].toarray() > 0
    about = np.block(
        [[np.eye(len(claims), dtype=bool), relevant], [relevant.T, relevant.T @ relevant]]
    )

    others = np.setdiff1d(np.arange(len(texts.documents)), abstracts)
    relevance = texts.relevance[texts.test][:, others]
    kept = np.flatnonzero(relevance.sum(axis=1))

    def quality(similarity: Any) -> float:
        report = evaluate_retrieval(
            similarity,
            texts.queries[texts.test][kept],
            texts.documents[others],
            relevance=relevance[kept],
        )
        return float(report["map"])

    return Taught(
        np.append(texts.queries[claims], texts.documents[abstracts], axis=0), about, quality
    )


def teach(
    data: Taught, strategy: str, seed: int, n_answers: int = max(AFTER), labeler: str = "honest"
) -> dict[str, Any]:
    """Return the measure of the live version and of the newest one, by answers.

    Parameters
    ----------
    data : Taught
    strategy : {"informative", "random"}
    seed : int
    n_answers : int
    labeler : {"honest", "random", "random after a promotion"}
        A random one answers by labels of three kinds that say nothing about the items.
    """
    import likewise as lw
    from likewise._files import from_bytes, to_bytes
    from likewise.server._model import initialize_learner, open_model
    from likewise.server._settings import Settings
    from likewise.server._snapshot import Catalog, Snapshot, Version
    from likewise.server.learning._learner import Learner
    from likewise.server.learning._questions import QuestionSelector
    from likewise.server.store import Page, open_store

    X = data.X
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lw.save(lw.Bilinear(1.0, "cosine"), folder / "model.safetensors")
        model = open_model(folder / "model.safetensors", r=Settings(folder).r)
        store = open_store(str(folder / "store.sqlite"), durable=False)
        initial = initialize_learner(model.learner, X.shape[1], X.shape[1])
        store.initialize({"model": "teach"}, to_bytes(model.similarity), to_bytes(initial))
        store.put_items([(row, vector, {}) for row, vector in enumerate(X)])
        added, _, change = store.items_since(0)
        catalog = Catalog().updated(added, set(), change)
        questions, learner = QuestionSelector(store, seed), Learner(store)

        def version(number: int) -> Any:
            return from_bytes(store.version_files(number).similarity)

        labels = np.random.default_rng([seed, 1]).integers(3, size=len(X))
        alike = data.alike if labeler != "random" else labels[:, None] == labels
        live, snapshot = 1, Snapshot(model, Version(1, model.similarity, None), catalog)
        found: dict[str, Any] = {"start": data.quality(version(1)), "live": {}, "newest": {}}
        n_compared = 0
        for n in range(1, n_answers + 1):
            (query, left, right), _ = questions.select(snapshot, strategy)
            same = alike[query, left], alike[query, right]
            revisions = left + 1, right + 1
            chosen = tuple(r for r, is_same in zip(revisions, same, strict=True) if is_same)
            n_compared += int(same[0] != same[1])
            store.append(str(n), "", [Page(query + 1, revisions, chosen)])
            learner.step()
            learner.save()
            if store.status().live != live:
                live = store.status().live
                snapshot = Snapshot(model, Version(live, version(live), None), catalog)
                if labeler == "random after a promotion":
                    alike = labels[:, None] == labels
            if n in AFTER:
                found["live"][n] = data.quality(version(live))
                found["newest"][n] = data.quality(version(store.versions()[0].number))
        promoted = [v.position for v in store.versions() if v.verdict and v.promoted is not None]
        store.close()
    return {**found, "promoted": sorted(promoted), "left or right": n_compared}
