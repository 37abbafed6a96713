"""Shared by all reproductions: rows of (setting, published, ours), and their files."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Protocol

from likewise._progress import LongWork, show_progress
from likewise._validation import unknown_name
from likewise.evaluation import Table
from likewise.exceptions import require_extra


@dataclass(frozen=True)
class Row:
    """One published figure and ours.

    Attributes
    ----------
    setting : str
        The data and the protocol.
    method : str
    published : float or None
        None where the paper gives no figure.
    ours : float or None
        None where it could not be measured; `note` says why.
    deviation : float or None
        Of ours, over splits.
    note : str
        Differences to the paper, or chosen parameters.
    about : bool
        Whether the published figure is approximate.
    """

    setting: str
    method: str
    published: float | None
    ours: float | None
    deviation: float | None = None
    note: str = ""
    about: bool = False


class UnknownSettingError(ValueError):
    """No setting of a reproduction has the given text in its name."""


class Reproduction(Protocol):
    """The interface of a module of this package."""

    PAPER: str

    def rows(self, only: str = "") -> Iterator[Row]:
        """Yield the rows as they are measured."""

    def figures(self, rows: list[Row]) -> Iterable[tuple[str, Any]]:
        """Yield names and matplotlib figures."""


def known() -> list[str]:
    """Return the names of all reproductions."""
    package = import_module("reproduce")
    return [module.name for module in iter_modules(package.__path__) if module.name[0] != "_"]


def reproduce(
    name: str,
    folder: str | os.PathLike[str],
    *,
    only: str = "",
    verbose: bool = False,
) -> list[Row]:
    """Run one reproduction and write NAME.json, NAME.md and its figures into `folder`.

    Ctrl-C ends it early and writes the rows so far. With `only`, settings whose name contains that
    text are measured, and other rows of an earlier run in the same folder are kept;
    UnknownSettingError if there is no such setting.
    """
    if name not in known():
        raise unknown_name(name, "NAME", known())
    paper: Any = import_module(f"reproduce.{name}")
    require_extra("matplotlib.figure", "plots", "the figures of a reproduction")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = _rows_of(folder / f"{name}.json") if only else []
    measured = paper.rows(only)
    with (
        show_progress(verbose),
        LongWork(f"reproducing {name}", unit="rows", partial_result="the rows so far") as work,
    ):
        for row in measured:
            rows = [r for r in rows if (r.setting, r.method) != (row.setting, row.method)]
            rows.append(row)
            report = {"paper": paper.PAPER, "rows": [asdict(row) for row in rows]}
            text = json.dumps(report, indent=2) + "\n"
            (folder / f"{name}.json").write_text(text, encoding="utf8")
            work.advance()
            if work.interrupted:
                break
        if only and work.done == 0 and not work.interrupted:
            raise UnknownSettingError(
                f"only must be in the name of a setting of {name}, but {only!r} was given."
            )
    shown = "\n\n".join(shown.to_markdown() for shown in tables(name, rows))
    text = f"# {paper.PAPER}\n\n{shown}\n"
    (folder / f"{name}.md").write_text(text, encoding="utf8")
    for title, figure in paper.figures(rows):
        slug = re.sub(r"\W+", "-", title).strip("-")
        figure.savefig(folder / f"{name}-{slug}.png", dpi=150, bbox_inches="tight")
    return rows


def _rows_of(path: Path) -> list[Row]:
    """Return the rows of an earlier run, if there was one."""
    if not path.is_file():
        return []
    return [Row(**row) for row in json.loads(path.read_text(encoding="utf8"))["rows"]]


def tables(name: str, rows: list[Row]) -> list[Table]:
    """Return the tables of a reproduction: one, unless its module has others."""
    paper: Any = import_module(f"reproduce.{name}")
    return list(paper.tables(rows)) if hasattr(paper, "tables") else [table(rows)]


def table(rows: list[Row]) -> Table:
    """Return the rows with the published value beside ours."""
    return Table(
        ("setting", "method", "published", "ours", "deviation", "note"),
        [
            (
                row.setting,
                row.method,
                f"about {row.published:g}" if row.about else _number(row.published),
                _number(row.ours),
                _number(row.deviation),
                row.note,
            )
            for row in rows
        ],
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
