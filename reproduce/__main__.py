"""``python -m reproduce NAME``: the table of a paper with our figures beside it."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from likewise._validation import unknown_name
from reproduce._frame import UnknownSettingError, known, reproduce, tables


def main(arguments: list[str] | None = None) -> int:
    """Parse the arguments, run a reproduction and print its table."""
    parser = argparse.ArgumentParser(prog="python -m reproduce", description=__doc__)
    parser.add_argument("name", nargs="?", help=f"one of {', '.join(known())}")
    parser.add_argument("--folder", type=Path, default=Path("results/reproduce"))
    parser.add_argument(
        "--only",
        metavar="TEXT",
        default="",
        help="measure settings whose name has TEXT in it; keep the others",
    )
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    chosen = parser.parse_args(arguments)
    if chosen.name is None:
        print("\n".join(known()))
        return 0
    if chosen.name not in known():
        print(unknown_name(chosen.name, "NAME", known()), file=sys.stderr)
        return 2
    try:
        rows = reproduce(chosen.name, chosen.folder, only=chosen.only, verbose=not chosen.quiet)
    except UnknownSettingError as error:
        print(error, file=sys.stderr)
        return 2
    if chosen.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        print(*tables(chosen.name, rows), sep="\n\n")
    print(f"written to {chosen.folder}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
