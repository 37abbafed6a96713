"""The whole store in one database, and how to open it."""

import re
from pathlib import Path
from typing import Any

from likewise.server.store._items import Items
from likewise.server.store._records import Checkpoint, StoreStatus
from likewise.server.store._schema import Schema


class Store(Items, Schema):
    """Items, journal, checkpoints and versions of one model."""

    def initialize(self, notes: dict[str, str], similarity: bytes, learner: bytes | None) -> None:
        """Write the first version and the learner's initial state, unless they are there."""
        with self._transaction():
            self._increment("version", 0)  # locks out a concurrent initialization
            if self._note("live") is not None:
                return
            for name, value in {**notes, "live": "1", "gate": "open"}.items():
                self._set_note(name, value)
            self._add_version("file", 0, similarity, promoted=True)
            if learner is not None:
                self._set_checkpoint("start", Checkpoint(0, 0, 0, 0, learner))

    def set_learner(self, name: str, lexical: float | None = None) -> None:
        """Set the learner and the initial weight of the lexical score.

        A change of either restarts the learner from the first entry.
        """
        with self._transaction():
            self._increment("version", 0)
            if (self._note("learner"), self._lexical_weight()) != (name, lexical):
                self._set_note("learner", name)
                self._execute("delete from note where name = 'lexical'")
                if lexical is not None:
                    self._set_note("lexical", repr(float(lexical)))
                self._reset_learner()

    def save_checkpoint(self, checkpoint: Checkpoint, *args: Any, **options: Any) -> bool:
        """Write a checkpoint, as in `Versions`, and erase what it no longer needs."""
        with self._transaction():
            saved = super().save_checkpoint(checkpoint, *args, **options)
            if saved:
                self._erase_undone(checkpoint.entry)
            return saved

    def status(self) -> StoreStatus:
        """Return the counters, read in one transaction."""
        with self._transaction(read_only=True):
            notes = dict(
                self._execute("select name, value from note where name in ('live', 'gate')")
            )
            counts = dict(self._execute("select name, value from counter"))
            ((applied,),) = self._execute("select coalesce(max(position), 0) from checkpoint")
        return StoreStatus(
            int(notes.get("live", 0)),
            notes.get("gate") == "held",
            int(counts["item"]),
            int(counts["position"]),
            int(applied),
            int(counts["version"]),
        )


def open_store(location: str, *, schema: str = "likewise", durable: bool = True) -> Store:
    """Open a store, or create one.

    Parameters
    ----------
    location : str
        A file, or ``postgresql://...``.
    schema : str, default="likewise"
        The schema of a PostgreSQL database.
    durable : bool, default=True
        Whether a commit to a file survives a power failure.
    """
    if location.startswith(("postgresql://", "postgres://")):
        if re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema) is None:
            raise ValueError(
                "schema must consist of lower-case letters, digits and _, but "
                f"{schema!r} was given."
            )
        from likewise.server.store._postgres import PostgresStore

        return PostgresStore(location, schema)
    if "://" in location:
        raise ValueError(f"store must be a file or postgresql://..., but {location!r} was given.")
    path = Path(location)
    if path.is_dir():
        raise IsADirectoryError(f"store must be a file, but {path} is a folder.")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"store must be in an existing folder, but there is no folder {path.parent}."
        )
    from likewise.server.store._sqlite import SqliteStore

    return SqliteStore(path, durable=durable)
