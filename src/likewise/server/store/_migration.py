"""Bring a store that an earlier version wrote to the present form."""

import json
from collections.abc import Sequence
from typing import Any

from likewise.server.store._database import Database
from likewise.server.store._journal import body_of
from likewise.server.store._records import Page

SCHEMA = 2
_FIRST = 1  # had no note of it, and comparisons instead of pages
_ADDED = {
    "checkpoint": [("twin", "{binary}")],
    "version": [("recipe", "text"), ("offsets", "{binary}"), ("twin", "{binary}")],
}
_ENTRIES_AT_A_TIME = 500


class Migration(Database):
    """What is done when a store is opened, within one transaction."""

    def _migrate(self, binary: str) -> None:
        """Take up a store of an earlier form; refuse one of a later form.

        Comparisons become pages of two. What was learned is learned again from the journal, and
        the version that is live stays live.
        """
        known = int(self._note("schema") or _FIRST)
        if known > SCHEMA:
            raise ValueError(
                f"the store was written by a later version of likewise (its form is {known}, and "
                f"this version knows {SCHEMA}): use that version, or another --store."
            )
        if known == SCHEMA:
            return
        for table, columns in _ADDED.items():
            there = self._columns(table)
            for name, kind in columns:
                if name not in there:
                    self._run(f"alter table {table} add column {name} {kind.format(binary=binary)}")
        self._turn_comparisons_into_pages()
        ((position,),) = self._run(
            "select coalesce(max(position), 0) from version "
            "where origin = 'learned' and promoted is not null"
        )
        self._set_note("judged_from", str(position))
        self._forget_progress()
        self._set_note("schema", str(SCHEMA))

    def _turn_comparisons_into_pages(self) -> None:
        last = 0
        while rows := self._run(
            "select number, body from entry where number > ? order by number limit ?",
            [last, _ENTRIES_AT_A_TIME],
        ):
            last = rows[-1][0]
            self._run_many(
                "update entry set body = ? where number = ?",
                [(body_of(_pages(json.loads(body))), number) for number, body in rows],
            )

    def _forget_progress(self) -> None:
        """Let the learner begin again, from the first entry of the journal."""
        self._run("delete from checkpoint where name = 'latest'")
        self._run("delete from progress")


def _pages(comparisons: Sequence[Sequence[Any]]) -> list[Page]:
    return [Page.of_two(query, closer, farther) for query, closer, farther, _ in comparisons]
