"""``likewise evaluate``: measure a model on unseen rows."""

from typing import Annotated, Any

import typer

from likewise.cli._console import Console, UsageError, with_console
from likewise.cli._options import Target

_MAX_SEARCHED = 2000  # rows of the retrieval figures


@with_console
def command(
    console: Console,
    read_options: dict[str, Any],
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
        typer.Option(help="The training comparisons: evaluate new items separately."),
    ] = None,
) -> None:
    """Measure a model on unseen rows: accuracy by class and retrieval, or errors of numbers."""
    if trained_on is not None and triplets is None:
        raise UsageError("--trained-on needs --triplets, which is not given.")
    if triplets is not None and items is not None:
        _evaluate_triplets(console, model, queries, items, triplets, trained_on, read_options)
    elif file is not None:
        _evaluate_labels(console, model, file, target, read_options)
    else:
        raise UsageError("a FILE with labels is needed, or --items and --triplets.")


def _evaluate_labels(
    console: Console, model: str, file: str, target: str | None, read_options: dict[str, Any]
) -> None:
    from sklearn.base import is_regressor

    from likewise.cli._inputs import labeled_table, open_model

    opened = open_model(model)
    if not hasattr(opened.estimator, "predict"):
        raise UsageError(f"{model} predicts nothing; fit a model from a table with labels.")
    width = None if opened.columns.columns_ else opened.columns.n_features_in_
    task = "regression" if is_regressor(opened.estimator) else "classification"
    table = labeled_table(console, file, target, read_options, width, opened.target, task)
    console.message(f"{table.name}: {len(table)} rows")
    n_missing = opened.columns.n_missing(table.rows)
    filled = [f"{n_missing} missing cells are imputed as in fitting."] if n_missing else []
    console.messages("Columns:", [*table.notes, *filled])
    if task == "regression":
        _show_numbers(console, table, opened.predict(table.rows))
        return
    # 1 in one file may be "1" in another
    labels, predicted = table.labels, opened.predict(table.rows)
    if labels.dtype.kind != predicted.dtype.kind:
        labels, predicted = labels.astype(str), predicted.astype(str)
    measured = _measures(opened, table.rows, labels, predicted)
    console.result(
        {"table": table.name, "rows": len(table), **measured},
        _by_class(measured["classes"]),
        f"accuracy: {measured['accuracy']:.4f} on {len(table)} rows; of the majority class "
        f"{measured['majority_accuracy']:.4f}",
        f"balanced accuracy: {measured['balanced_accuracy']:.4f}",
        *_constant_lines(measured),
        *_retrieval_lines(measured),
    )


def _show_numbers(console: Console, table: Any, predicted: Any) -> None:
    """Print the errors of predicted numbers, beside those of the mean of the table."""
    import numpy as np
    from sklearn.metrics import mean_absolute_error, r2_score

    truth = table.labels
    constant = np.full(len(truth), truth.mean())
    measured = {
        "r2": float(r2_score(truth, predicted)),
        "mean_absolute_error": float(mean_absolute_error(truth, predicted)),
        "mean_absolute_error_of_mean": float(mean_absolute_error(truth, constant)),
    }
    console.result(
        {"table": table.name, "rows": len(table), **measured},
        f"R²: {measured['r2']:.4f} on {len(table)} rows",
        f"mean absolute error: {measured['mean_absolute_error']:.5g}; of the mean value "
        f"{measured['mean_absolute_error_of_mean']:.5g}",
    )


def _evaluate_triplets(
    console: Console,
    model: str,
    queries: str | None,
    items: str,
    triplets: str,
    trained_on: str | None,
    read_options: dict[str, Any],
) -> None:
    from likewise.cli._inputs import ids_of, offsets_of, open_model, open_table, read_triplets
    from likewise.selection import judge_triplets, replace_nan

    opened = open_model(model)
    table = open_table(console, items, read_options)
    P = opened.transform(table.rows)
    source = table if queries is None else open_table(console, queries, read_options)
    Q = opened.transform_queries(source.rows)
    comparisons = read_triplets(console, triplets, read_options)[0]
    seen = None
    if trained_on is not None:
        seen = read_triplets(console, trained_on, read_options, "--trained-on")[0]
    offsets = offsets_of(opened)
    outcomes = judge_triplets(
        opened.similarity_,
        comparisons,
        Q,
        P,
        stored=None if offsets is None else offsets.apply(ids_of(table, opened.columns.id_), P),
        trained_on=seen,
    )
    overall = outcomes["overall"]
    has_start = Q.shape[1] == P.shape[1]
    right_order = {"after": overall.learned, **({"before": overall.start} if has_start else {})}
    console.result(
        replace_nan(
            {
                "comparisons": len(comparisons),
                "right_order": right_order,
                **{kind: outcome._asdict() for kind, outcome in outcomes.items()},
            }
        ),
        f"{len(comparisons)} comparisons of {overall.n} queries; every query counts equally",
        *(
            f"in the right order {when} learning: {share:.4f}"
            for when, share in sorted(right_order.items(), reverse=True)
        ),
        *(
            f"on {kind} items: {learned:.4f}, before {start:.4f} ({n} queries)"
            for kind, (start, learned, _, n) in outcomes.items()
            if kind != "overall" and n
        ),
    )
    if trained_on is None:
        console.message(
            "These figures are valid for new queries and items only if the model was not trained "
            "on these comparisons: --trained-on separates seen from new items."
        )


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
        "balanced_accuracy": float(np.mean(parts[1][parts[3] > 0])),
        "majority_accuracy": float(parts[3].max() / len(labels)),
        "predicted_classes": np.unique(predicted).astype(str).tolist(),
        "classes": [
            {"class": str(name), "precision": p, "recall": r, "f1": f, "rows": int(n)}
            for name, p, r, f, n in zip(classes, *parts, strict=True)
        ],
        **_retrieval(opened, rows, labels),
    }


def _retrieval(opened: Any, rows: Any, labels: Any) -> dict[str, Any]:
    """Return how well rows retrieve rows of their class, before and after learning."""
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
    figures = {}
    for name, similarity in (("before", before), ("after", learned)):
        report = evaluate_retrieval(similarity, X, labels=labels, k=(k,))
        figures[name] = {f"precision@{k}": report[f"precision@{k}"], "map": report["map"]}
    return {"retrieval": {"rows": len(labels), **figures}}


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


def _constant_lines(measured: dict[str, Any]) -> list[str]:
    predicted = measured["predicted_classes"]
    if len(predicted) > 1 or len(measured["classes"]) == 1:
        return []
    return [f"Warning: the model predicts {predicted[0]} for every row."]


def _retrieval_lines(measured: dict[str, Any]) -> list[str]:
    retrieval = measured.get("retrieval", {})
    return [
        f"retrieval among {retrieval['rows']} rows {name} learning: "
        + ", ".join(f"{measure} {value:.3f}" for measure, value in retrieval[name].items())
        for name in ("before", "after")
        if name in retrieval
    ]


def _few(names: Any) -> str:
    return ", ".join(map(str, names[:5])) + (" ..." if len(names) > 5 else "")
