"""The rate of false promotions of a server's gate, over whole streams of random clicks.

A stream is one life of a server: a page of ten items for a query, shown in the order of the version
that is live, and one of the ten is chosen at random; then the next. Nothing can be learned from
that, so every promotion is false. Streams run on the pure functions of the gate, without HTTP.
"""

from pathlib import Path
from typing import Any

import numpy as np

N_STREAMS, N_PAGES, N_SHOWN = 200, 600, 10
_QUERIES, _ITEMS, _FEATURES = 150, 1_000, 32


def main(folder: Path) -> None:
    """Print the share of streams that promote anything, and write it to ``gate.md``."""
    from likewise.evaluation import Table

    rows = []
    for vectors in ("random", "cranfield"):
        queries, items = data(vectors)
        streams = [random_clicks(queries, items, seed) for seed in range(N_STREAMS)]
        rate = np.mean([len(stream.promoted) > 0 for stream in streams])
        n_tests = np.mean([stream.n_tests for stream in streams])
        rows.append((vectors, str(N_STREAMS), f"{n_tests:.0f}", f"{rate:.1%}"))
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


class Stream:
    """The learning of one server, in memory.

    Parameters
    ----------
    queries, items : arrays of rows of unit length

    Attributes
    ----------
    promoted : list of Recipe
    n_tests : int
    """

    def __init__(self, queries: np.ndarray, items: np.ndarray) -> None:
        from likewise import Bilinear
        from likewise.server.learning._gate import CandidateSchedule, split_of
        from likewise.server.learning._initial import InitialModel
        from likewise.server.learning._ridge import RidgeMethod

        self._Q, self._P = queries.astype(np.float64), items.astype(np.float64)
        self._query_splits = np.array([split_of(row.tolist()) for row in queries])
        self._item_splits = np.array([split_of(number) for number in range(len(items))])
        self._initial = InitialModel(Bilinear(1.0, "cosine"), np.eye(self._Q.shape[1]), None)
        self._method = RidgeMethod(self._initial)
        self._schedule = CandidateSchedule()
        self._shown: list[tuple[int, Any, Any]] = []
        self._position = self._promoted_at = self._tests = self.n_tests = 0
        self._firsts: list[int] = []
        self._live: Any = None
        self.promoted: list[Any] = []
        self._served = self._Q @ self._P.T

    def page(self, query: int, n: int) -> np.ndarray:
        """Return the first items for a query."""
        return np.argsort(-self._served[query], kind="stable")[:n]

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
            np.arange(len(self._P)),
            self._query_splits,
            self._item_splits,
            np.array(self._firsts),
            np.array(query),
            np.repeat(np.arange(len(query)), sizes),
            np.concatenate(shown),
            np.concatenate(chosen),
        )

    def _evaluate(self) -> None:
        from likewise.server.learning._gate import choose_candidate, evaluate, evaluation_pages

        pages = self.pages()
        page_numbers = evaluation_pages(pages, self._promoted_at, self._method.splits)
        if page_numbers is None:
            return
        means = evaluate(
            pages,
            page_numbers,
            lambda held_out, split: self._method.scores(pages, held_out, split),
            lambda held_out, split: self._live_scores(pages, held_out, split),
            self._method.splits,
        )
        self._tests, self.n_tests = self._tests + 1, self.n_tests + 1
        form, step, verdict = choose_candidate(*means, live=1, test=self._tests)
        if verdict.passes:
            self._promote(form, step, pages)

    def _live_scores(self, pages: Any, held_out: Any, split: int) -> Any:
        from likewise.server.learning._initial import matrix_scores
        from likewise.server.learning._ridge import ridge_scores

        if self._live is None:
            return matrix_scores(pages, held_out, self._initial.W)
        recipe, position = self._live
        training = pages.relevance(split, until=position)
        grid = (recipe.alpha,), (recipe.gamma,)
        return ridge_scores(pages, held_out, training, self._initial, *grid)[0, 0]

    def _promote(self, form: int, step: int, pages: Any) -> None:
        from likewise.server.learning._ridge import ALPHAS, GAMMAS, learn_version
        from likewise.server.store import Recipe

        recipe = Recipe("ridge", alpha=ALPHAS[form], gamma=GAMMAS[step])
        self._live = recipe, self._position
        self._promoted_at, self._tests = self._position, 0
        similarity, offsets = learn_version(pages, self._initial, recipe)
        items = self._P if offsets is None else offsets.apply(range(len(self._P)), self._P)
        self._served = similarity.score(self._Q, items)
        self.promoted.append(recipe)


def random_clicks(
    queries: np.ndarray, items: np.ndarray, seed: int, n_pages: int = N_PAGES
) -> Stream:
    """Return a stream whose clicks are drawn at random."""
    rng = np.random.default_rng(seed)
    stream = Stream(queries, items)
    for _ in range(n_pages):
        query = int(rng.integers(len(queries)))
        chosen = np.zeros(N_SHOWN, dtype=bool)
        chosen[rng.integers(N_SHOWN)] = True
        stream.add(query, stream.page(query, N_SHOWN), chosen)
    return stream
