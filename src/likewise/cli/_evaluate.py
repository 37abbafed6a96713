"""``likewise evaluate``: measure a model on unseen rows."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from likewise.cli._console import Console, UsageError, count_of, with_console
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
    """Measure a model on unseen rows: accuracy by class and retrieval, or errors of numbers.

    Rows that the model was fitted to are left out; if no others are left, the figures are called
    those of training rows, and say nothing about new rows.
    """
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
    console.message(f"{table.name}: {count_of(len(table), 'row')}")
    table, origin = _without_training_rows(opened, table)
    n_missing = opened.columns.n_missing(table.rows)
    is_or_are = "is" if n_missing == 1 else "are"
    filled = [f"{count_of(n_missing, 'missing cell')} {is_or_are} imputed as in fitting."]
    console.messages("Columns:", [*table.notes, *(filled if n_missing else [])])
    predicted = None
    if origin.measured_on == "training rows":
        predicted = opened.predict_left_out(table.rows)
        origin = origin.with_predictions(left_out=predicted is not None)
    predicted = opened.predict(table.rows) if predicted is None else predicted
    if task == "regression":
        _show_numbers(console, table, predicted, origin)
        return
    labels = table.labels  # 1 in one file may be "1" in another
    if labels.dtype.kind != predicted.dtype.kind:
        labels, predicted = labels.astype(str), predicted.astype(str)
    measured = _measures(opened, table.rows, labels, predicted)
    console.result(
        {"table": table.name, "rows": len(table), **origin.as_json(), **measured},
        *origin.lines(),
        _by_class(measured["classes"]),
        f"accuracy: {measured['accuracy']:.4f} on {origin.rows(len(table))}; of the majority class "
        f"{measured['majority_accuracy']:.4f}",
        f"balanced accuracy: {measured['balanced_accuracy']:.4f} on {origin.rows(len(table))}",
        *_constant_lines(measured),
        *_retrieval_lines(measured, origin),
    )


@dataclass(frozen=True)
class _Origin:
    """Whether the rows that are measured are new to the model.

    Attributes
    ----------
    measured_on : {"new rows", "training rows", "unknown rows"}
    n_training_rows : int or None
        Number of rows of the file that the model was fitted to; None if that is unknown.
    note : str or None
        The sentence to print with the figures.
    """

    measured_on: str
    n_training_rows: int | None
    note: str | None

    def rows(self, n: int) -> str:
        """Return a number of rows as text, which names training rows."""
        return count_of(n, "training row" if self.measured_on == "training rows" else "row")

    def with_predictions(self, *, left_out: bool) -> "_Origin":
        """Return the origin with a sentence on whether each row was predicted without itself."""
        how = "without itself" if left_out else "with itself"
        return replace(self, note=f"{self.note} Each is predicted {how} among the training rows.")

    def lines(self) -> list[str]:
        """Return the lines to print before the figures."""
        return [] if self.note is None else [self.note]

    def as_json(self) -> dict[str, Any]:
        """Return the origin as JSON values."""
        return {
            "measured_on": self.measured_on,
            "training_rows": self.n_training_rows,
            "note": self.note,
        }


def _without_training_rows(opened: Any, table: Any) -> tuple[Any, _Origin]:
    """Return the rows of a table that the model was not fitted to; all rows if there are none."""
    from likewise._validation import take

    known = opened.is_training_row(table.rows)
    if known is None:
        note = (
            "The model does not record its training rows: if these rows are among them, this says "
            "nothing about new rows."
        )
        return table, _Origin("unknown rows", None, note)
    n, n_known = len(table), int(known.sum())
    if n_known == 0:
        return table, _Origin("new rows", 0, None)
    which = f"{n_known} of {n} rows" if n > 1 else "the only row"
    verb = "equals a row" if n_known == 1 else "equal rows"
    what = f"{which} of {table.name} {verb} that the model was fitted to"
    if n_known == n:
        note = f"Warning: training rows: this says nothing about new rows ({what})."
        return table, _Origin("training rows", n_known, note)
    left_out = "is left out" if n_known == 1 else "are left out"
    kept = (~known).nonzero()[0]
    fewer = replace(table, rows=take(table.rows, kept), labels=table.labels[kept])
    return fewer, _Origin("new rows", n_known, f"{what} and {left_out}.")


def _show_numbers(console: Console, table: Any, predicted: Any, origin: _Origin) -> None:
    """Print the errors of predicted numbers, beside those of the mean of the table."""
    import numpy as np
    from sklearn.metrics import mean_absolute_error, r2_score

    from likewise.selection import replace_nan

    truth = table.labels
    constant = np.full(len(truth), truth.mean())
    measured = {
        "r2": float(r2_score(truth, predicted)),
        "mean_absolute_error": float(mean_absolute_error(truth, predicted)),
        "mean_absolute_error_of_mean": float(mean_absolute_error(truth, constant)),
    }
    console.result(
        replace_nan({"table": table.name, "rows": len(table), **origin.as_json(), **measured}),
        *origin.lines(),
        f"R²: {measured['r2']:.4f} on {origin.rows(len(table))}",
        f"mean absolute error: {measured['mean_absolute_error']:.5g} on "
        f"{origin.rows(len(table))}; of the mean value "
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
    note = None
    if seen is None:
        note = (
            "These figures are valid for new queries and items only if the model was not trained "
            "on these comparisons: --trained-on separates seen from new items."
        )
    has_start = Q.shape[1] == P.shape[1]
    right_order = {"after": overall.learned, **({"before": overall.start} if has_start else {})}
    console.result(
        replace_nan(
            {
                "comparisons": len(comparisons),
                "note": note,
                "right_order": right_order,
                **{kind: outcome._asdict() for kind, outcome in outcomes.items()},
            }
        ),
        f"{count_of(len(comparisons), 'comparison')} of {count_of(overall.n, 'query', 'queries')}; "
        "every query counts equally",
        *(
            f"in the right order {when} learning: {share:.4f}"
            for when, share in sorted(right_order.items(), reverse=True)
        ),
        *(
            f"on {kind} items: {learned:.4f}, before {start:.4f} "
            f"({count_of(n, 'query', 'queries')})"
            for kind, (start, learned, _, n) in outcomes.items()
            if kind != "overall" and n
        ),
        *([] if note is None else [note]),
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


def _retrieval_lines(measured: dict[str, Any], origin: _Origin) -> list[str]:
    retrieval = measured.get("retrieval", {})
    return [
        f"retrieval among {origin.rows(retrieval['rows'])} {name} learning: "
        + ", ".join(f"{measure} {value:.3f}" for measure, value in retrieval[name].items())
        for name in ("before", "after")
        if name in retrieval
    ]


def _few(names: Any) -> str:
    return ", ".join(map(str, names[:5])) + (" ..." if len(names) > 5 else "")
