"""Print the oldest supported versions as pip constraints: ``name==version`` for each ``>=``."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
# Extras for working on likewise: their tools are used in the newest versions.
TOOLS = {"test", "docs", "coverage", "release"}
# Frames of users: installed for the tests alone, but in the oldest versions too.
FRAMES = ("pandas", "polars")
REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(?:\[[\w,]+\])?>=(?P<version>[\w.]+)(?P<marker>\s*;.*)?"
)


def pins(project: dict) -> Iterator[str]:
    """Yield a pin for every requirement of the package and its extras for users, and for frames."""
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"]]
    wanted += [entry for entry in extras.get("test", ()) if entry.startswith(FRAMES)]
    for name, requirements in extras.items():
        if name not in TOOLS:
            wanted += requirements
    for requirement in sorted(set(wanted), key=str.lower):
        if requirement.startswith("likewise["):
            continue
        found = REQUIREMENT.fullmatch(requirement)
        if found is None:
            raise ValueError(f"{requirement!r} is not of the form name>=version")
        yield f"{found['name']}=={found['version']}{found['marker'] or ''}"


def main() -> None:
    """Print one pin per line."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf8"))["project"]
    print(*pins(project), sep="\n")


if __name__ == "__main__":
    main()
