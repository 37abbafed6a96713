"""``python -m benchmarks [NAME ...]``: all benchmarks, or those named."""

import argparse
import os
import sys
from pathlib import Path
from pkgutil import iter_modules

from benchmarks._contender import LONG
from benchmarks._frame import ROOT, run
from benchmarks._summary import write_summary

_ON_REQUEST = ("soak",)  # too long to be one of all


def main() -> int:
    """Parse and run."""
    known = [m.name for m in iter_modules([str(Path(__file__).parent)]) if m.name[0] != "_"]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--folder", type=Path, default=ROOT / "results" / "bench")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--base", metavar="REV", help="compare with likewise at a git revision instead of others"
    )
    parser.add_argument(
        "--long", action="store_true", help="also run contenders that take many minutes"
    )
    parser.add_argument(
        "--summary",
        nargs="?",
        type=Path,
        const=ROOT / "docs" / "performance.md",
        metavar="FILE",
        help="write a table of the results so far to FILE, docs/performance.md by default",
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="of the benchmark soak")
    chosen = parser.parse_args()
    if chosen.summary is not None:
        write_summary(chosen.folder, chosen.summary)
        return 0
    if chosen.long:
        os.environ[LONG] = "1"
    for name in chosen.names or [name for name in known if name not in _ON_REQUEST]:
        if name not in known:
            print(
                f"NAME must be one of {', '.join(known)}, but {name!r} was given.", file=sys.stderr
            )
            return 2
        run(name, chosen.folder, chosen.repeats, chosen.base, minutes=chosen.minutes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
