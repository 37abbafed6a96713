"""``likewise datasets``: what there is to try things on."""

from dataclasses import asdict

from likewise.cli._show import Show, reported


@reported
def command(show: Show) -> None:
    """List the data sets that can be named in place of a file."""
    from likewise.datasets import catalogue
    from likewise.evaluation import Table

    rows = catalogue()
    show.result(
        {"datasets": [asdict(row) for row in rows]},
        Table(
            ("name", "rows", "features", "classes", "kind", "what"),
            [
                (
                    row.name,
                    str(row.n_samples),
                    "text" if row.n_features is None else str(row.n_features),
                    str(row.n_classes),
                    row.kind,
                    row.description,
                )
                for row in rows
            ],
        ),
    )
