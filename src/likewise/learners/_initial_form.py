"""Initial bilinear forms."""

from typing import Any

import numpy as np

from likewise._validation import check_choice
from likewise.similarities import Bilinear


def initial_form(init: Any, n_query: int, n_item: int, dtype: str, normalize: bool) -> np.ndarray:
    """Return W₀ as a new array; "auto" is the identity for equal numbers of features, else zero."""
    norm = "cosine" if normalize else "none"
    if isinstance(init, Bilinear):
        if init.norm != norm:
            raise ValueError(
                f"init has norm {init.norm!r}, but with normalize={normalize} it must have norm "
                f"{norm!r}."
            )
        init = init.W
    if isinstance(init, str):
        if init == "ridge":
            raise ValueError(
                "init 'ridge' is learned from labels, relevance, pairs or validated triplets: here "
                "it must be 'auto', 'identity', 'zero', an array or a Bilinear."
            )
        check_choice(init, "init", ("auto", "identity", "zero"), ["an array", "a Bilinear"])
        if init == "zero" or (init == "auto" and n_query != n_item):
            return np.zeros((n_query, n_item), dtype)
        init = 1.0
    array = np.asarray(init)
    if array.dtype.kind not in "fiub":
        raise TypeError(
            "init must be 'auto', 'identity', 'zero', an array or a Bilinear, but "
            f"{init!r} was given."
        )
    if array.ndim < 2 and n_query == n_item and array.shape in ((), (n_query,)):
        form = np.zeros((n_query, n_item), dtype)
        np.fill_diagonal(form, array)
        return form
    if array.shape != (n_query, n_item):
        kind = "the identity" if array.ndim == 0 else f"of shape {array.shape}"
        raise ValueError(f"init is {kind}, but queries have {n_query} features and items {n_item}.")
    if not np.isfinite(array).all():
        raise ValueError("init holds NaN or infinity; it must be finite.")
    return np.array(array, dtype=dtype, order="C")


def same_init(first: Any, second: Any) -> bool:
    """Return whether two values of `init` are equal."""
    if isinstance(first, Bilinear) and isinstance(second, Bilinear):
        return np.array_equal(first.W, second.W)
    return type(first) is type(second) and bool(np.array_equal(first, second))
