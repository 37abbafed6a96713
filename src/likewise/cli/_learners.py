"""``likewise learners``: the learners, baselines and references."""

from typing import Any

from likewise.cli._console import Console, with_console


@with_console
def command(console: Console) -> None:
    """List the learners, baselines and references."""
    from likewise.evaluation import Table

    listed = _listed()
    console.result(
        {"learners": listed},
        Table(
            ("name", "kind", "learns from", "settings", "description"),
            [
                (
                    entry["name"],
                    entry["kind"],
                    " and ".join(entry["learns_from"]) or "–",
                    str(len(entry["settings"])),
                    entry["about"],
                )
                for entry in listed
            ],
        ),
    )


def _listed() -> list[dict[str, Any]]:
    """Return families of labels, then learners of comparisons alone."""
    from likewise.selection import FAMILIES, TRIPLET_LEARNERS

    of_labels = [
        {
            "name": family.name,
            "title": family.title,
            "kind": family.kind,
            "learns_from": [
                *(["labels"] if family.kind != "baseline" else []),
                *(["triplets"] if family.name in TRIPLET_LEARNERS else []),
            ],
            "about": family.about,
            "settings": [dict(settings) for settings in family.grid],
        }
        for family in FAMILIES
    ]
    of_triplets = [
        {
            "name": name,
            "title": learner.title,
            "kind": "learned",
            "learns_from": ["triplets"],
            "about": learner.about,
            "settings": [{}],
        }
        for name, learner in TRIPLET_LEARNERS.items()
        if name not in {family.name for family in FAMILIES}
    ]
    return [*of_labels, *of_triplets]
