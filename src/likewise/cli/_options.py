"""Options that several commands share, and how they are read."""

import re
from typing import Annotated, Any

import typer

from likewise.cli._show import WrongUse

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no remarks.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show warnings, and where errors come from.")
]
Target = Annotated[str | None, typer.Option("--target", "-t", help="The column to be learned.")]
Budget = Annotated[str, typer.Option(help="Time for the comparison, such as 90s, 2m or 1h.")]
Splits = Annotated[int, typer.Option(min=2, help="Outer splits of the cross-validation.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of splits and learners.")]
Id = Annotated[str | None, typer.Option(help="The column that names the rows; id if there is one.")]
Numeric = Annotated[list[str], typer.Option(help="Take a column as numbers (repeatable).")]
Categorical = Annotated[list[str], typer.Option(help="Take a column as categories (repeatable).")]
Text = Annotated[list[str], typer.Option(help="Take a column as text (repeatable).")]
Image = Annotated[list[str], typer.Option(help="Take a column as pictures (repeatable).")]
Ignore = Annotated[list[str], typer.Option(help="Do not use a column (repeatable).")]
Missing = Annotated[str, typer.Option(help="What to do with missing cells: impute or refuse.")]
ImageShape = Annotated[
    str | None, typer.Option(help="Height and width, such as 28x28, if the numbers are pixels.")
]


def seconds(budget: str) -> float:
    """Return a time such as 2m, 1m30s or 45 in seconds."""
    found = re.fullmatch(
        r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?", budget
    )
    total = 0.0
    if found:
        hours, minutes, rest = (float(part or 0) for part in found.groups())
        total = 3600 * hours + 60 * minutes + rest
    if total <= 0:
        raise WrongUse(f"--budget must be a time such as 90s, 2m or 1h, but {budget!r} was given.")
    return total


def shape(text: str | None) -> tuple[int, int] | None:
    """Return a shape such as 28x28 as two numbers."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)[x×](\d+)", text)
    if found is None or 0 in map(int, found.groups()):
        raise WrongUse(
            f"--image-shape must be height and width, such as 28x28, but {text!r} was given."
        )
    return int(found[1]), int(found[2])


def columns_of(table: Any, **given: Any) -> Any:
    """Return `Columns` for a table, as the options have it; a name it has not is wrong use."""
    from likewise.cli._inputs import no_column
    from likewise.tables import Columns

    image_shape = shape(given.pop("image_shape")) or table.image_shape
    if given["missing"] not in ("impute", "refuse"):
        raise WrongUse(f"--missing must be impute or refuse, but {given['missing']!r} was given.")
    for option, value in given.items():
        for name in (
            value if isinstance(value, list) else [value] if option == "id" and value else []
        ):
            if name not in (there := getattr(table.rows, "column_names", [])):
                raise no_column(f"--{option}", name, table.name, there)
    return Columns(image_shape=image_shape, **given)
