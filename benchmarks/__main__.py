"""``python -m benchmarks [NAME ...]``: all benchmarks, or those named."""

import argparse
import sys
from pathlib import Path
from pkgutil import iter_modules

from benchmarks._frame import ROOT, run


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
    chosen = parser.parse_args()
    for name in chosen.names or known:
        if name not in known:
            print(
                f"NAME must be one of {', '.join(known)}, but {name!r} was given.", file=sys.stderr
            )
            return 2
        run(name, chosen.folder, chosen.repeats, chosen.base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
