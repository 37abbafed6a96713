"""The items that are served, at one moment."""

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from likewise._validation import sample_rows
from likewise.server.store._records import ItemId, NotThereError, StoredItem


class Catalogue:
    """Items by id, in the order they came; it never changes.

    Parameters
    ----------
    items : dict
        By their ids as text.
    change : int
        The last change of the store that it knows.
    """

    def __init__(self, items: dict[str, StoredItem] | None = None, change: int = 0) -> None:
        self.items = {} if items is None else items
        self.change = change

    def __len__(self) -> int:
        return len(self.items)

    def after(self, came: Iterable[StoredItem], gone: set[str], change: int) -> "Catalogue":
        """Return the catalogue with some items come or replaced, and others gone."""
        items = {name: item for name, item in self.items.items() if name not in gone}
        items.update({str(item.id): item for item in came})
        return Catalogue(items, change)

    def item(self, name: ItemId) -> StoredItem:
        """Return the item of an id."""
        found = self.items.get(str(name))
        if found is None:
            raise NotThereError(f"there is no item {name!r}.")
        return found

    @cached_property
    def list(self) -> Sequence[StoredItem]:
        """All items, to be asked for by number."""
        return tuple(self.items.values())

    @cached_property
    def rows(self) -> np.ndarray:
        """The numbers of all items, a row each."""
        return np.array([item.vector for item in self.list], dtype=np.float32)

    @cached_property
    def places(self) -> dict[str, int]:
        """The row of each id."""
        return {name: place for place, name in enumerate(self.items)}

    def sample(self, n: int) -> np.ndarray:
        """Return the rows of at most `n` items, always the same ones, in order."""
        return sample_rows(len(self), n)
