"""One contender in its own process: prepares once, then runs on request.

``python -m benchmarks._worker MODULE CONTENDER CASE`` writes an empty line when it is ready,
then reads a line for each run from standard input and answers each with a line of JSON.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter


def main() -> None:
    """Prepare, then run on request."""
    module = import_module(f"benchmarks.{sys.argv[1]}")
    contender = next(c for c in module.CONTENDERS if c.name == sys.argv[2])
    case = json.loads(sys.argv[3])
    data = module.data(case)
    memory_before = memory("VmRSS")
    _reset_peak()
    run = contender.prepare(case, data)
    print(flush=True)
    for _ in sys.stdin:
        started = perf_counter()
        result = run()
        seconds = perf_counter() - started
        peak = max(0.0, memory("VmHWM") - memory_before)
        answer = {"seconds": seconds, "peak_mb": peak, **module.quality(case, data, result)}
        _reset_peak()  # the measures of quality need memory, too
        print(json.dumps(answer), flush=True)


def memory(field: str) -> float:
    """Return a memory figure of this process from /proc, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no {field} in /proc/self/status")


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


if __name__ == "__main__":
    main()
