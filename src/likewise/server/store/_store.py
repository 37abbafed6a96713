"""All that a server keeps, in one database."""

from likewise.server.store._items import Items
from likewise.server.store._journal import Journal
from likewise.server.store._learned import Learned
from likewise.server.store._migration import Migration
from likewise.server.store._records import Checkpoint, Pulse


class Store(Items, Journal, Learned, Migration):
    """Items, the journal and what was learned, in tables of their own."""

    def begin(self, notes: dict[str, str], similarity: bytes, start: bytes | None) -> None:
        """Write down, the first time, what is served: its first version, and a learner's start."""
        with self._transaction():
            self._count("version", 0)  # waits for whoever begins at the same time
            if self._note("live") is not None:
                return
            for name, value in {**notes, "live": "1", "gate": "open"}.items():
                self._set_note(name, value)
            self._add_version("file", 0, similarity, promoted=True)
            if start is not None:
                self._set_checkpoint("start", Checkpoint(0, 0, 0, 0, start))

    def choose_learner(self, name: str) -> None:
        """Note which learner learns; another than before begins again from the first entry."""
        with self._transaction():
            self._count("version", 0)
            if self._note("learner") != name:
                self._set_note("learner", name)
                self._forget_progress()

    def pulse(self) -> Pulse:
        """Return what changes, all at one moment."""
        with self._transaction(reads=True):
            notes = dict(self._run("select name, value from note where name in ('live', 'gate')"))
            counts = dict(self._run("select name, value from counter"))
            ((applied,),) = self._run("select coalesce(max(position), 0) from checkpoint")
        return Pulse(
            int(notes.get("live", 0)),
            notes.get("gate") == "held",
            int(counts["item"]),
            int(counts["position"]),
            int(applied),
        )
