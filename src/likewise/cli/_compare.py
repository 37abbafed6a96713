"""``likewise compare``: compare similarities on a table."""

from contextlib import AbstractContextManager
from typing import Annotated, Any

import typer

from likewise.cli._console import Console, UsageError, with_console
from likewise.cli._options import Budget, Seed, Splits, Target, columns_of, seconds


@with_console
def command(
    console: Console,
    read_options: dict[str, Any],
    column_options: dict[str, Any],
    file: Annotated[str, typer.Argument(help="A table, or the name of a data set.")],
    target: Target = None,
    learner: Annotated[
        list[str],
        typer.Option(help="Compare only this learner (repeatable) with the others."),
    ] = [],  # noqa: B006 - typer copies it
    budget: Budget = "2m",
    splits: Splits = 5,
    seed: Seed = 0,
) -> None:
    """Compare learned similarities with baselines, by nested cross-validation."""
    from likewise.cli._inputs import labeled_table

    time = seconds(budget)
    families = chosen_families(learner)
    with compiling_for(families):
        table = labeled_table(console, file, target, read_options)
    columns = columns_of(table, **column_options)
    selection = run(console, table, columns, families, None, time, splits, seed)
    console.result(
        {"table": table.name, "reading": list(table.reading), **selection.as_json()},
        selection.table(),
        *selection.summary(),
    )


def chosen_families(learners: list[str]) -> list[Any]:
    """Return baselines, the named learners (all without a name) and references."""
    from likewise.selection import FAMILIES

    known = [family.name for family in FAMILIES if family.kind == "learned"]
    for name in learners:
        if name not in known:
            from likewise._validation import unknown_name

            raise UsageError(str(unknown_name(name, "--learner", known)))
    return [
        family
        for family in FAMILIES
        if family.kind != "learned" or not learners or family.name in learners
    ]


def compiling_for(families: list[Any]) -> AbstractContextManager[None]:
    """Compile what families need in the background, while a table is read."""
    from likewise._compilation import compiling_in_background

    return compiling_in_background([name for family in families for name in family.kernels])


def run(
    console: Console,
    table: Any,
    columns: Any,
    families: list[Any],
    choose_from: list[str] | None,
    budget: float,
    splits: int,
    seed: int,
) -> Any:
    """Print how the columns are encoded, then compare the families."""
    from likewise.selection import check_class_sizes, select

    check_class_sizes(table.labels)
    described = columns.fit(table.rows)
    n_classes = len(set(table.labels.tolist()))
    console.message(f"{table.name}: {len(table)} rows, {n_classes} classes of {table.target}")
    console.messages("Columns:", [*table.notes, *described.sentences_])
    return select(
        table.rows,
        table.labels,
        columns=columns,
        families=families,
        choose_from=choose_from,
        budget=budget,
        n_splits=splits,
        random_state=seed,
        verbose=not console.quiet,
    )
