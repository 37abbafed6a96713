"""``likewise evaluate``: say how good a model is on rows it has not seen."""

from typing import Annotated, Any

import typer

from likewise.cli._options import Target
from likewise.cli._show import Show, WrongUse, reported


@reported
def command(
    show: Show,
    model: Annotated[str, typer.Argument(help="A model file.")],
    file: Annotated[str, typer.Argument(help="A table with labels, or the name of a data set.")],
    target: Target = None,
) -> None:
    """Measure a model on rows it has not seen: accuracy by class, and retrieval."""
    from likewise import load
    from likewise.cli._inputs import labelled_table
    from likewise.tables import TableModel

    opened = load(model)
    if not isinstance(opened, TableModel) or not hasattr(opened.estimator, "predict"):
        raise WrongUse(f"{model} holds no classifier; fit one from a table with labels.")
    width = opened.columns.n_features_in_ if not opened.columns.columns_ else None
    table = labelled_table(file, target or _stored_target(opened, file), n_features=width)
    show.remarks(f"{table.name}: {len(table)} rows", table.notes)
    n_missing = opened.columns.n_missing(table.rows)
    if n_missing:
        show.remark(f"{n_missing} missing cells are filled as when the model was fitted.")
    labels = (
        table.labels.astype(opened.estimator.classes_.dtype.type)
        if _alike(table.labels, opened.estimator.classes_)
        else table.labels.astype(str)
    )
    predicted = opened.predict(table.rows).astype(labels.dtype)
    measured = _measures(opened, table.rows, labels, predicted)
    show.result(
        {"table": table.name, "rows": len(table), **measured},
        _by_class(measured["classes"]),
        f"accuracy: {measured['accuracy']:.4f} on {len(table)} rows",
        *_retrieval_lines(measured),
    )


def _stored_target(opened: Any, file: str) -> str | None:
    """Return the target's name in the model, unless the file has its labels anyway."""
    from likewise.tables import read_table

    has_it = opened.target in getattr(read_table(file).rows, "column_names", [])
    return opened.target if has_it else None


def _alike(labels: Any, classes: Any) -> bool:
    return (labels.dtype.kind in "iu") == (classes.dtype.kind in "iu")


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
    from likewise.similarities import Similarity

    learned = getattr(opened.estimator, "similarity_", None)
    if not isinstance(learned, Similarity) or len(labels) < 3:
        return {}
    X = opened.transform(rows)
    before = as_similarity("euclidean" if learned.has_distance else "cosine")
    k = min(10, len(labels) - 1)
    found = {}
    for name, similarity in (("before", before), ("after", learned)):
        report = evaluate_retrieval(similarity, X, labels=labels, k=(k,))
        found[name] = {f"precision@{k}": report[f"precision@{k}"], "map": report["map"]}
    return {"retrieval": found}


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
    return [
        f"retrieval {name} learning: "
        + ", ".join(f"{measure} {value:.3f}" for measure, value in values.items())
        for name, values in measured.get("retrieval", {}).items()
    ]


def _few(names: Any) -> str:
    return ", ".join(map(str, names[:5])) + (" ..." if len(names) > 5 else "")
