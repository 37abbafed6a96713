"""Questions in the terminal: whether two records are the same."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

_ROUND = 10  # answers between two fits
_KEYS = {"y": 1, "n": 0, "s": "skip", "u": "undo", "q": "quit"}
_PROMPT = "the same? y(es), n(o), s(kip), u(ndo), q(uit): "


def ask_in_terminal(
    matcher: Any, frames: Sequence[Any], n: int, write: Callable[[Any], None]
) -> int:
    """Ask about `n` pairs, learn after every ten, and write the answers after each.

    Returns
    -------
    int
        Number of answers.
    """
    answers: list[dict[str, Any]] = []
    asked, ended = 0, False
    while asked < n and not ended:
        pairs = matcher.ask(min(_ROUND, n - asked)).to_pylist()
        if not pairs:
            break
        known = len(answers)
        ended = _ask(pairs, frames, asked, n, answers, write)
        asked += len(pairs)
        if len(answers) > known:
            matcher.learn(_as_table(answers[known:]))
    return len(answers)


def _ask(
    pairs: list[dict[str, Any]],
    frames: Sequence[Any],
    before: int,
    n: int,
    answers: list[dict[str, Any]],
    write: Callable[[Any], None],
) -> bool:
    """Ask about some pairs; return whether the person has quit."""
    place = 0
    given: list[bool] = []  # whether each question was answered, not skipped
    while place < len(pairs):
        pair = pairs[place]
        _show(pair, frames, f"{before + place + 1} of {n}")
        key = _key()
        if key == "quit":
            return True
        if key == "undo":
            if place:
                place -= 1
                if given.pop():
                    answers.pop()
            continue
        given.append(key != "skip")
        if key != "skip":
            answers.append({**pair, "label": key})
            write(_as_table(answers))
        place += 1
    return False


def _key() -> Any:
    """Return the answer that a person typed; the end of the input quits."""
    while True:
        sys.stderr.write(_PROMPT)
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            return "quit"
        letter = line.strip().lower()[:1]
        if letter in _KEYS:
            return _KEYS[letter]


def _show(pair: dict[str, Any], frames: Sequence[Any], title: str) -> None:
    """Print two records, field under field."""
    sys.stderr.write(f"\n{title}\n")
    left, right = (
        _record(frame, pair[side])
        for side, frame in (("left_id", frames[0]), ("right_id", frames[-1]))
    )
    names = [name for name in left if name in right]
    width = max(map(len, names))
    for name in names:
        for title, record in ((name, left), ("", right)):
            value = record[name]
            shown = "–" if value is None or value == "" else str(value)
            sys.stderr.write(f"  {title:<{width}}  {shown}\n")


def _record(frame: Any, name: Any) -> dict[str, Any]:
    """Return the record with an id, without the id."""
    row = frame.column("id").to_pylist().index(name) if "id" in frame.column_names else name
    return {n: frame.column(n)[row].as_py() for n in frame.column_names if n != "id"}


def _as_table(answers: list[dict[str, Any]]) -> Any:
    import pyarrow

    return pyarrow.Table.from_pylist(answers)
