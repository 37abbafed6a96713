"""Make README and the documentation print the installation command of `likewise._installation`."""

import re
from collections.abc import Iterator
from pathlib import Path

from likewise._installation import install_command, install_place

ROOT = Path(__file__).parent.parent
COMMAND = re.compile(r"pip install '?(?:likewise|\.)(?:\[([a-z,]+)\])?(?:'|(?=[\s`.]))")
PLACE = re.compile(f"{install_place(published=False)}|{install_place(published=True)}")


def pages() -> Iterator[Path]:
    """Yield the files that mention how to install likewise."""
    yield ROOT / "README.md"
    for folder in ("docs", "changes"):
        for page in sorted((ROOT / folder).rglob("*.md")):
            if not {"_build", "auto_examples"} & set(page.parts):
                yield page


def rewritten(text: str) -> str:
    """Return `text` with the current command in place of every installation command."""

    def command(found: re.Match[str]) -> str:
        extras = found[1].split(",") if found[1] else []
        return install_command(*extras)

    return COMMAND.sub(command, PLACE.sub(install_place(), text))


def main() -> None:
    """Rewrite the pages whose commands differ."""
    for page in pages():
        text = page.read_text(encoding="utf8")
        if (new := rewritten(text)) != text:
            page.write_text(new, encoding="utf8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
