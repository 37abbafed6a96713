"""Who takes part in a benchmark, and the environments they need."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# Environments made on demand, one for each set of peers that can live together.
ENVIRONMENTS = {
    "peers": ["numpy", "faiss-cpu==1.15.1"],
}


@dataclass(frozen=True)
class Contender:
    """One line of a benchmark's table."""

    name: str
    prepare: Callable[[dict[str, Any], Any], Callable[[], Any]]
    environment: str | None = None  # a key of ENVIRONMENTS; None for likewise's own
