"""Change the address of the repository in every file that names it.

``python -m tools.address https://github.com/OWNER/NAME`` replaces the address that
``pyproject.toml`` has under ``Source``, and that of the site, which belongs to it.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES = ("pyproject.toml", "CITATION.cff", ".github/ISSUE_TEMPLATE/config.yml")
REPOSITORY = re.compile(r"https://github\.com/(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)")


def current_address() -> str:
    """Return the address of the repository."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    return project["urls"]["Source"]


def site_of(repository: str) -> str:
    """Return the address of the site that belongs to a repository."""
    found = REPOSITORY.fullmatch(repository)
    if found is None:
        raise SystemExit(f"the address must be https://github.com/OWNER/NAME, not {repository!r}")
    return f"https://{found['owner']}.github.io/{found['name']}"


def moved(text: str, old: str, new: str) -> str:
    """Return a text with the addresses of `new` in place of those of `old`."""
    return text.replace(site_of(old), site_of(new)).replace(old, new)


def main() -> None:
    """Rewrite the files; the new address is the only argument."""
    (new,) = sys.argv[1:]
    old = current_address()
    for name in FILES:
        path = ROOT / name
        path.write_text(moved(path.read_text(encoding="utf8"), old, new), encoding="utf8")
        print(name)


if __name__ == "__main__":
    main()
