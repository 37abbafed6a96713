"""Strings by edits, with rapidfuzz."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._validation import as_objects, check_choice
from likewise.exceptions import require_extra
from likewise.similarities.distances._base import Dissimilarity, NamePair

NAMES = {"levenshtein": "Levenshtein", "jaro_winkler": "JaroWinkler", "lcs": "LCSseq"}


@dataclass(frozen=True, eq=False)
class StringDistance(Dissimilarity):
    """How far one string is from another.

    Parameters
    ----------
    metric : {"levenshtein", "jaro_winkler", "lcs"}, default="levenshtein"
        Edits from one to the other; 1 − the similarity of Jaro and Winkler; the length of the
        longer one less that of the longest common subsequence.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.distances.as_dissimilarity("levenshtein").pairwise(["Meier"], ["Mayer", "Maier"])
    array([[2., 1.]])
    """

    metric: str = "levenshtein"

    def __post_init__(self) -> None:
        check_choice(self.metric, "metric", NAMES)

    def check(self, X: Any, name: str = "X") -> list[str]:
        """Return a list of strings."""
        require_extra("rapidfuzz", "strings", f"the distance {self.metric!r}")
        return check_strings(X, name, self.metric)

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Ask rapidfuzz."""
        from rapidfuzz import distance, process

        scorer = getattr(distance, NAMES[self.metric]).distance
        return np.asarray(process.cdist(left, right, scorer=scorer, dtype=np.float64, workers=1))


def check_strings(X: Any, name: str, metric: str) -> list[str]:
    """Return a list of strings, or say which entry is none."""
    objects = as_objects(X, name)
    for number, entry in enumerate(objects):
        if not isinstance(entry, str):
            raise TypeError(
                f"{metric!r} compares strings, but entry {number} of {name} is {_shown(entry)}."
            )
    return [str(entry) for entry in objects]


def _shown(entry: Any) -> str:
    text = repr(entry).replace("\n", " ")
    return f"{text[:40]}{'…' * (len(text) > 40)} ({type(entry).__name__})"
