"""The contenders of a benchmark, and their environments."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# Environments created on demand, one for each set of compatible libraries. metric-learn 0.7.0
# passes an argument that scikit-learn dropped in 1.8; pylmnn 1.6.4 needs six without declaring it.
ENVIRONMENTS = {
    "faiss": ["numpy", "faiss-cpu==1.15.1"],
    "torch": ["numpy", "torch==2.13.0"],
    "nudge": ["numpy", "nudge-ft==0.1.2"],
    "intelex": ["numpy", "scikit-learn==1.7.2", "scikit-learn-intelex==2026.2.0"],
    "dedupe": ["pandas", "dedupe==3.0.3", "btrees==5.2"],  # fails with later BTrees
    "splink": ["pandas", "splink==5.0.0"],
    "recordlinkage": ["pandas", "recordlinkage==0.16"],
    "usearch": ["numpy", "usearch==2.26.6"],
    "metric": ["scikit-learn==1.7.2", "metric-learn==0.7.0", "pylmnn==1.6.4", "six", "mlpack"],
}

LONG = "LIKEWISE_BENCH_LONG"  # set by --long


def long_runs() -> bool:
    """Tell whether contenders that take many minutes take part."""
    return bool(os.environ.get(LONG))


@dataclass(frozen=True)
class Contender:
    """One line of a benchmark's table.

    Attributes
    ----------
    name : str
        "likewise" is compared with the others: "likewise, ..." is a variant of it, "floor: ..." a
        lower bound, and any other name is a peer.
    prepare : callable from (case, data) to the timed call
    environment : str or None
        A key of ENVIRONMENTS; None for likewise's own.
    slow : bool
        Run once, without warm-up.
    share : float
        The part of the case's work that it does, for ratios.
    left_out : callable from a case to a reason, or to None where it takes part
    """

    name: str
    prepare: Callable[[dict[str, Any], Any], Callable[[], Any]]
    environment: str | None = None
    slow: bool = False
    share: float = 1.0
    left_out: Callable[[dict[str, Any]], str | None] = lambda case: None
