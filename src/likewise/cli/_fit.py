"""``likewise fit``: learn, save the model, write the report."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from likewise.cli._compare import described, read_for_learners, run
from likewise.cli._console import Console, UsageError, count_of, with_console
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
from likewise.cli._report import report_on


@with_console
def command(
    console: Console,
    read_options: dict[str, Any],
    column_options: dict[str, Any],
    file: Annotated[
        str | None, typer.Argument(help="A table with labels, or the name of a data set.")
    ] = None,
    target: Target = None,
    task: Task = "auto",
    learner: Annotated[str, typer.Option(help="The learner; auto chooses by validation.")] = "auto",
    queries: Annotated[
        str | None, typer.Option(help="Without labels: a table of queries; the items by default.")
    ] = None,
    items: Annotated[str | None, typer.Option(help="Without labels: a table of items.")] = None,
    triplets: Annotated[
        str | None,
        typer.Option(help="Comparisons: row numbers query, closer, farther; optional weight."),
    ] = None,
    model: Annotated[Path, typer.Option("--model", "-m", help="Path of the model.")] = Path(
        "model.safetensors"
    ),
    report: Annotated[Path, typer.Option(help="Path of the report.")] = Path("report.html"),
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.")] = False,
    scoring: Scoring = None,
    budget: Budget = "2m",
    splits: Splits = 5,
    seed: Seed = 0,
    dask: Annotated[
        str | None,
        typer.Option(help="Learn on a Dask cluster: tcp://HOST:PORT, or local:N worker processes."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="With --dask: continue after the last finished round.")
    ] = False,
) -> None:
    """Learn a similarity, from labels or from comparisons; save the model and write a report."""
    from likewise.cli._cluster import check_families, check_triplet_learner, cluster
    from likewise.cli._inputs import check_paths

    time = seconds(budget)
    places = model, None if no_report else report
    check_paths(model=places[0], report=places[1])
    if triplets is not None:
        if file is not None or target is not None:
            raise UsageError(
                "labels (FILE, --target) and --triplets were both given; one is needed."
            )
        if scoring is not None:
            raise UsageError("--scoring is for labels, but --triplets were given.")
        if dask is not None and learner != "auto":
            check_triplet_learner(learner)
        with cluster(console, dask, model, resume=resume) as final_fit:
            _fit_triplets(
                console,
                queries,
                items,
                triplets,
                learner,
                read_options,
                column_options,
                places,
                splits,
                seed,
                final_fit,
            )
        return
    if file is None:
        raise UsageError("a FILE with labels is needed, or --items and --triplets.")
    if queries is not None or items is not None:
        raise UsageError("--queries and --items need --triplets, which is not given.")
    forced = None if learner == "auto" else [learner]
    table, families = read_for_learners(
        console, file, target, task, scoring, forced or [], read_options
    )
    columns = columns_of(table, file, **column_options)
    if resume:
        raise UsageError("--resume is for comparisons (--triplets), but labels were given.")
    if dask is not None:
        check_families(families)
    with cluster(console, dask, model):
        selection = run(
            console,
            table,
            columns,
            families,
            choose_from=forced,
            scoring=scoring,
            budget=time,
            n_splits=splits,
            random_state=seed,
        )
        if forced is not None:
            selection = replace(selection, given_by="--learner")
        fitted = selection.fit(table.rows, table.labels, target=table.target)
    fitted.save(model)
    written = report_on(console, selection, places, fitted, table, [file])
    _show_selection(console, described(table, columns), selection, model, written)


def _fit_triplets(
    console: Console,
    queries: str | None,
    items: str | None,
    triplets: str,
    learner: str,
    read_options: dict[str, Any],
    options: dict[str, Any],
    places: tuple[Path, Path | None],
    splits: int,
    seed: int,
    final_fit: Any,
) -> None:
    from likewise._validation import check_choice
    from likewise.cli._inputs import ids_of, open_table, read_triplets
    from likewise.selection import TRIPLET_LEARNERS, select_triplets
    from likewise.tables import TableModel

    if items is None and queries is None:
        raise UsageError("--triplets are comparisons of rows: --items is needed.")
    known = ("auto", *TRIPLET_LEARNERS)
    check_option(check_choice, learner, "--learner with --triplets", known)
    item_table = open_table(console, items or queries or "", read_options)
    comparisons, weights = read_triplets(console, triplets, read_options)
    # Vectors of another model must not be scaled.
    columns = columns_of(item_table, items or queries or "", **options).set_params(scale="none")
    fit_columns(columns, item_table.rows)
    query_columns = query_table = None
    P = Q = columns.transform(item_table.rows)
    console.message(
        f"{item_table.name}: {count_of(len(item_table), 'item')}, "
        f"{count_of(len(comparisons), 'comparison')}"
    )
    console.messages("Columns:", columns.sentences_)
    if queries is not None and items is not None:
        query_table = open_table(console, queries, read_options)
        query_columns = columns_of(query_table, queries, **{**options, "id": None})
        query_columns.set_params(scale="none")
        Q = fit_columns(query_columns, query_table.rows).transform(query_table.rows)
        console.messages(f"Columns of {query_table.name}:", query_columns.sentences_)
    selection = select_triplets(
        comparisons,
        Q,
        P,
        weights,
        learners=list(TRIPLET_LEARNERS) if learner == "auto" else [learner],
        n_splits=splits,
        item_ids=_check_unique(ids_of(item_table, columns.id_), item_table.name),
        random_state=seed,
        verbose=not console.quiet,
        final_fit=final_fit,
    )
    fitted = TableModel(columns, selection.estimator, query_columns)
    fitted.save(places[0])
    files = [items or queries or "", queries or ""]
    written = report_on(console, selection, places, fitted, item_table, files, queries=query_table)
    _show_selection(console, {}, selection, places[0], written)


def _show_selection(
    console: Console, source: dict[str, Any], selection: Any, model: Path, report: str | None
) -> None:
    console.result(
        {**source, **selection.as_json(), "model": str(model), "report": report},
        *selection.tables(),
        *selection.summary(),
        f"model: {model}",
        *([f"report: {report}"] if report else []),
    )


def _check_unique(ids: list[Any], table: str) -> list[Any]:
    """Refuse repeated ids before any work, because offsets are stored by id."""
    seen = set()
    for name in ids:
        if name in seen:
            raise UsageError(f"the id {name!r} occurs twice in {table}; ids of items must differ.")
        seen.add(name)
    return ids
