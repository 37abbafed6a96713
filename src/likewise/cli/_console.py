"""Output of a command: results on stdout, messages on stderr, and the exit code."""

import json
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Any

import typer

from likewise.exceptions import InterruptedWarning

# Errors in the call, as opposed to errors in the data.
_USAGE = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_FAILED = (ValueError, TypeError, OSError, ImportError, MemoryError)


class UsageError(Exception):
    """The command was called with wrong arguments."""


class Console:
    """Results go to stdout; messages and progress go to stderr."""

    def __init__(self, *, json: bool, quiet: bool, verbose: bool) -> None:
        self.json = json
        self.quiet = quiet or json
        self.verbose = verbose

    def message(self, text: str) -> None:
        """Print a message, unless quiet."""
        if not self.quiet:
            sys.stderr.write(f"{text}\n")

    def messages(self, heading: str, sentences: Any) -> None:
        """Print several messages under one heading."""
        sentences = list(sentences)
        if sentences:
            self.message("\n".join([heading, *(f"  {sentence}" for sentence in sentences)]))

    def result(self, data: Mapping[str, Any], *parts: Any) -> None:
        """Print the result: `data` as JSON, or else the parts, which may be tables."""
        if self.json:
            sys.stdout.write(json.dumps(data, indent=2, default=_plain) + "\n")
            return
        for part in parts:
            if hasattr(part, "heads") and sys.stdout.isatty():
                _rich_table(part)
            else:
                sys.stdout.write(f"{part}\n")


def count_of(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: "1 row", "2 rows"."""
    return f"{n} {noun}" if n == 1 else f"{n} {plural or noun + 's'}"


def _rich_table(table: Any) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console as RichConsole
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column, head in enumerate(table.heads):
        words = any(" " in cells[column] for cells in table.rows)
        drawn.add_column(head, justify="left" if column == 0 or words else "right", overflow="fold")
    for cells in table.rows:
        style = "bold green" if cells and cells[0].endswith(" *") else None
        drawn.add_row(*(Text(cell) for cell in cells), style=style)
    RichConsole().print(drawn)


def _plain(value: Any) -> Any:
    """Return numbers and arrays of NumPy as JSON values."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def with_console(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command its `Console`, and turn errors into one sentence and an exit code.

    Every command gets the options of the console. A parameter `column_options` stands for all
    options on columns, `read_options` for those on the format of files, and `match_options` for
    those on matching; each receives a dict.
    """
    from likewise.cli._options import (
        COLUMN_OPTIONS,
        CONSOLE_OPTIONS,
        MATCH_OPTIONS,
        READ_OPTIONS,
    )

    own = signature(function)
    groups = {
        "console": CONSOLE_OPTIONS,
        "read_options": READ_OPTIONS,
        "column_options": COLUMN_OPTIONS,
        "match_options": MATCH_OPTIONS,
    }
    groups = {name: group for name, group in groups.items() if name in own.parameters}

    @wraps(function)
    def run(**given: Any) -> None:
        values = {name: {o: given.pop(o) for o in group} for name, group in groups.items()}
        console = Console(**values["console"])
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                function(**{**values, "console": console}, **given)
        except (UsageError, *_USAGE) as error:
            _end(console, error, 2)
        except BrokenPipeError:  # the reader of stdout has closed it
            sys.stdout = None
        except KeyboardInterrupt:
            # Whatever an earlier Ctrl-C had kept is lost with this one.
            caught[:] = [w for w in caught if not issubclass(w.category, InterruptedWarning)]
            _end(console, InterruptedError("interrupted: nothing was saved."), 1)
        except _FAILED as error:
            _end(console, error, 1)
        finally:
            _report_warnings(console, caught)

    # typer reads the options from the signature: the groups are replaced by their options.
    kept = [p for name, p in own.parameters.items() if name not in groups]
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for group in reversed(groups.values())
        for name, (annotation, default) in group.items()
    ]
    run.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    return run


def _end(console: Console, error: BaseException, code: int) -> None:
    if console.verbose:
        traceback.print_exception(error)
    sentence = str(error) or type(error).__name__
    if console.json:
        sys.stderr.write(json.dumps({"error": sentence}) + "\n")
    else:
        sys.stderr.write(f"error: {sentence}\n")
    raise typer.Exit(code) from None


def _report_warnings(console: Console, caught: list[warnings.WarningMessage]) -> None:
    """Print warnings: our own always, those of other libraries with --verbose."""
    messages: dict[str, None] = {}
    for warning in caught:
        if console.verbose or warning.category in (UserWarning, InterruptedWarning):
            messages[str(warning.message)] = None
    for sentence in messages:
        console.message(f"warning: {sentence}")
