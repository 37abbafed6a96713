"""``likewise datasets``: data sets to try."""

from dataclasses import asdict

from likewise.cli._console import Console, with_console


@with_console
def command(console: Console) -> None:
    """List the data sets whose names can be given in place of a file."""
    from likewise.datasets import catalogue
    from likewise.evaluation import Table

    rows = catalogue()
    console.result(
        {"datasets": [asdict(row) for row in rows]},
        Table(
            ("name", "rows", "features", "classes", "kind", "description"),
            [
                (
                    row.name,
                    *(
                        "–" if n is None else str(n)
                        for n in (row.n_samples, row.n_features, row.n_classes)
                    ),
                    row.kind,
                    row.description,
                )
                for row in rows
            ],
        ),
    )
