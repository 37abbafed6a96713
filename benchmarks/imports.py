"""The time of ``import likewise`` beside ``import numpy``, each in a fresh interpreter."""

import subprocess
import sys
from typing import Any

from benchmarks._contender import Contender

CASES: list[dict[str, Any]] = [{}]


def data(case: dict[str, Any]) -> None:
    """Return nothing; imports need no data."""


def _importing(statement: str) -> Any:
    return lambda case, data: lambda: subprocess.run([sys.executable, "-c", statement], check=True)


CONTENDERS = [
    Contender("likewise", _importing("import numpy, likewise")),
    Contender("floor: numpy alone", _importing("import numpy")),
    Contender("scikit-learn", _importing("import numpy, sklearn.neighbors")),
]


def quality(case: dict[str, Any], data: Any, result: Any) -> dict[str, float]:
    """Return nothing; an import has no quality."""
    return {}
