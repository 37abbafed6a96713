"""Questions about pairs of records, their answers in the journal, and what a matcher learns.

Every answer is in the journal before it is acknowledged: a page of one item, the right record,
which is chosen if it is the same as the left one. The keys of judging answers say so, since the
journal has no other place for it. A restarted server learns from the journal again.
"""

import csv
import io
import json
import secrets
from collections import deque
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from likewise._files import load
from likewise.matching import Matcher
from likewise.server._settings import Settings
from likewise.server.store import AlreadyExists, Entry, InvalidRequest, Page, Store, open_store

_ROUND = 10  # questions between two fits
_JUDGE, _LEARN = "judge-", "learn-"  # beginnings of keys
_SIDES = ("left", "right")


class Question(NamedTuple):
    """A pair to ask about; `judges` if its answer is never learned from."""

    key: str
    left_id: Any
    right_id: Any
    judges: bool


class Answer(NamedTuple):
    """An answer in the journal."""

    left_id: Any
    right_id: Any
    same: bool
    judges: bool


class PairService:
    """A matcher that asks, and learns from the answers of a journal after every ten questions.

    Parameters
    ----------
    settings : Settings
        The model is a matcher; `left`, `right` and `labels` are tables.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings, self._lock = settings, Lock()
        self._parameters = _open_matcher(settings.model)
        self._frames = [_read_frame(path) for path in _tables(settings)]
        self._rows = [_rows_by_id(frame) for frame in self._frames]
        self._labels = None if settings.labels is None else _read_frame(settings.labels)
        self._queue: deque[Question] = deque()
        self._learned: dict[str, Answer] = {}
        self._fit([])  # bad tables and labels are refused before a store is made
        self._store = open_store(settings.location, schema=settings.schema)
        try:
            _check_store(self._store, settings)
            self._revisions: dict[str, int] = {}
            self._change = 0
            self._find_revisions()
            self._store.erase_undone()
            self._answers, self._undone = self._journaled()
            self._curve: list[dict[str, Any]] = json.loads(self._store.note("curve") or "[]")
            self._learn()
        except BaseException:
            self._store.close()
            raise

    def stop(self) -> None:
        """Close the store."""
        self._store.close()

    def next(self) -> Question | None:
        """Return the next question; None if there is none. Between two rounds it learns first."""
        with self._lock:
            if not self._queue:
                self._learn()
                self._queue.extend(self._ask())
            return self._queue.popleft() if self._queue else None

    def record(self, side: int, name: Any) -> dict[str, Any]:
        """Return the compared fields of a record; missing cells are None."""
        frame, row = self._frames[-1 if side else 0], self._row(side, name)
        values = {field: frame.column(field)[row].as_py() for field in self._matcher.fields_}
        return {field: None if value in (None, "") else value for field, value in values.items()}

    def answer(self, key: str, left_id: Any, right_id: Any, *, same: bool) -> float:
        """Write an answer to the journal, and return the probability before it is learned."""
        if not key.startswith((_JUDGE, _LEARN)):
            raise InvalidRequest("key must be that of a question.")
        left_id, right_id = (self._id(side, name) for side, name in enumerate((left_id, right_id)))
        if len(self._frames) == 1 and left_id == right_id:
            raise InvalidRequest("left_id and right_id must be two different records.")
        with self._lock:
            if key in self._undone:
                raise AlreadyExists("the answer with this key was taken back.")
            left, right = self._stored((left_id, right_id))
            digest = sha256(json.dumps([str(left_id), str(right_id), same]).encode()).hexdigest()
            self._store.append(key, digest, [Page(left, (right,), (right,) if same else ())])
            self._answers[key] = Answer(left_id, right_id, same, key.startswith(_JUDGE))
            return float(self._matcher.explain(left_id, right_id).probability)

    def undo(self, key: str) -> None:
        """Take an answer back; it is asked again by the page that took it back."""
        with self._lock:
            self._store.undo(key)
            self._store.erase_undone()
            self._undone.add(key)
            self._answers.pop(key, None)

    def progress(self) -> dict[str, Any]:
        """Return the number of answers, and what they judged and forecast so far."""
        with self._lock:
            matcher, judged = self._matcher, self._matcher.judged_
            return {
                "answers": len(self._answers),
                "judging": sum(answer.judges for answer in self._answers.values()),
                "waiting": len(self._answers.keys() - self._learned.keys()),
                "candidates": len(matcher.candidates_),
                "forecast": matcher.forecast_,
                "judged": judged and {k: judged[k] for k in ("precision", "recall")},
                "curve": self._curve,
                "sentences": matcher.sentences_,
            }

    def export(self) -> str:
        """Return the answers as CSV, in the format of ``--labels``."""
        with self._lock:
            answers = self._latest(self._answers.values())
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("left_id", "right_id", "label", "judge"))
        writer.writerows((a.left_id, a.right_id, int(a.same), int(a.judges)) for a in answers)
        return text.getvalue()

    def title(self, side: int) -> str:
        """Return the name of a table."""
        return _tables(self.settings)[-1 if side else 0].stem

    def _ask(self) -> list[Question]:
        """Return the questions of a round."""
        return [
            Question(
                (_JUDGE if row["judge"] else _LEARN) + secrets.token_hex(12),
                row["left_id"],
                row["right_id"],
                bool(row["judge"]),
            )
            for row in self._matcher.ask(_ROUND).to_pylist()
        ]

    def _learn(self) -> None:
        """Learn from answers that are new; after an undo, from all of them again."""
        if self._answers == self._learned:
            return
        answers = dict(self._answers)
        new = [answer for key, answer in answers.items() if key not in self._learned]
        taken_back = {self._pair(a) for key, a in self._learned.items() if key not in answers}
        if taken_back <= {self._pair(answer) for answer in new}:  # new answers replace old ones
            self._matcher.learn(_as_table(self._latest(new)))
        else:
            self._fit(self._latest(answers.values()))
        self._learned = answers
        self._note_point()

    def _pair(self, answer: Answer) -> tuple[str, ...]:
        """Return the ids of an answer, in one table without their order."""
        pair = str(answer.left_id), str(answer.right_id)
        return tuple(sorted(pair)) if len(self._frames) == 1 else pair

    def _latest(self, answers: Iterable[Answer]) -> list[Answer]:
        """Return the last answer about each pair: people may contradict each other."""
        return list({self._pair(answer): answer for answer in answers}.values())

    def _fit(self, answers: list[Answer]) -> None:
        fields = dict(self._parameters.fields_)
        matcher = Matcher(**{**self._parameters.get_params(), "fields": fields})
        left, right = self._frames[0], self._frames[1] if len(self._frames) > 1 else None
        self._matcher = matcher.fit(left, right, pairs=self._labels)
        if answers:
            self._matcher.learn(_as_table(answers))

    def _note_point(self) -> None:
        """Add a point to the curve, and store it."""
        n = len(self._answers)
        point = {
            "answers": n,
            "judged": _f1(self._matcher.judged_),
            "forecast": float(self._matcher.forecast_["f1"]),
        }
        self._curve = [*(p for p in self._curve if p["answers"] < n), point]
        self._store.set_note("curve", json.dumps(self._curve))

    def _row(self, side: int, name: Any) -> int:
        found = self._rows[min(side, len(self._rows) - 1)].get(str(name))
        if found is None:
            raise InvalidRequest(f"{_SIDES[side]}_id is {name!r}, but no record has this id.")
        return found

    def _id(self, side: int, name: Any) -> Any:
        """Return an id as the table has it."""
        row, frame = self._row(side, name), self._frames[min(side, len(self._frames) - 1)]
        return frame.column("id")[row].as_py() if "id" in frame.column_names else row

    def _stored(self, pair: tuple[Any, Any]) -> list[int]:
        """Return the revisions of two records, which the journal names; new ones are stored."""
        names = [f"{side} {name}" for side, name in zip(_SIDES, pair, strict=True)]
        new = [name for name in names if name not in self._revisions]
        if new:
            no_vector = np.zeros(1, dtype=np.float32)
            self._store.put_items([(name, no_vector, {}) for name in new])
            self._find_revisions()
        return [self._revisions[name] for name in names]

    def _find_revisions(self) -> None:
        added, _, self._change = self._store.items_since(self._change)
        self._revisions |= {str(item.id): item.revision for item in added}

    def _journaled(self) -> tuple[dict[str, Answer], set[str]]:
        """Return the answers in the journal by their keys, and the keys of those taken back."""
        entries: list[Entry] = []
        while part := self._store.entries(entries[-1].number if entries else 0):
            entries += part
        undone = {entry.undoes for entry in entries}
        names = {revision: name for name, revision in self._revisions.items()}
        found, taken_back = {}, set()
        for entry in entries:
            if entry.undoes is not None:
                continue
            if entry.number in undone:
                taken_back.add(entry.key)
                continue
            (page,) = entry.pages
            ids = [names[r].split(" ", 1)[1] for r in (page.query, *page.shown)]
            try:
                left, right = (self._id(side, name) for side, name in enumerate(ids))
            except InvalidRequest as error:
                raise ValueError(
                    f"the store has an answer whose {error} Give the tables of the answers, or "
                    "another --store."
                ) from error
            judges = entry.key.startswith(_JUDGE)
            found[entry.key] = Answer(left, right, bool(page.chosen), judges)
        return found, taken_back


def _tables(settings: Settings) -> list[Path]:
    assert settings.left is not None
    return [settings.left, *([] if settings.right is None else [settings.right])]


def _open_matcher(path: Path) -> Any:
    matcher = load(path)
    if not isinstance(matcher, Matcher):
        raise ValueError(f"--left needs a matcher, but {path} holds a {type(matcher).__name__}.")
    return matcher


def _read_frame(path: Path) -> Any:
    from likewise.tables import read_table

    return read_table(str(path)).rows


def _rows_by_id(frame: Any) -> dict[str, int]:
    ids = frame.column("id").to_pylist() if "id" in frame.column_names else range(frame.num_rows)
    return {str(name): row for row, name in enumerate(ids)}


def _check_store(store: Store, settings: Settings) -> None:
    """Fill a new store with the matcher; refuse that of another model."""
    content = settings.model.read_bytes()
    digest = sha256(content).hexdigest()
    known = store.note("model")
    if known is None:
        store.initialize({"model": digest}, content, None)
    elif known != digest:
        location = "in PostgreSQL" if store.kind == "postgresql" else settings.location
        raise ValueError(
            f"the store {location} belongs to another model than {settings.model}: give another "
            "--store."
        )


def _as_table(answers: list[Answer]) -> Any:
    import pyarrow

    return pyarrow.table(
        {
            "left_id": [str(answer.left_id) for answer in answers],
            "right_id": [str(answer.right_id) for answer in answers],
            "label": [int(answer.same) for answer in answers],
            "judge": [int(answer.judges) for answer in answers],
        }
    )


def _f1(judged: dict[str, Any] | None) -> float | None:
    """Return F1 by the judging answers; None if they do not tell."""
    if judged is None:
        return None
    precision, recall = judged["precision"][0], judged["recall"][0]
    if precision is None or recall is None:
        return None
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0
