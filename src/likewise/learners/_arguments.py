"""What the online learners make of their arguments: a start, grades of pairs, refusals."""

from typing import Any

import numpy as np

from likewise._validation import Rows, check_choice, check_labels, check_rows, is_sparse, take
from likewise.similarities import Bilinear
from likewise.supervision import TripletStream, check_weights

_ROWS_AT_A_TIME = 1024


def starting_form(init: Any, n_query: int, n_item: int, dtype: str, normalize: bool) -> np.ndarray:
    """Return W₀ as a new array: the identity where widths are equal, else zero, unless told."""
    norm = "cosine" if normalize else "none"
    if isinstance(init, Bilinear):
        if init.norm != norm:
            raise ValueError(
                f"init has norm {init.norm!r}, but normalize={normalize} learns one with norm "
                f"{norm!r}."
            )
        init = init.W
    if isinstance(init, str):
        if init == "ridge":
            raise ValueError(
                "init 'ridge' is learned from labels, relevance, pairs or validated triplets: here "
                "it must be 'auto', 'identity', 'zero', an array or a Bilinear."
            )
        check_choice(init, "init", ("auto", "identity", "zero"))
        if init == "zero" or (init == "auto" and n_query != n_item):
            return np.zeros((n_query, n_item), dtype)
        init = 1.0
    given = np.asarray(init)
    if given.dtype.kind not in "fiub":
        raise TypeError(
            "init must be 'auto', 'identity', 'zero', an array or a Bilinear, but "
            f"{init!r} was given."
        )
    if given.ndim < 2 and n_query == n_item and given.shape in ((), (n_query,)):
        form = np.zeros((n_query, n_item), dtype)
        np.fill_diagonal(form, given)
        return form
    if given.shape != (n_query, n_item):
        what = "the identity" if given.ndim == 0 else f"of shape {given.shape}"
        raise ValueError(f"init is {what}, but queries have {n_query} features and items {n_item}.")
    if not np.isfinite(given).all():
        raise ValueError("init holds NaN or infinity; it must be finite.")
    return np.array(given, dtype=dtype, order="C")


def refuse_odd_rows(stream: TripletStream, queries: Rows, items: Rows | None) -> None:
    """Refuse NaN and infinity: in all rows, or where triplets are few, in those they point at."""
    if len(stream) >= queries.shape[0] + (0 if items is None else items.shape[0]):
        check_rows(queries, "queries")
        if items is not None:
            check_rows(items, "items")
        return
    for triplets, _ in stream.blocks(_ROWS_AT_A_TIME):
        sides = [(queries, triplets[:, 0], "queries"), (items, triplets[:, 1:].ravel(), "items")]
        if items is None:
            sides = [(queries, triplets.ravel(), "queries")]
        for rows, index, name in sides:
            used = take(rows, np.unique(index))
            if not np.isfinite(used.data if is_sparse(used) else used).all():
                check_rows(rows, name)  # says which row it is


def same_start(first: Any, second: Any) -> bool:
    if isinstance(first, Bilinear) and isinstance(second, Bilinear):
        return np.array_equal(first.W, second.W)
    return type(first) is type(second) and bool(np.array_equal(first, second))


def grades_of_pairs(
    pairs: Any, y: Any, weights: Any, queries: Rows, items: Rows
) -> tuple[Any, Any]:
    """Return pairs as a matrix of grades, 1 for similar and a stored 0 for not, and of weights."""
    from scipy.sparse import csr_array

    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0:
        raise ValueError(
            f"pairs must have two columns (query, item) and a row a pair, but has shape "
            f"{array.shape}."
        )
    if array.dtype.kind not in "iu":
        raise TypeError(f"pairs must hold whole row numbers, but {array.dtype} was given.")
    for column, rows, name in ((0, queries, "queries"), (1, items, "items")):
        outside = array[:, column][(array[:, column] < 0) | (array[:, column] >= rows.shape[0])]
        if len(outside):
            raise ValueError(
                f"pairs points at row {outside[0]}, but {name} has {rows.shape[0]} rows."
            )
    labels = check_labels(y, "y", array, "pairs")
    if not np.isin(labels, (-1, 0, 1)).all():
        raise ValueError("y must hold 1 for similar pairs and −1 or 0 for dissimilar ones.")
    shape = queries.shape[0], items.shape[0]
    keys = array[:, 0].astype(np.int64) * shape[1] + array[:, 1]
    keys, first, of_pair = np.unique(keys, return_index=True, return_inverse=True)
    similar = (labels > 0).astype(np.float64)
    if not similar.any():
        raise ValueError("y has no similar pair, so no item is closer than another.")
    contradicted = np.flatnonzero(similar != similar[first][of_pair])
    if len(contradicted):
        raise ValueError(
            f"pairs has {tuple(array[contradicted[0]].tolist())} both as similar and dissimilar."
        )
    position = np.divmod(keys, shape[1])
    grades = csr_array((similar[first], position), shape=shape)
    if weights is None:
        return grades, None
    weights = check_weights(weights, array, "pairs")
    return grades, csr_array((np.bincount(of_pair.ravel(), weights), position), shape=shape)
