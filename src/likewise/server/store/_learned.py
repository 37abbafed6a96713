"""What a store keeps of learning: the learner's state, and versions of what it learned."""

import json
from collections.abc import Sequence
from dataclasses import asdict, astuple
from math import inf
from time import time
from typing import Any, NamedTuple

from likewise.server.store._database import Database
from likewise.server.store._records import (
    Candidate,
    Checkpoint,
    Judged,
    NotPossibleError,
    NotThereError,
    Recipe,
    Verdict,
    VersionInfo,
)

_KEPT_CANDIDATES = 20  # of versions that were never live, whose numbers are kept


class Files(NamedTuple):
    """What a version consists of, as model files: see `Candidate`."""

    similarity: bytes
    offsets: bytes | None
    twin: bytes | None


class Learned(Database):
    """What was learned, and which version of it is live."""

    def checkpoint(self, *, start: bool = False) -> Checkpoint | None:
        """Return the learner's last state, or its start; None where nothing can be learned."""
        with self._transaction(reads=True):
            rows = self._run(
                "select entry, position, asked, foretold, state, twin from checkpoint "
                "where name = 'start' or name = ? order by entry desc limit 1",
                ["start" if start else "latest"],
            )
        if not rows:
            return None
        entry, position, predicted, correct, state, twin = rows[0]
        state, twin = bytes(state), None if twin is None else bytes(twin)
        return Checkpoint(entry, position, predicted, correct, state, twin)

    def checkpoint_entry(self) -> int:
        """Return the last entry that the learner's last state knows."""
        with self._transaction(reads=True):
            ((entry,),) = self._run("select coalesce(max(entry), 0) from checkpoint")
        return int(entry)

    def keep(
        self,
        checkpoint: Checkpoint,
        progress: Sequence[tuple[int, int, int]] = (),
        candidate: Candidate | None = None,
    ) -> bool:
        """Write a state and what came with it, at once.

        A candidate is written beside it, and promoted if it passes and the gate is open. Where the
        version it was compared with is no longer live, nothing is written: False.
        """
        with self._transaction():
            if candidate is not None:
                self._count("version", 0)
                if int(self._note("live") or 0) != candidate.verdict.live:
                    return False
                self._offer(candidate, checkpoint.position)
            self._set_checkpoint("latest", checkpoint)
            self._run_many(
                "insert into progress (position, asked, foretold) values (?, ?, ?) "
                "on conflict (position) do nothing",
                progress,
            )
            return True

    def _offer(self, candidate: Candidate, position: int) -> None:
        verdict, held = candidate.verdict, self._note("gate") == "held"
        promoted = verdict.passes and not held
        number = self._add_version(
            "learned",
            position,
            candidate.similarity,
            candidate,
            held=held and verdict.passes,
            promoted=promoted,
        )
        self._set_note("tests", "0" if promoted else str(verdict.test))
        if promoted:
            self._set_note("live", str(number))
            self._set_note("judged_from", str(position))

    def judging(self) -> tuple[int, int]:
        """Return the position of the last automatic promotion, and the tests since."""
        with self._transaction(reads=True):
            return int(self._note("judged_from") or 0), int(self._note("tests") or 0)

    def progress(self) -> list[tuple[int, int, int]]:
        """Return positions, comparisons predicted up to there, and how many were correct."""
        with self._transaction(reads=True):
            rows = self._run("select position, asked, foretold from progress order by position")
        return [(int(row[0]), int(row[1]), int(row[2])) for row in rows]

    def versions(self) -> list[VersionInfo]:
        """Return all versions, the newest first."""
        with self._transaction(reads=True):
            rows = self._run(
                "select number, origin, position, created, promoted, held, recipe, verdict, "
                "similarity is not null from version order by number desc"
            )
        return [_version(*row) for row in rows]

    def files(self, version: int) -> Files:
        """Return what a version consists of."""
        with self._transaction(reads=True):
            return self._files(version)

    def make_live(self, version: int, *, back: bool) -> None:
        """Let a version answer from now on; going `back` holds the gate, promoting opens it."""
        with self._transaction():
            self._count("version", 0)
            self._files(version)
            ((promoted,),) = self._run("select promoted from version where number = ?", [version])
            if back and promoted is None:
                raise NotPossibleError(f"version {version} was never live: promote it instead.")
            self._run("update version set promoted = ? where number = ?", [time(), version])
            self._set_note("live", str(version))
            self._set_note("gate", "held" if back else "open")

    def _set_checkpoint(self, name: str, checkpoint: Checkpoint) -> None:
        self._run("delete from checkpoint where name = ?", [name])
        self._run(
            "insert into checkpoint (name, entry, position, asked, foretold, state, twin) "
            "values (?, ?, ?, ?, ?, ?, ?)",
            [name, *astuple(checkpoint)],
        )

    def _add_version(
        self,
        origin: str,
        position: int,
        similarity: bytes,
        candidate: Candidate | None = None,
        *,
        held: bool = False,
        promoted: bool = False,
    ) -> int:
        number, now = self._count("version", 1), time()
        learned: tuple[Any, ...] = (None, None, None, None)
        if candidate is not None:
            verdict = json.dumps(asdict(candidate.verdict))
            recipe = json.dumps(_recipe_for_json(candidate.recipe))
            learned = verdict, recipe, candidate.offsets, candidate.twin
        self._run(
            "insert into version (number, origin, position, created, promoted, held, similarity, "
            "verdict, recipe, offsets, twin) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                number,
                origin,
                position,
                now,
                now if promoted else None,
                int(held),
                similarity,
                *learned,
            ],
        )
        self._run(
            "update version set similarity = null, offsets = null, twin = null "
            "where promoted is null and number <= ?",
            [number - _KEPT_CANDIDATES],
        )
        return number

    def _files(self, version: int) -> Files:
        rows = self._run(
            "select similarity, offsets, twin from version where number = ?", [version]
        )
        if not rows:
            raise NotThereError(f"there is no version {version}.")
        similarity, *others = rows[0]
        if similarity is None:
            raise NotPossibleError(
                f"version {version} was never live, and too many came after it: it was let go."
            )
        offsets, twin = (None if part is None else bytes(part) for part in others)
        return Files(bytes(similarity), offsets, twin)


def _version(
    number: int,
    origin: str,
    position: int,
    created: float,
    promoted: float | None,
    held: int,
    recipe: str | None,
    verdict: str | None,
    available: Any,
) -> VersionInfo:
    return VersionInfo(
        number,
        origin,
        position,
        created,
        promoted,
        bool(held),
        None if recipe is None else _recipe_of_json(json.loads(recipe)),
        None if verdict is None else _verdict_of_json(json.loads(verdict)),
        bool(available),
    )


def _recipe_for_json(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe without infinity, which JSON does not have."""
    return asdict(recipe) | {"alpha": None if recipe.alpha == inf else recipe.alpha}


def _recipe_of_json(parts: dict[str, Any]) -> Recipe:
    return Recipe(**(parts | {"alpha": inf if parts["alpha"] is None else parts["alpha"]}))


def _verdict_of_json(parts: dict[str, Any]) -> Verdict | None:
    """Return a verdict; None for one of the first form, which counted comparisons by position."""
    if "overall" not in parts:
        return None
    return Verdict(**(parts | {kind: Judged(*parts[kind]) for kind in ("overall", "seen", "new")}))
