"""Edit distances between strings, with rapidfuzz."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._validation import as_objects, check_choice
from likewise.exceptions import require_extra
from likewise.similarities._blocks import Distance, NamePair

STRING_METRICS = {"levenshtein": "Levenshtein", "jaro_winkler": "JaroWinkler", "lcs": "LCSseq"}


@dataclass(frozen=True, eq=False)
class StringDistance(Distance):
    """An edit distance between strings.

    Parameters
    ----------
    metric : {"levenshtein", "jaro_winkler", "lcs"}, default="levenshtein"
        The number of edits; 1 − the Jaro-Winkler similarity; or the length of the longer string
        minus that of the longest common subsequence.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.as_similarity("levenshtein").distance(["Meier"], ["Mayer", "Maier"])
    array([[2., 1.]])
    """

    metric: str = "levenshtein"

    def __post_init__(self) -> None:
        check_choice(self.metric, "metric", STRING_METRICS)

    def check_queries(self, Q: Any, name: str = "Q") -> list[str]:
        """Return a list of strings."""
        require_extra("rapidfuzz", "strings", f"the distance {self.metric!r}")
        return check_strings(Q, name, self.metric)

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Compare every pair."""
        from rapidfuzz import distance, process

        scorer = getattr(distance, STRING_METRICS[self.metric]).distance
        return np.asarray(process.cdist(left, right, scorer=scorer, dtype=np.float64, workers=1))


def check_strings(strings: Any, name: str, metric: str) -> list[str]:
    """Return a list of strings; refuse other entries."""
    objects = as_objects(strings, name)
    for number, entry in enumerate(objects):
        if not isinstance(entry, str):
            raise TypeError(
                f"{metric!r} compares strings, but entry {number} of {name} is {_short(entry)}."
            )
    return [str(entry) for entry in objects]


def _short(entry: Any) -> str:
    text = repr(entry).replace("\n", " ")
    return f"{text[:40]}{'…' * (len(text) > 40)} ({type(entry).__name__})"
