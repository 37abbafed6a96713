"""The learner's checkpoints, and the versions of the similarity."""

import json
from collections.abc import Sequence
from dataclasses import asdict, astuple
from math import inf
from time import time
from typing import Any

from likewise.server.store._database import Database
from likewise.server.store._records import (
    Candidate,
    Checkpoint,
    Evaluation,
    NotFound,
    NotSupported,
    Recipe,
    SavedStates,
    Verdict,
    VersionFiles,
    VersionInfo,
)

_KEPT_CANDIDATES = 20  # versions that were never live and whose model files are kept


class Versions(Database):
    """The tables of checkpoints, progress and versions."""

    def checkpoint(self, *, initial: bool = False) -> Checkpoint | None:
        """Return the learner's last or initial state; None if the model cannot learn."""
        with self._transaction(read_only=True):
            rows = self._execute(
                "select entry, position, asked, foretold, state, twin from checkpoint "
                "where name = 'start' or name = ? order by entry desc limit 1",
                ["start" if initial else "latest"],
            )
        if not rows:
            return None
        entry, position, predicted, correct, state, twin = rows[0]
        state, twin = bytes(state), None if twin is None else bytes(twin)
        return Checkpoint(entry, position, predicted, correct, state, twin)

    def checkpoint_entry(self) -> int:
        """Return the number of the last entry in the learner's last state."""
        with self._transaction(read_only=True):
            ((entry,),) = self._execute("select coalesce(max(entry), 0) from checkpoint")
        return int(entry)

    def save_checkpoint(
        self,
        checkpoint: Checkpoint,
        progress: Sequence[tuple[int, int, int]] = (),
        candidate: Candidate | None = None,
        saved_states: SavedStates | None = None,
    ) -> bool:
        """Write a checkpoint with its progress, candidate and saved states in one transaction.

        The candidate is promoted if it passes and the gate is open. If the version that it was
        compared with is no longer live, nothing is written and the answer is False.
        """
        with self._transaction():
            if candidate is not None:
                self._increment("version", 0)
                if int(self._note("live") or 0) != candidate.verdict.live:
                    return False
                self._add_candidate(candidate, checkpoint.position)
            self._set_checkpoint("latest", checkpoint)
            if saved_states is not None:
                self._change_saved_states(saved_states)
            self._execute_many(
                "insert into progress (position, asked, foretold) values (?, ?, ?) "
                "on conflict (position) do nothing",
                progress,
            )
            return True

    def saved_state(self, before: int) -> tuple[int, tuple[bytes, bytes]] | None:
        """Return the last saved state before an entry, with the number of its last entry."""
        with self._transaction(read_only=True):
            rows = self._execute(
                "select entry, state, twin from saved_state where entry < ? "
                "order by entry desc limit 1",
                [before],
            )
        if not rows:
            return None
        entry, state, twin = rows[0]
        return int(entry), (bytes(state), bytes(twin))

    def _change_saved_states(self, states: SavedStates) -> None:
        if states.dropped_from is not None:
            self._execute("delete from saved_state where entry >= ?", [states.dropped_from])
        for entry, (state, twin) in states.added.items():
            self._execute("delete from saved_state where entry = ?", [entry])
            self._execute(
                "insert into saved_state (entry, state, twin) values (?, ?, ?)",
                [entry, state, twin],
            )
        for (entry,) in self._execute("select entry from saved_state"):
            if not states.kept(entry):
                self._execute("delete from saved_state where entry = ?", [entry])

    def _add_candidate(self, candidate: Candidate, position: int) -> None:
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
            self._set_live(number)
            self._set_note("judged_from", str(position))

    def gate_state(self) -> tuple[int, int]:
        """Return the position of the last automatic promotion, and the number of tests since."""
        with self._transaction(read_only=True):
            return int(self._note("judged_from") or 0), int(self._note("tests") or 0)

    def progress(self) -> list[tuple[int, int, int]]:
        """Return (position, comparisons predicted so far, correct predictions so far)."""
        with self._transaction(read_only=True):
            rows = self._execute("select position, asked, foretold from progress order by position")
        return [(int(row[0]), int(row[1]), int(row[2])) for row in rows]

    def versions(self) -> list[VersionInfo]:
        """Return all versions, the newest first."""
        with self._transaction(read_only=True):
            rows = self._execute(
                "select number, origin, position, created, promoted, held, recipe, verdict, "
                "similarity is not null from version order by number desc"
            )
        return [_decode_version(row) for row in rows]

    def version_files(self, version: int) -> VersionFiles:
        """Return the model files of a version."""
        with self._transaction(read_only=True):
            return self._version_files(version)

    def make_live(self, version: int, *, rollback: bool) -> None:
        """Make a version live; a rollback closes the gate, a promotion opens it."""
        with self._transaction():
            self._increment("version", 0)
            self._version_files(version)
            ((promoted,),) = self._execute(
                "select promoted from version where number = ?", [version]
            )
            if rollback and promoted is None:
                raise NotSupported(f"version {version} was never live: promote it instead.")
            self._execute("update version set promoted = ? where number = ?", [time(), version])
            self._set_live(version)
            self._set_note("gate", "held" if rollback else "open")

    def _set_live(self, version: int) -> None:
        self._set_note("live", str(version))
        self._execute("delete from served")  # a new comparison with candidates begins

    def candidate(self) -> int | None:
        """Return the newest candidate that is better than the live version, by its verdict.

        Versions up to the last one that was ever live do not count: they were replaced by it.
        """
        with self._transaction(read_only=True):
            live, versions = int(self._note("live") or 0), self.versions()
        for version in versions:
            if version.promoted is not None:
                return None
            verdict = version.verdict
            if version.available and verdict is not None and verdict.live == live:
                before, after = verdict.overall.live, verdict.overall.candidate
                if before is not None and after is not None and after > before:
                    return version.number
        return None

    def count_searches(self, searches: dict[tuple[int, int], int]) -> None:
        """Add numbers of searches by (live version, version that answered)."""
        with self._transaction():
            self._execute_many(
                "insert into served (live, version, searches) values (?, ?, ?) "
                "on conflict (live, version) do update "
                "set searches = served.searches + excluded.searches",
                [(live, version, n) for (live, version), n in searches.items()],
            )

    def searches(self) -> dict[tuple[int, int], int]:
        """Return the searches counted since the last change of the live version."""
        with self._transaction(read_only=True):
            rows = self._execute("select live, version, searches from served")
        return {(int(live), int(version)): int(n) for live, version, n in rows}

    def _set_checkpoint(self, name: str, checkpoint: Checkpoint) -> None:
        self._execute("delete from checkpoint where name = ?", [name])
        self._execute(
            "insert into checkpoint (name, entry, position, asked, foretold, state, twin) "
            "values (?, ?, ?, ?, ?, ?, ?)",
            [name, *astuple(checkpoint)],
        )

    def _reset_learner(self) -> None:
        """Delete the learner's progress: it restarts from the first entry of the journal."""
        self._execute("delete from checkpoint where name = 'latest'")
        self._execute("delete from saved_state")
        self._execute("delete from progress")

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
        number, now = self._increment("version", 1), time()
        learned: tuple[Any, ...] = (None, None, None, None)
        if candidate is not None:
            verdict = json.dumps(asdict(candidate.verdict))
            recipe = json.dumps(_encode_recipe(candidate.recipe))
            learned = verdict, recipe, candidate.offsets, candidate.twin
        at = now if promoted else None
        self._execute(
            "insert into version (number, origin, position, created, promoted, held, similarity, "
            "verdict, recipe, offsets, twin) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [number, origin, position, now, at, int(held), similarity, *learned],
        )
        self._execute(
            "update version set similarity = null, offsets = null, twin = null "
            "where promoted is null and number <= ?",
            [number - _KEPT_CANDIDATES],
        )
        return number

    def _version_files(self, version: int) -> VersionFiles:
        rows = self._execute(
            "select similarity, offsets, twin, recipe from version where number = ?", [version]
        )
        if not rows:
            raise NotFound(f"there is no version {version}.")
        similarity, *others, recipe = rows[0]
        if similarity is None:
            raise NotSupported(
                f"version {version} was never live, and its files were deleted: only the last "
                f"{_KEPT_CANDIDATES} such versions are kept."
            )
        offsets, twin = (None if part is None else bytes(part) for part in others)
        weight = self._lexical_weight() or 0.0
        if (
            recipe is not None
            and (learned := _decode_recipe(json.loads(recipe))).lexical is not None
        ):
            weight = learned.weight
        return VersionFiles(bytes(similarity), offsets, twin, weight)

    def lexical_weight(self) -> float | None:
        """Return the initial weight of the lexical score; None without one."""
        with self._transaction(read_only=True):
            return self._lexical_weight()

    def _lexical_weight(self) -> float | None:
        weight = self._note("lexical")
        return None if weight is None else float(weight)


def _decode_version(row: Sequence[Any]) -> VersionInfo:
    *plain, held, recipe, verdict, available = row
    decoded: list[Any] = [
        bool(held),
        None if recipe is None else _decode_recipe(json.loads(recipe)),
        None if verdict is None else _decode_verdict(json.loads(verdict)),
        bool(available),
    ]
    return VersionInfo(*plain, *decoded)


def _encode_recipe(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe for JSON, which has no infinity."""
    return asdict(recipe) | {"alpha": None if recipe.alpha == inf else recipe.alpha}


def _decode_recipe(parts: dict[str, Any]) -> Recipe:
    return Recipe(**(parts | {"alpha": inf if parts["alpha"] is None else parts["alpha"]}))


def _decode_verdict(parts: dict[str, Any]) -> Verdict | None:
    """Return a verdict; None for schema 1, which counted comparisons by position."""
    if "overall" not in parts:
        return None
    kinds = {kind: Evaluation(*parts[kind]) for kind in ("overall", "seen", "new")}
    return Verdict(**(parts | kinds))
