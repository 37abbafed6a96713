"""``likewise learners``: what can be learned with, and what it is compared with."""

from likewise.cli._show import Show, reported


@reported
def command(show: Show) -> None:
    """List the learners, and the baselines and outsiders beside them."""
    from likewise.evaluation import Table
    from likewise.selection import FAMILIES

    show.result(
        {
            "learners": [
                {
                    "name": family.name,
                    "title": family.title,
                    "kind": family.kind,
                    "about": family.about,
                    "settings": [dict(settings) for settings in family.grid],
                }
                for family in FAMILIES
            ]
        },
        Table(
            ("name", "kind", "settings tried", "what"),
            [(f.name, f.kind, str(len(f.grid)), f.about) for f in FAMILIES],
        ),
    )
