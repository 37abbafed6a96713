"""``likewise learners``: what can be learned with, and what it is compared with."""

from typing import Any

from likewise.cli._show import Show, reported


@reported
def command(show: Show) -> None:
    """List the learners, and the baselines and outsiders beside them."""
    from likewise.evaluation import Table

    listed = _listed()
    show.result(
        {"learners": listed},
        Table(
            ("name", "kind", "learns from", "settings tried", "what"),
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
    """Return learners of labels, those of comparisons among them, and then the others."""
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
