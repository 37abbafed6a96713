"""What a command shows: results on the output, the rest beside it; and how it ends."""

import json
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import typer

# What is wrong with how the command was called, rather than with the data.
_WRONG_USE = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_FAILED = (ValueError, TypeError, OSError, ImportError, MemoryError)


class WrongUse(Exception):
    """The command was called in a way that cannot work."""


class Show:
    """Where a command's words go: results to the output, remarks and progress beside it."""

    def __init__(self, *, json: bool, quiet: bool, verbose: bool) -> None:
        self.json = json
        self.quiet = quiet or json
        self.verbose = verbose

    def remark(self, text: str) -> None:
        """Say something beside the result."""
        if not self.quiet:
            sys.stderr.write(f"{text}\n")

    def remarks(self, heading: str, sentences: Any) -> None:
        """Say several things under one heading."""
        sentences = list(sentences)
        if sentences:
            self.remark("\n".join([heading, *(f"  {sentence}" for sentence in sentences)]))

    def result(self, data: Mapping[str, Any], *parts: Any) -> None:
        """Print what was asked for: `data` as JSON, or else the parts, tables among them."""
        if self.json:
            sys.stdout.write(json.dumps(data, indent=2, default=_plain) + "\n")
            return
        for part in parts:
            if hasattr(part, "heads") and sys.stdout.isatty():
                _rich_table(part)
            else:
                sys.stdout.write(f"{part}\n")


def _rich_table(table: Any) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column, head in enumerate(table.heads):
        words = any(" " in cells[column] for cells in table.rows)
        drawn.add_column(head, justify="left" if column == 0 or words else "right", overflow="fold")
    for cells in table.rows:
        style = "bold green" if cells and cells[0].endswith(" *") else None
        drawn.add_row(*(Text(cell) for cell in cells), style=style)
    Console().print(drawn)


def _plain(value: Any) -> Any:
    """Return NumPy's numbers and arrays as JSON has them."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def reported(function: Callable[..., None]) -> Callable[..., None]:
    """Let a command end with a sentence and a code, never with a traceback unless asked for one."""

    @wraps(function)
    def run(**given: Any) -> None:
        # `show` is made here, from the three options that every command has.
        show = Show(**{name: given.pop(name) for name in ("json", "quiet", "verbose")})
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                function(show=show, **given)
        except (WrongUse, *_WRONG_USE) as error:
            _end(show, error, 2)
        except BrokenPipeError:  # whoever read the output has had enough
            sys.stdout = None
        except KeyboardInterrupt:
            _end(show, InterruptedError("interrupted: nothing was kept."), 1)
        except _FAILED as error:
            _end(show, error, 1)
        finally:
            _tell(show, caught)

    # typer reads the options from the signature: the three, and not `show`
    run.__signature__ = _signature(function)  # type: ignore[attr-defined]
    return run


def _signature(function: Callable[..., None]) -> Any:
    from inspect import Parameter, signature

    from likewise.cli._options import Json, Quiet, Verbose

    own = signature(function)
    kept = [p for name, p in own.parameters.items() if name != "show"]
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in (("json", Json), ("quiet", Quiet), ("verbose", Verbose))
    ]
    return own.replace(parameters=[*kept, *added])


def _end(show: Show, error: BaseException, code: int) -> None:
    if show.verbose:
        traceback.print_exception(error)
    sentence = str(error) or type(error).__name__
    if show.json:
        sys.stderr.write(json.dumps({"error": sentence}) + "\n")
    else:
        sys.stderr.write(f"error: {sentence}\n")
    raise typer.Exit(code) from None


def _tell(show: Show, caught: list[warnings.WarningMessage]) -> None:
    """Say what was warned of: our own words always, those of others when asked for."""
    from likewise.exceptions import InterruptedWarning

    told: dict[str, None] = {}
    for warning in caught:
        if show.verbose or warning.category in (UserWarning, InterruptedWarning):
            told[str(warning.message)] = None
    for sentence in told:
        show.remark(f"warning: {sentence}")
