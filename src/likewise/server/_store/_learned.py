"""What a store keeps of learning: the learner's state, and versions of what it learned."""

import json
from collections.abc import Sequence
from dataclasses import asdict, astuple
from time import time
from typing import Any

from likewise.server._records import (
    Checkpoint,
    NotPossibleError,
    NotThereError,
    Verdict,
    VersionInfo,
)
from likewise.server._store._database import Database

_KEPT_CANDIDATES = 20  # of versions that were never live, whose numbers are kept


class Learned(Database):
    """What was learned, and which version of it is live."""

    def checkpoint(self, *, start: bool = False) -> Checkpoint | None:
        """Return the learner's last state, or its start; None where nothing can be learned."""
        with self._transaction(reads=True):
            rows = self._run(
                "select entry, position, asked, foretold, state from checkpoint "
                "where name = 'start' or name = ? order by entry desc limit 1",
                ["start" if start else "latest"],
            )
        if not rows:
            return None
        entry, position, asked, foretold, state = rows[0]
        return Checkpoint(entry, position, asked, foretold, bytes(state))

    def checkpoint_entry(self) -> int:
        """Return the last entry that the learner's last state knows."""
        with self._transaction(reads=True):
            ((entry,),) = self._run("select coalesce(max(entry), 0) from checkpoint")
        return int(entry)

    def keep(
        self,
        checkpoint: Checkpoint,
        progress: Sequence[tuple[int, int, int]] = (),
        candidate: tuple[bytes, Verdict] | None = None,
    ) -> bool:
        """Write a state and what came with it, at once.

        A candidate is written beside it, and promoted if its verdict says so and the gate is open.
        Where the version it was compared with is no longer live, nothing is written: False.
        """
        with self._transaction():
            if candidate is not None:
                self._count("version", 0)
                similarity, verdict = candidate
                if int(self._note("live") or 0) != verdict.live:
                    return False
                held = self._note("gate") == "held"
                number = self._add_version(
                    "learned",
                    checkpoint.position,
                    similarity,
                    verdict,
                    held=held and verdict.beats,
                    promoted=verdict.beats and not held,
                )
                if verdict.beats and not held:
                    self._set_note("live", str(number))
            self._set_checkpoint("latest", checkpoint)
            self._run_many(
                "insert into progress (position, asked, foretold) values (?, ?, ?) "
                "on conflict (position) do nothing",
                progress,
            )
            return True

    def progress(self) -> list[tuple[int, int, int]]:
        """Return positions with how many comparisons were foretold up to there, and rightly."""
        with self._transaction(reads=True):
            rows = self._run("select position, asked, foretold from progress order by position")
        return [(int(row[0]), int(row[1]), int(row[2])) for row in rows]

    def versions(self) -> list[VersionInfo]:
        """Return all versions, the newest first."""
        with self._transaction(reads=True):
            rows = self._run(
                "select number, origin, position, created, promoted, held, verdict, "
                "similarity is not null from version order by number desc"
            )
        return [_version(*row) for row in rows]

    def similarity(self, version: int) -> bytes:
        """Return a version's numbers, as a model file holds them."""
        with self._transaction(reads=True):
            return self._similarity(version)

    def make_live(self, version: int, *, back: bool) -> None:
        """Let a version answer from now on; going `back` holds the gate, promoting opens it."""
        with self._transaction():
            self._count("version", 0)
            self._similarity(version)
            ((promoted,),) = self._run("select promoted from version where number = ?", [version])
            if back and promoted is None:
                raise NotPossibleError(f"version {version} was never live: promote it instead.")
            self._run("update version set promoted = ? where number = ?", [time(), version])
            self._set_note("live", str(version))
            self._set_note("gate", "held" if back else "open")

    def _set_checkpoint(self, name: str, checkpoint: Checkpoint) -> None:
        self._run("delete from checkpoint where name = ?", [name])
        self._run(
            "insert into checkpoint (name, entry, position, asked, foretold, state) "
            "values (?, ?, ?, ?, ?, ?)",
            [name, *astuple(checkpoint)],
        )

    def _add_version(
        self,
        origin: str,
        position: int,
        similarity: bytes,
        verdict: Verdict | None,
        *,
        held: bool,
        promoted: bool,
    ) -> int:
        number, now = self._count("version", 1), time()
        self._run(
            "insert into version "
            "(number, origin, position, created, promoted, held, verdict, similarity) "
            "values (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                number,
                origin,
                position,
                now,
                now if promoted else None,
                int(held),
                None if verdict is None else json.dumps(asdict(verdict)),
                similarity,
            ],
        )
        self._run(
            "update version set similarity = null where promoted is null and number <= ?",
            [number - _KEPT_CANDIDATES],
        )
        return number

    def _similarity(self, version: int) -> bytes:
        rows = self._run("select similarity from version where number = ?", [version])
        if not rows:
            raise NotThereError(f"there is no version {version}.")
        if rows[0][0] is None:
            raise NotPossibleError(
                f"version {version} was never live, and too many came after it: it was let go."
            )
        return bytes(rows[0][0])


def _version(
    number: int,
    origin: str,
    position: int,
    created: float,
    promoted: float | None,
    held: int,
    verdict: str | None,
    available: Any,
) -> VersionInfo:
    judged = None if verdict is None else Verdict(**json.loads(verdict))
    return VersionInfo(
        number, origin, position, created, promoted, bool(held), judged, bool(available)
    )
