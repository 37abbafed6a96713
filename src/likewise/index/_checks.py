"""Checks of ids, items and queries."""

import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import numpy as np

from likewise._validation import is_sparse, n_rows
from likewise.index._fold_plan import FoldPlan
from likewise.similarities import Similarity, as_objects, check_item_ids

_MAX_LISTED = 3
_MAX_COMPARED = 10_000  # ids: comparing more takes too long for a suggestion


def check_ids(ids: Any) -> list[Any]:
    """Return ids as a list of unique strings and integers."""
    listed = [plain_id(identifier) for identifier in check_item_ids(ids, "ids")]
    if not listed:
        raise ValueError("ids is empty; at least one is needed.")
    return listed


def plain_id(identifier: Any) -> str | int:
    """Return an id as a plain str or int."""
    if isinstance(identifier, str):
        return str(identifier)
    if is_id(identifier):
        if not -(2**63) <= int(identifier) < 2**63:
            raise ValueError(f"ids must fit into 64 bits, but {identifier!r} was given.")
        return int(identifier)
    raise TypeError(f"ids must be whole numbers or text, but {identifier!r} was given.")


def is_id(identifier: Any) -> bool:
    """Return whether something can be an id: a string or an integer."""
    return isinstance(identifier, str | numbers.Integral) and not isinstance(
        identifier, bool | np.bool_
    )


def check_items(similarity: Similarity, items: Any, n_ids: int, width: int | None = None) -> Any:
    """Return items in the form in which they are stored; `width` is that of the stored ones."""
    if similarity.takes == "objects":
        checked: Any = list(as_objects(items, "items"))
    else:
        checked = similarity.check_items(items, "items")
    if n_rows(checked) != n_ids:
        raise ValueError(f"ids has {n_ids} entries, but items has {n_rows(checked)} rows.")
    if width is not None and checked.shape[1] != width:
        raise ValueError(
            f"items has {checked.shape[1]} columns, but those that are stored have {width}."
        )
    return checked


def check_stored_items(store: Any, plan: FoldPlan) -> None:
    """Refuse a plan that cannot serve the items of a store in memory.

    A similarity of the same kind as the present one can differ only in the width that it takes, for
    which one row is checked.
    """
    present, similarity = store.plan.similarity, plan.similarity
    norms = [getattr(each, "norm", None) for each in (present, similarity)]
    same_kind = type(present) is type(similarity) and norms[0] == norms[1]
    for slots, rows in store.blocks():
        checked = [rows[:1]] if same_kind else [rows, store.moved(slots).originals]
        with stored_items_refused():
            for each in checked:
                if each is not None:
                    check_items(similarity, each, n_rows(each))
                    if plan.restricts_items:
                        plan.fold_items(each)
        if same_kind:
            return


@contextmanager
def stored_items_refused() -> Iterator[None]:
    """Say in errors that they concern stored items, which the similarity does not fit."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"similarity cannot score the items that are stored: {error}") from error


def check_queries(similarity: Similarity, queries: Any, width: int | None) -> Any:
    """Return queries in the form in which they are scored; `width` is that of the items."""
    checked = similarity.check_queries(queries, "queries")
    learned = getattr(similarity, "W", getattr(similarity, "L", None))
    if learned is not None and learned.ndim == 0 and checked.shape[1] != width:
        raise ValueError(
            f"queries has {checked.shape[1]} columns, but the items that are stored have {width}."
        )
    return checked


def refuse_known(ids: list[Any], store: Any) -> None:
    """Refuse ids that are stored already."""
    stored = store.known(ids)
    if stored:
        known = [identifier for identifier in ids if identifier in stored]
        raise ValueError(
            f"ids must be new, but {_few(known)} stored already: use update to replace an item."
        )


def refuse_unknown(ids: list[Any], store: Any, name: str = "ids") -> None:
    """Refuse ids that are not stored, with a suggestion."""
    stored = store.known(ids)
    missing = [identifier for identifier in ids if identifier not in stored]
    if not missing:
        return
    known = {str(i): i for i in store.ids} if len(store) <= _MAX_COMPARED else {}
    near = get_close_matches(str(missing[0]), known, n=1)
    hint = f" Did you mean {known[near[0]]!r}?" if near else ""
    raise ValueError(f"{name} must be stored, but {_few(missing)} not.{hint}")


def _few(ids: list[Any]) -> str:
    listed = ", ".join(repr(identifier) for identifier in ids[:_MAX_LISTED])
    more = f" and {len(ids) - _MAX_LISTED} more" if len(ids) > _MAX_LISTED else ""
    return f"{listed}{more} {'is' if len(ids) == 1 else 'are'}"


def listed_ids(queries: Any) -> list[Any] | None:
    """Return the ids if `queries` is one id or a list of ids, and None if it is rows."""
    if isinstance(queries, str | numbers.Integral):
        return [plain_id(queries)]
    if is_sparse(queries) or not hasattr(queries, "__len__") or not len(queries):
        return None
    if isinstance(queries, np.ndarray):
        if queries.ndim != 1 or queries.dtype.kind not in "iuUO":
            return None
        queries = queries.tolist()
    if not isinstance(queries, list | tuple):
        return None
    if all(map(is_id, queries)):
        return [plain_id(q) for q in queries]
    return None
