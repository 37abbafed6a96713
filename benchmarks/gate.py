"""The rate of false promotions of a server's gate, over whole streams of random clicks and answers.

A stream is one life of a server: a page of ten items for a query, shown in the order of the version
that is live, and one of the ten is chosen at random; then the next. Nothing can be learned from
that, so every promotion is false. Streams run on the pure functions of the gate, without HTTP.

Questions of the Teach page about digits, posts and products are answered by random labels, from the
beginning or from the first promotion on.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

N_STREAMS, N_PAGES, N_SHOWN = 200, 600, 10
N_ANSWER_STREAMS, N_ANSWERS = 110, 300
TAUGHT_SETS = ("digits", "news20", "products")
_QUERIES, _ITEMS, _FEATURES = 150, 1_000, 32


def main(folder: Path) -> None:
    """Print the share of streams that promote anything, and write it to ``gate.md``."""
    from likewise.evaluation import Table

    rows = []
    for vectors in ("random", "cranfield", "random, hybrid"):
        queries, items = data(vectors)
        lexical = random_words(len(queries), len(items)) if "hybrid" in vectors else None
        streams = [
            random_clicks(queries, items, seed, lexical=lexical) for seed in range(N_STREAMS)
        ]
        rate = np.mean([len(stream.promoted) > 0 for stream in streams])
        n_tests = np.mean([stream.n_tests for stream in streams])
        rows.append((vectors, str(N_STREAMS), f"{n_tests:.0f}", f"{rate:.1%}"))
    for labeler, n_true in (("random", 0), ("random after a promotion", 1)):
        for name in TAUGHT_SETS:
            found = random_answers(name, labeler, range(N_ANSWER_STREAMS))
            began = [len(promoted) for promoted in found if len(promoted) >= n_true]
            rate = np.mean([n > n_true for n in began])
            rows.append((f"{name}, {labeler}", str(len(began)), "", f"{rate:.1%}"))
    table = Table(("vectors", "streams", "tests a stream", "streams that promote"), rows)
    print(table)
    (folder / "gate.md").write_text(f"# gate\n\n{table.to_markdown()}\n", encoding="utf8")


def data(vectors: str) -> tuple[np.ndarray, np.ndarray]:
    """Return queries and items of unit length."""
    if vectors == "cranfield":
        from reproduce._texts import load_texts

        texts = load_texts("cranfield")
        return texts.queries[texts.train], texts.documents
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(_QUERIES + _ITEMS, _FEATURES))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows[:_QUERIES], rows[_QUERIES:]


def random_words(n_queries: int, n_items: int) -> np.ndarray:
    """Return lexical scores as they are: most items have no word of a query."""
    rng = np.random.default_rng(1)
    return rng.random((n_queries, n_items)) * (rng.random((n_queries, n_items)) < 0.2)


def random_answers(name: str, labeler: str, seeds: Iterable[int]) -> list[list[int]]:
    """Return the positions of promotions in streams of answers on the Teach page about a set."""
    from benchmarks.teach import SETS, load, teach

    data = load(name, SETS[name])
    return [teach(data, "informative", seed, N_ANSWERS, labeler)["promoted"] for seed in seeds]


class _Items:
    """Items whose revision is their row, from 1, and whose id is their row, from 0."""

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = rows

    def vectors(self, revisions: list[int]) -> dict[int, np.ndarray]:
        return {revision: self._rows[revision - 1] for revision in revisions}

    def item_ids(self, revisions: list[int]) -> dict[int, int]:
        return {revision: revision - 1 for revision in revisions}


class Stream:
    """The learning of one server, in memory.

    Parameters
    ----------
    queries, items : arrays of rows of unit length
    lexical : array of shape (n_queries, n_items), optional
        Lexical scores, whose weight is learned, too, and starts at 0.

    Attributes
    ----------
    promoted : list of Recipe
    n_tests : int
    scores : array of shape (n_queries, n_items)
        Of the live version.
    """

    def __init__(
        self, queries: np.ndarray, items: np.ndarray, lexical: np.ndarray | None = None
    ) -> None:
        from likewise import Bilinear
        from likewise.server.learning._forms import Forms
        from likewise.server.learning._gate import CandidateSchedule, split_of
        from likewise.server.learning._initial import InitialModel
        from likewise.server.learning._ridge import RidgeMethod
        from likewise.server.learning._spaces import Spaces
        from likewise.server.store import VersionInfo

        self._Q, self._P = queries.astype(np.float64), items.astype(np.float64)
        self._query_splits = np.array([split_of(row.tolist()) for row in queries])
        self._item_splits = np.array([split_of(number) for number in range(len(items))])
        weight = None if lexical is None else 0.0
        W = np.eye(self._Q.shape[1])
        initial = InitialModel(Bilinear(1.0, "cosine"), W, None, weight)
        self._lexical = np.zeros((len(queries), len(items))) if lexical is None else lexical
        self._forms = Forms(initial, Spaces(_Items(self._P), initial))
        self._method = RidgeMethod(self._forms)
        self._schedule = CandidateSchedule()
        self._shown: list[tuple[int, Any, Any]] = []
        self._position = self._promoted_at = self._tests = self.n_tests = 0
        self._firsts: list[int] = []
        self._live = VersionInfo(1, "file", 0, 0.0, 0.0, False, None, None, True)
        self.promoted: list[Any] = []
        self.scores = self._Q @ self._P.T

    def page(self, query: int, n: int) -> np.ndarray:
        """Return the first items for a query."""
        return np.argsort(-self.scores[query], kind="stable")[:n]

    def add(self, query: int, shown: np.ndarray, chosen: np.ndarray) -> None:
        """Add a page; at scheduled positions evaluate a candidate, and promote it if it passes."""
        before = self._position
        self._firsts.append(before)
        self._shown.append((query, shown, chosen))
        self._position += int(chosen.sum() * (~chosen).sum())
        if self._schedule.any_between(before, self._position):
            self._evaluate()

    def pages(self) -> Any:
        """Return all pages as arrays."""
        from likewise.server.learning._pages import Pages

        query, shown, chosen = zip(*self._shown, strict=True)
        sizes = [len(part) for part in shown]
        return Pages(
            self._Q,
            self._P,
            [None] * len(self._Q),
            1 + np.arange(len(self._P)),
            self._query_splits,
            self._item_splits,
            np.array(self._firsts),
            np.array(query),
            np.repeat(np.arange(len(query)), sizes),
            np.concatenate(shown),
            np.concatenate(chosen),
            self._lexical[np.repeat(query, sizes), np.concatenate(shown)],
        )

    def _evaluate(self) -> None:
        from likewise.server.learning._gate import choose_candidate, evaluate, evaluation_pages
        from likewise.server.learning._learner import ScoredVersion
        from likewise.server.store import VersionFiles

        pages = self.pages()
        page_numbers = evaluation_pages(pages, self._promoted_at, self._method.splits)
        if page_numbers is None:
            return
        live = ScoredVersion(self._live, VersionFiles(b"", None, None), pages, self._forms)
        means = evaluate(pages, page_numbers, self._method, live)
        self._tests, self.n_tests = self._tests + 1, self.n_tests + 1
        form, step, verdict = choose_candidate(means, live=1, test=self._tests)
        if verdict.passes:
            self._promote(self._method.candidate(form, step, pages, verdict))

    def _promote(self, candidate: Any) -> None:
        from likewise._files import from_bytes
        from likewise.server.store import VersionInfo

        recipe = candidate.recipe
        number = self._live.number + 1
        self._live = VersionInfo(
            number, "learned", self._position, 0.0, 0.0, False, recipe, None, True
        )
        self._promoted_at, self._tests = self._position, 0
        items = self._P
        if candidate.offsets is not None:
            items = from_bytes(candidate.offsets).apply(range(1, 1 + len(self._P)), self._P)
        similarity = from_bytes(candidate.similarity)
        self.scores = similarity.score(self._Q, items) + recipe.weight * self._lexical
        self.promoted.append(recipe)


def random_clicks(
    queries: np.ndarray,
    items: np.ndarray,
    seed: int,
    n_pages: int = N_PAGES,
    lexical: np.ndarray | None = None,
) -> Stream:
    """Return a stream whose clicks are drawn at random."""
    rng = np.random.default_rng(seed)
    stream = Stream(queries, items, lexical)
    for _ in range(n_pages):
        query = int(rng.integers(len(queries)))
        chosen = np.zeros(N_SHOWN, dtype=bool)
        chosen[rng.integers(N_SHOWN)] = True
        stream.add(query, stream.page(query, N_SHOWN), chosen)
    return stream
