"""The report that ``likewise fit`` leaves beside the model."""

import json
import shlex
from pathlib import Path
from typing import Any

from likewise.cli._show import Show


def report_on(
    show: Show,
    places: tuple[Path, Path | None],
    fitted: Any,
    table: Any,
    *,
    queries: Any = None,
    **shown: Any,
) -> str | None:
    """Write the report, where one is wanted and there is a similarity to show; return its place.

    Parameters
    ----------
    show : Show
    places : of the model and of the report
    fitted : TableModel
    table : Table
        What it was fitted on: labelled rows, or items.
    queries : Table, optional
        Where they are not like the items.
    **shown : what else `write_report` takes
    """
    model, report = places
    if report is None:
        return None
    from likewise import as_similarity
    from likewise.cli._inputs import offsets_of
    from likewise.report import write_report

    try:
        after = fitted.similarity_
    except ValueError as error:
        show.remark(f"no report: {error}")
        return None
    X = items = fitted.transform(table.rows)
    columns = asked = fitted.columns
    if queries is not None:
        asked = fitted.query_columns
        X = asked.transform(queries.rows)
    same = queries is None or X.shape[1] == items.shape[1]
    learner = getattr(fitted.estimator, "learner_", fitted.estimator)
    shown = {"validation": getattr(learner, "validation_", None), **shown}
    moves_items = offsets_of(fitted) is not None
    if moves_items:
        alone = "Neighbours and maps below are by the form alone, before judged items move."
        shown["notes"] = (*shown.get("notes", ()), alone)
    try:
        write_report(
            report,
            title=table.name,
            X=X,
            y=table.labels if queries is None else None,
            before=as_similarity("euclidean" if after.has_distance else "cosine") if same else None,
            after=after,
            feature_names=asked.feature_names_,
            shown=asked.shown((queries or table).rows),
            items=None if queries is None else items,
            item_names=None if queries is None else columns.feature_names_,
            history=getattr(learner, "history_", None),
            columns=columns.sentences_
            if queries is None
            else [*asked.sentences_, *columns.sentences_],
            model_path=model,
            snippets=_snippets(str(model), table, queries, moves_items),
            verbose=not show.quiet,
            **shown,
        )
    except KeyboardInterrupt:
        show.remark(f"interrupted: no report, but the model is kept in {model}.")
        return None
    return str(report)


def _snippets(model: str, table: Any, queries: Any, moves_items: bool) -> list[tuple[str, str]]:
    """Return how to use a model that takes tables."""
    quoted, asked = shlex.quote(model), "items" if queries is None else "queries"
    python = [
        "import likewise as lw",
        "",
        f"model = lw.load({json.dumps(model, ensure_ascii=False)})",
        f"model.score({asked}, items)  # frames of pandas, polars or pyarrow",
        f"model.neighbors({asked}, items, k=10).ids",
    ]
    search = f"likewise search {quoted} --items items.csv --query 'row 17' -k 10"
    shell = [search + ("" if queries is None else " --queries queries.csv")]
    if table.labels is not None:
        python.append("model.predict(rows)")
        shell.append(f"likewise explain {quoted} --items items.csv 17 42")
        target = shlex.quote(table.target)
        shell.append(f"likewise evaluate {quoted} held_out.csv --target {target}")
    numbers = "model.transform(items)"
    if moves_items:
        numbers = f"model.estimator.offsets_.apply(ids, {numbers})"
    database = [
        "s = model.similarity_",
        f"stored = s.fold_items({numbers})  # the vectors that the database holds",
        f"asked = s.fold_queries(model.transform_queries({asked}))  # what to search it with",
        "s.folded_metric  # the metric of its index",
    ]
    parts = {"Python": python, "Command line": shell, "Vector database": database}
    return [(heading, "\n".join(lines)) for heading, lines in parts.items()]
