"""Options that several commands share, and their parsing."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from likewise.cli._console import UsageError

Target = Annotated[str | None, typer.Option("--target", "-t", help="The column of the labels.")]
Budget = Annotated[
    str, typer.Option(help="Time for the comparison and the final fit, such as 90s, 2m or 1h.")
]
Scoring = Annotated[
    str | None,
    typer.Option(
        help="accuracy, balanced_accuracy, f1_macro, roc_auc or log_loss, by default chosen from "
        "the shares of the classes; r2 or mean_absolute_error for numbers."
    ),
]
Task = Annotated[
    str,
    typer.Option(
        help="classification or regression; auto takes more than 20 different numbers, one of "
        "them with decimals or occurring once, for regression."
    ),
]
Splits = Annotated[int, typer.Option(min=2, help="Outer splits of the cross-validation.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of splits and learners.")]
CONSOLE_OPTIONS: dict[str, tuple[Any, Any]] = {
    "json": (
        Annotated[bool, typer.Option("--json", help="Print only the result, as JSON.")],
        False,
    ),
    "quiet": (
        Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no messages.")],
        False,
    ),
    "verbose": (
        Annotated[
            bool,
            typer.Option("--verbose", "-v", help="Show all warnings, and tracebacks of errors."),
        ],
        False,
    ),
}
COLUMN_OPTIONS: dict[str, tuple[Any, Any]] = {
    "id": (
        Annotated[str | None, typer.Option(help="The column of row ids; detected by default.")],
        None,
    ),
    **{
        name: (Annotated[list[str], typer.Option(help=f"{what} (repeatable).")], [])
        for name, what in {
            "numeric": "A column of numbers",
            "categorical": "A column of categories",
            "date": "A column of dates or times",
            "text": "A column of texts",
            "image": "A column of images",
            "ignore": "A column to ignore",
        }.items()
    },
    "day_first": (
        Annotated[
            bool | None,
            typer.Option(
                "--day-first/--month-first",
                help="How 3/4/2024 is read, if no other date decides; day first by default.",
                show_default=False,
            ),
        ],
        None,
    ),
    "missing": (Annotated[str, typer.Option(help="Missing cells: impute or refuse.")], "impute"),
    "image_shape": (
        Annotated[
            str | None,
            typer.Option(help="Height and width, such as 28x28, if the numbers are pixels."),
        ],
        None,
    ),
}

READ_OPTIONS: dict[str, tuple[Any, Any]] = {
    name: (
        Annotated[str | None, typer.Option(help=f"{what} of text files; detected by default.")],
        None,
    )
    for name, what in {
        "sep": "Separator (one character, or tab)",
        "decimal": "Decimal separator (, or .)",
        "encoding": "Encoding (such as cp1252)",
    }.items()
}

MATCH_OPTIONS: dict[str, tuple[Any, Any]] = {
    "labels": (
        Annotated[
            list[str],
            typer.Option(help="Labeled pairs: left_id, right_id, label 0 or 1 (repeatable)."),
        ],
        [],
    ),
    "model": (
        Annotated[
            Path | None,
            typer.Option(
                "--model", "-m", help="Path of the matcher: written, or read without labels."
            ),
        ],
        None,
    ),
    "ask": (
        Annotated[int, typer.Option(min=0, help="Number of pairs to ask about in the terminal.")],
        0,
    ),
    "answers": (
        Annotated[Path, typer.Option(help="Path of the answers, in the format of --labels.")],
        Path("answers.csv"),
    ),
    "questions": (
        Annotated[
            Path | None,
            typer.Option(help="Path of 30 questions; questions.csv if nothing is learned."),
        ],
        None,
    ),
    "report": (
        Annotated[
            Path | None,
            typer.Option(help="Path of an HTML page on the matches, forecast and doubtful pairs."),
        ],
        None,
    ),
    "k": (
        Annotated[int | None, typer.Option("-k", help="Neighbors that are candidates; 10.")],
        None,
    ),
    "threshold": (
        Annotated[
            float | None,
            typer.Option(help="Lowest probability of a match; by default the best expected F1."),
        ],
        None,
    ),
    "precision": (
        Annotated[float | None, typer.Option(help="Expected precision, such as 0.99.")],
        None,
    ),
    "id": (Annotated[str, typer.Option(help="The column of ids.")], "id"),
    "ignore": COLUMN_OPTIONS["ignore"],
    "text": COLUMN_OPTIONS["text"],
    "numeric": COLUMN_OPTIONS["numeric"],
    "seed": (Seed, 0),
    "force": (Annotated[bool, typer.Option("--force", help="Overwrite existing files.")], False),
}


def check_option(
    check: Callable[..., Any], value: Any, option: str, *allowed: Any, **bounds: Any
) -> Any:
    """Return the checked value of an option; a wrong one is wrong usage.

    `check` is a function of `likewise._validation`, such as `check_choice`.
    """
    try:
        return check(value, option, *allowed, **bounds)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error


def seconds(budget: str) -> float:
    """Return a time such as 2m, 1m30s or 45 in seconds."""
    match = re.fullmatch(
        r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?", budget
    )
    total = 0.0
    if match:
        hours, minutes, rest = (float(part or 0) for part in match.groups())
        total = 3600 * hours + 60 * minutes + rest
    if total <= 0:
        raise UsageError(
            f"--budget must be a time such as 90s, 2m or 1h, but {budget!r} was given."
        )
    return total


def shape(text: str | None) -> tuple[int, int] | None:
    """Return a shape such as 28x28 as two numbers."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)[x×](\d+)", text)
    if match is None or 0 in map(int, match.groups()):
        raise UsageError(
            f"--image-shape must be height and width, such as 28x28, but {text!r} was given."
        )
    return int(match[1]), int(match[2])


def columns_of(table: Any, file: str, **given: Any) -> Any:
    """Return `Columns` with the given options; unknown column names are refused."""
    from likewise._validation import check_choice
    from likewise.cli._inputs import unknown_column
    from likewise.tables import Columns

    image_shape = shape(given.pop("image_shape")) or table.image_shape
    check_option(check_choice, given["missing"], "--missing", ["impute", "refuse"])
    for option, value in given.items():
        for name in (
            value if isinstance(value, list) else [value] if option == "id" and value else []
        ):
            if name not in (names := getattr(table.rows, "column_names", [])):
                raise unknown_column(f"--{option}", name, file, names)
    return Columns(image_shape=image_shape, **given)


def fit_columns(columns: Any, rows: Any) -> Any:
    """Fit `Columns` to a table; an error about missing cells names the option."""
    try:
        return columns.fit(rows)
    except ValueError as error:
        sentence = re.sub(r"\bmissing='(\w+)'", r"--missing \1", str(error))
        if sentence == str(error):
            raise
        raise ValueError(sentence) from error
