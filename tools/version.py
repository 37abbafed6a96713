"""Check that a tag, the package and CITATION.cff name the same version."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def versions() -> dict[str, str]:
    """Return the version that each file states."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf8")
    cited = re.search(r"^version: (\S+)$", citation, flags=re.MULTILINE)
    return {
        "pyproject.toml": project["version"],
        "CITATION.cff": cited[1] if cited else "none",
    }


def main() -> None:
    """Exit with an error if the tag, given as the only argument, differs from a file."""
    (tag,) = sys.argv[1:]
    for file, version in versions().items():
        if tag != f"v{version}":
            raise SystemExit(f"the tag is {tag}, but {file} has version {version}")


if __name__ == "__main__":
    main()
