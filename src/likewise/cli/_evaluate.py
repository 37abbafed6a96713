"""``likewise evaluate``: say how good a model is on rows it has not seen."""

from typing import Annotated, Any

import typer

from likewise.cli._options import Target
from likewise.cli._show import Show, WrongUse, reported

_MAX_SEARCHED = 2000  # rows that search among each other


@reported
def command(
    show: Show,
    model: Annotated[str, typer.Argument(help="A model file.")],
    file: Annotated[
        str | None, typer.Argument(help="A table with labels, or the name of a data set.")
    ] = None,
    target: Target = None,
    queries: Annotated[
        str | None, typer.Option(help="Without labels: a table of queries; the items by default.")
    ] = None,
    items: Annotated[str | None, typer.Option(help="Without labels: a table of items.")] = None,
    triplets: Annotated[str | None, typer.Option(help="Comparisons, as in fit.")] = None,
    trained_on: Annotated[
        str | None,
        typer.Option(help="The comparisons that were learned from: judge new items apart."),
    ] = None,
) -> None:
    """Measure a model on rows it has not seen: accuracy by class, and retrieval."""
    if trained_on is not None and triplets is None:
        raise WrongUse("--trained-on goes with --triplets, which is not given.")
    if triplets is not None and items is not None:
        _evaluate_triplets(show, model, queries, items, triplets, trained_on)
    elif file is not None:
        _evaluate_labels(show, model, file, target)
    else:
        raise WrongUse("a FILE with labels is needed, or --items and --triplets.")


def _evaluate_labels(show: Show, model: str, file: str, target: str | None) -> None:
    from likewise.cli._inputs import labelled_table, open_model
    from likewise.tables import read_table

    opened = open_model(model)
    if not hasattr(opened.estimator, "predict"):
        raise WrongUse(f"{model} holds no classifier; fit one from a table with labels.")
    width = None if opened.columns.columns_ else opened.columns.n_features_in_
    if target is None and opened.target in _columns_of(read_table(file, n_features=width)):
        target = opened.target
    table = labelled_table(file, target, n_features=width)
    show.remark(f"{table.name}: {len(table)} rows")
    n_missing = opened.columns.n_missing(table.rows)
    filled = [f"{n_missing} missing cells are filled as at fit."] if n_missing else []
    show.remarks("Columns:", [*table.notes, *filled])
    # 1 in one file may be "1" in another
    labels, predicted = table.labels, opened.predict(table.rows)
    if labels.dtype.kind != predicted.dtype.kind:
        labels, predicted = labels.astype(str), predicted.astype(str)
    measured = _measures(opened, table.rows, labels, predicted)
    show.result(
        {"table": table.name, "rows": len(table), **measured},
        _by_class(measured["classes"]),
        f"accuracy: {measured['accuracy']:.4f} on {len(table)} rows",
        *_retrieval_lines(measured),
    )


def _evaluate_triplets(
    show: Show,
    model: str,
    queries: str | None,
    items: str,
    triplets: str,
    trained_on: str | None,
) -> None:
    from likewise.cli._inputs import comparisons_of, ids_of, offsets_of, open_model
    from likewise.selection import judge_triplets, replace_nan
    from likewise.tables import read_table

    opened = open_model(model)
    table = read_table(items)
    P = opened.transform(table.rows)
    Q = opened.transform_queries(table.rows if queries is None else read_table(queries).rows)
    comparisons = comparisons_of(triplets)[0]
    offsets = offsets_of(opened)
    outcomes = judge_triplets(
        opened.similarity_,
        comparisons,
        Q,
        P,
        stored=None if offsets is None else offsets.apply(ids_of(table, opened.columns.id_), P),
        trained_on=None if trained_on is None else comparisons_of(trained_on, "--trained-on")[0],
    )
    overall = outcomes["overall"]
    has_start = Q.shape[1] == P.shape[1]
    found = {"after": overall.learned, **({"before": overall.start} if has_start else {})}
    show.result(
        replace_nan(
            {
                "comparisons": len(comparisons),
                "right_order": found,
                **{kind: outcome._asdict() for kind, outcome in outcomes.items()},
            }
        ),
        f"{len(comparisons)} comparisons of {overall.n} queries; every query counts alike",
        *(
            f"in the right order {when} learning: {share:.4f}"
            for when, share in sorted(found.items(), reverse=True)
        ),
        *(
            f"on {kind} items: {learned:.4f}, before {start:.4f} ({n} queries)"
            for kind, (start, learned, _, n) in outcomes.items()
            if kind != "overall" and n
        ),
    )
    if trained_on is None:
        show.remark(
            "These figures hold for new queries and items only if the model was not learned from "
            "these comparisons: --trained-on tells seen items from new ones."
        )


def _columns_of(table: Any) -> list[str]:
    return list(getattr(table.rows, "column_names", []))


def _measures(opened: Any, rows: Any, labels: Any, predicted: Any) -> dict[str, Any]:
    import numpy as np
    from sklearn.metrics import precision_recall_fscore_support

    known = opened.estimator.classes_.astype(labels.dtype)
    if not np.isin(labels, known).any():
        raise ValueError(
            f"none of the classes of the table ({_few(np.unique(labels))}) is known to the model "
            f"({_few(known)})."
        )
    classes = np.unique(np.concatenate([labels, predicted]))
    parts = precision_recall_fscore_support(labels, predicted, labels=classes, zero_division=0)
    return {
        "accuracy": float(np.mean(predicted == labels)),
        "classes": [
            {"class": str(name), "precision": p, "recall": r, "f1": f, "rows": int(n)}
            for name, p, r, f, n in zip(classes, *parts, strict=True)
        ],
        **_retrieval(opened, rows, labels),
    }


def _retrieval(opened: Any, rows: Any, labels: Any) -> dict[str, Any]:
    """Return how well rows find their class among themselves, before and after learning."""
    from likewise import as_similarity, evaluate_retrieval
    from likewise._validation import sample_rows, take
    from likewise.similarities import Similarity

    learned = getattr(opened.estimator, "similarity_", None)
    if not isinstance(learned, Similarity) or len(labels) < 3:
        return {}
    sample = sample_rows(len(labels), _MAX_SEARCHED)
    X, labels = opened.transform(take(rows, sample)), labels[sample]
    before = as_similarity("euclidean" if learned.has_distance else "cosine")
    k = min(10, len(labels) - 1)
    found = {}
    for name, similarity in (("before", before), ("after", learned)):
        report = evaluate_retrieval(similarity, X, labels=labels, k=(k,))
        found[name] = {f"precision@{k}": report[f"precision@{k}"], "map": report["map"]}
    return {"retrieval": {"rows": len(labels), **found}}


def _by_class(classes: list[dict[str, Any]]) -> Any:
    from likewise.evaluation import Table

    return Table(
        ("class", "precision", "recall", "f1", "rows"),
        [
            (
                c["class"],
                f"{c['precision']:.3f}",
                f"{c['recall']:.3f}",
                f"{c['f1']:.3f}",
                str(c["rows"]),
            )
            for c in classes
        ],
    )


def _retrieval_lines(measured: dict[str, Any]) -> list[str]:
    found = measured.get("retrieval", {})
    return [
        f"retrieval among {found['rows']} rows {name} learning: "
        + ", ".join(f"{measure} {value:.3f}" for measure, value in found[name].items())
        for name in ("before", "after")
        if name in found
    ]


def _few(names: Any) -> str:
    return ", ".join(map(str, names[:5])) + (" ..." if len(names) > 5 else "")
