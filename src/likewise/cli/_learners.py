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
                    entry["about"] + ("; compared only if named" if entry["by_name"] else ""),
                )
                for entry in listed
            ],
        ),
    )


def _listed() -> list[dict[str, Any]]:
    """Return families of classes and of numbers, then learners of comparisons alone."""
    from likewise.selection import FAMILIES, REGRESSION_FAMILIES, TRIPLET_LEARNERS

    listed: dict[str, dict[str, Any]] = {}
    for target, families in (("labels", FAMILIES), ("numbers", REGRESSION_FAMILIES)):
        for family in families:
            entry = {
                "name": family.name,
                "title": family.title,
                "kind": family.kind,
                "learns_from": [],
                "about": family.about,
                "settings": [dict(settings) for settings in family.grid],
                "by_name": family.by_name,
            }
            learns_from = listed.setdefault(family.name, entry)["learns_from"]
            learns_from += [target] if family.kind != "baseline" else []
    for name, learner in TRIPLET_LEARNERS.items():
        entry = {
            "name": name,
            "title": learner.title,
            "kind": "learned",
            "learns_from": [],
            "about": learner.about,
            "settings": [{}],
            "by_name": False,
        }
        listed.setdefault(name, entry)["learns_from"].append("triplets")
    return list(listed.values())
