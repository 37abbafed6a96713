"""``likewise compare``: compare similarities on a table."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Annotated, Any

import typer

from likewise.cli._console import Console, with_console
from likewise.cli._options import (
    Budget,
    Scoring,
    Seed,
    Splits,
    Target,
    Task,
    check_option,
    columns_of,
    fit_columns,
    seconds,
)


@with_console
def command(
    console: Console,
    read_options: dict[str, Any],
    column_options: dict[str, Any],
    file: Annotated[str, typer.Argument(help="A table, or the name of a data set.")],
    target: Target = None,
    task: Task = "auto",
    learner: Annotated[
        list[str],
        typer.Option(help="Compare only this learner (repeatable) with the others."),
    ] = [],  # noqa: B006 - typer copies it
    scoring: Scoring = None,
    budget: Budget = "2m",
    splits: Splits = 5,
    seed: Seed = 0,
) -> None:
    """Compare learned similarities with baselines, by nested cross-validation."""
    time = seconds(budget)
    table, families = read_for_learners(console, file, target, task, scoring, learner, read_options)
    columns = columns_of(table, file, **column_options)
    selection = run(
        console,
        table,
        columns,
        families,
        required=learner,
        scoring=scoring,
        budget=time,
        n_splits=splits,
        random_state=seed,
    )
    console.result(
        {**described(table, columns), **selection.as_json()},
        *selection.tables(),
        *selection.summary(),
    )


def read_for_learners(
    console: Console,
    file: str,
    target: str | None,
    task: str,
    scoring: str | None,
    learners: list[str],
    read_options: dict[str, Any],
) -> tuple[Any, list[Any]]:
    """Return the table and the families for its target; names are checked before it is read."""
    from likewise._validation import check_choice
    from likewise.cli._inputs import check_task, labeled_table
    from likewise.selection import FAMILIES, REGRESSION_FAMILIES

    check_task(task)
    check_scoring(scoring)
    known = [f.name for f in (*FAMILIES, *REGRESSION_FAMILIES) if f.kind == "learned"]
    for name in learners:
        check_option(check_choice, name, "--learner", known)
    with compiling_for(FAMILIES):
        table = labeled_table(console, file, target, read_options, task=task)
    is_numeric = table.labels.dtype.kind == "f"
    check_scoring(scoring, is_numeric=is_numeric)
    return table, chosen_families(learners, "regression" if is_numeric else "classification")


def chosen_families(learners: list[str], task: str) -> list[Any]:
    """Return baselines, references and the named learners of a task, by default the usual ones."""
    from likewise._validation import check_choice
    from likewise.selection import default_families, families_of

    families = families_of(task)
    known = [family.name for family in families if family.kind == "learned"]
    for name in learners:
        check_option(check_choice, name, f"--learner for {task}", known)
    if not learners:
        return default_families(task)
    return [family for family in families if family.kind != "learned" or family.name in learners]


def check_scoring(name: str | None, *, is_numeric: bool | None = None) -> None:
    """Refuse a scoring that is unknown, or known only for another kind of target."""
    from likewise._validation import check_choice
    from likewise.selection import REGRESSION_SCORINGS, SCORINGS

    known = {None: {**SCORINGS, **REGRESSION_SCORINGS}, False: SCORINGS, True: REGRESSION_SCORINGS}
    if name is not None:
        where = {None: "", False: " for classes", True: " for numbers"}[is_numeric]
        check_option(check_choice, name, f"--scoring{where}", known[is_numeric])


def compiling_for(families: Iterable[Any]) -> AbstractContextManager[Any]:
    """Compile what families need in the background, while a table is read."""
    from likewise._compilation import BackgroundCompilation

    return BackgroundCompilation(name for family in families for name in family.kernels)


def described(table: Any, columns: Any) -> dict[str, Any]:
    """Return how a table was read, and how its columns are encoded, for JSON."""
    return {
        "table": table.name,
        "reading": list(table.reading),
        "columns": _sentences(table, columns),
    }


def _sentences(table: Any, columns: Any) -> list[str]:
    """Return the rows that are left out, how columns are encoded, and a warning of repeated ids."""
    from likewise.cli._inputs import repeated_ids

    return [*table.notes, *columns.sentences_, *repeated_ids(table, columns.id_)]


def run(console: Console, table: Any, columns: Any, families: list[Any], **options: Any) -> Any:
    """Print how the columns are encoded, then compare the families; `options` are of `select`."""
    from likewise.selection import check_target, select

    is_numeric = table.labels.dtype.kind == "f"
    task = "regression" if is_numeric else "classification"
    check_target(table.labels, task)
    fit_columns(columns, table.rows)
    n_different = len(set(table.labels.tolist()))
    what = f"{n_different} classes of {table.target}"
    if is_numeric:
        what = (
            f"{n_different} different numbers of {table.target}, which are predicted as numbers; "
            "--task classification takes them for classes"
        )
    console.message(f"{table.name}: {len(table)} rows, {what}")
    console.messages("Columns:", _sentences(table, columns))
    return select(
        table.rows,
        table.labels,
        task=task,
        columns=columns,
        families=families,
        verbose=not console.quiet,
        **options,
    )
