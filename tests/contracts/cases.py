"""Every kind of similarity, with rows that it scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import likewise as lw
from likewise.similarities import Similarity


@dataclass(frozen=True, eq=False)
class Case:
    """A similarity, and queries and items for it.

    Attributes
    ----------
    serves : index metrics that serve `items` as they are; other metrics are refused
    """

    name: str
    similarity: Similarity
    queries: Any
    items: Any
    serves: tuple[str, ...] = ()

    @property
    def has_rows(self) -> bool:
        return self.similarity.takes == "rows"


def _rows(n_rows: int, width: int, seed: int) -> np.ndarray:
    """Return rows of eighths in [0, 1], which any norm takes and whose sums are exact."""
    rng = np.random.default_rng(seed)
    rows: np.ndarray = rng.integers(1, 9, size=(n_rows, width)) / 8.0
    rows[rng.random(rows.shape) < 0.4] = 0.0
    rows[4] = rows[1]  # a duplicate
    rows[2] = 0.0
    return rows


QUERIES, ITEMS = _rows(7, 5, seed=1), _rows(11, 5, seed=2)
QUERIES[5] = ITEMS[3]
NARROW_ITEMS = _rows(11, 3, seed=3)
UNIT_ITEMS = np.vstack([np.eye(5)[[0, 3, 1, 3, 2, 4]], [[0.6, 0.8, 0.0, 0.0, 0.0]]])

_form = np.random.default_rng(4).integers(-8, 9, size=(5, 5)) / 4.0
SQUARE, SYMMETRIC, RECTANGULAR = _form, _form + _form.T, _form[:, :3]
DIAGONAL, LOW_RANK = _form[0], _form[:2]

WORDS = ["apple", "plum", "fig", "plum", "banana", "date", "elderberry"]
FRUITS = ["pear", "apple", "peach", "fig", "fig", "apricot", "lime", "kiwi", "papaya"]


def letters_in_common(a: str, b: str) -> int:
    return len(set(a) & set(b))


def common_share_of_first(a: str, b: str) -> float:
    return len(set(a) & set(b)) / len(a)


def length_difference(a: str, b: str) -> int:
    return abs(len(a) - len(b))


def _bilinear(name: str, W: Any, norm: Any, items: np.ndarray = ITEMS) -> Case:
    # Rows 2 of the items are zero: Euclid cannot serve them under the cosine.
    serves = {"none": ("inner_product",), "cosine": ("cosine", "inner_product")}.get(norm, ())
    return Case(f"bilinear-{name}-{norm}", lw.Bilinear(W, norm=norm), QUERIES, items, serves)


def _mahalanobis(name: str, L: Any) -> Case:
    serves = ("euclidean", "inner_product")
    return Case(f"mahalanobis-{name}", lw.Mahalanobis(L), QUERIES, ITEMS, serves)


_EVERY_METRIC = ("inner_product", "cosine", "euclidean")
_matrix = np.random.default_rng(5).integers(0, 6, size=(7, 9)) / 4.0
_columns = np.array([3, 0, 8, 1, 7, 2, 6])

CASES = [
    _mahalanobis("number", 0.5),
    _mahalanobis("diagonal", DIAGONAL),
    _mahalanobis("square", SQUARE),
    _mahalanobis("low-rank", LOW_RANK),
    _mahalanobis("float32", SQUARE.astype(np.float32)),
    *(
        _bilinear(name, W, norm)
        for norm in ("none", "cosine", "dice", "jaccard")
        for name, W in {
            "number": -0.5,
            "diagonal": DIAGONAL,
            "square": SQUARE,
            "symmetric": SYMMETRIC,
            "float32": SQUARE.astype(np.float32),
        }.items()
    ),
    *(
        _bilinear("rectangular", RECTANGULAR, norm, NARROW_ITEMS)
        for norm in ("none", "cosine", "dice")
    ),
    Case("bilinear-unit-none", lw.Bilinear(SQUARE), QUERIES, UNIT_ITEMS, _EVERY_METRIC),
    Case(
        "bilinear-nonzero-cosine",
        lw.Bilinear(SQUARE, norm="cosine"),
        QUERIES,
        ITEMS[[0, 1, 3, 4, 5]],
        _EVERY_METRIC,
    ),
    Case(
        "euclidean", lw.as_similarity("euclidean"), QUERIES, ITEMS, ("euclidean", "inner_product")
    ),
    Case("cosine", lw.as_similarity("cosine"), QUERIES, ITEMS, ("cosine", "inner_product")),
    Case("dot", lw.as_similarity("dot"), QUERIES, ITEMS, ("inner_product",)),
    Case("dice", lw.as_similarity("dice"), QUERIES, ITEMS),
    Case("jaccard", lw.as_similarity("jaccard"), QUERIES, ITEMS),
    Case(
        "one-row-each",
        lw.Mahalanobis(SQUARE),
        QUERIES[:1],
        ITEMS[:1],
        ("euclidean", "inner_product"),
    ),
    Case("ranked", lw.Ranked(ITEMS), QUERIES, ITEMS),
    Case("ranked-transductive", lw.Ranked(ITEMS, transductive=True), QUERIES, ITEMS),
    Case("ranked-cosine", lw.Ranked(ITEMS, "cosine"), QUERIES, ITEMS),
    Case("ranked-learned", lw.Ranked(ITEMS, lw.Mahalanobis(LOW_RANK)), QUERIES, ITEMS),
    Case(
        "ranked-objects",
        lw.Ranked(FRUITS, lw.from_callable(common_share_of_first)),
        WORDS,
        FRUITS,
    ),
    Case("ranked-precomputed", lw.Ranked(_columns, "precomputed"), _matrix, _columns),
    Case("naive", lw.Naive(), QUERIES, ITEMS),
    Case("naive-learned", lw.Naive(lw.Mahalanobis(SQUARE)), QUERIES, ITEMS),
    Case("naive-precomputed", lw.Naive("precomputed_distance"), _matrix, _columns),
    Case("from-callable", lw.from_callable(common_share_of_first), WORDS, FRUITS),
    Case("from-symmetric", lw.from_callable(letters_in_common, symmetric=True), WORDS, FRUITS),
    Case("from-distance", lw.from_distance(length_difference, symmetric=True), WORDS, FRUITS),
    Case("cityblock", lw.as_similarity("cityblock"), QUERIES, ITEMS),
    Case("levenshtein", lw.as_similarity("levenshtein"), WORDS, FRUITS),
    Case("quantized", lw.distances.quantize("cityblock", [0.4, 1.0]), QUERIES, ITEMS),
    Case("quantized-similarity", lw.distances.quantize("dot", [-1.0, -0.3]), QUERIES, ITEMS),
    Case("ranked-average", lw.Ranked(ITEMS, ties="average"), QUERIES, ITEMS),
    Case("ranked-distance", lw.Ranked(FRUITS, "lcs", ties="average"), WORDS, FRUITS),
    Case("precomputed", lw.as_similarity("precomputed"), _matrix, _columns),
    Case("precomputed-distance", lw.as_similarity("precomputed_distance"), _matrix, _columns),
]
