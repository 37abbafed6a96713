"""Sequences by local alignment, with biopython."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._validation import check_number
from likewise.exceptions import require_extra
from likewise.similarities.distances._base import Dissimilarity, NamePair
from likewise.similarities.distances._strings import check_strings


@dataclass(frozen=True, eq=False)
class AlignmentDistance(Dissimilarity):
    """1 − s(a, b) / √(s(a, a) s(b, b)), with s the score of Smith and Waterman.

    Parameters
    ----------
    match, mismatch, gap : float, default=2.0, 1.0, 1.0
        What equal letters add to the score, and what unequal ones and each place in a gap cost.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.distances.as_dissimilarity("smith_waterman").pairwise(["acgt"], ["acgt", "ttac", "ggg"])
    array([[0.        , 0.5       , 0.71132487]])
    """

    match: float = 2.0
    mismatch: float = 1.0
    gap: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.match, "match", minimum=0, exclusive=True)
        check_number(self.mismatch, "mismatch", minimum=0)
        check_number(self.gap, "gap", minimum=0, exclusive=True)

    @property
    def parallel(self) -> bool:
        """No: the aligner is not said to be safe in threads."""
        return False

    def check(self, X: Any, name: str = "X") -> list[str]:
        """Return a list of strings that are not empty."""
        require_extra("Bio.Align", "sequences", "the distance 'smith_waterman'")
        strings = check_strings(X, name, "smith_waterman")
        for number, entry in enumerate(strings):
            if not entry:
                raise ValueError(f"'smith_waterman' has no score for entry {number} of {name}: ''.")
        return strings

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Ask biopython."""
        from Bio.Align import PairwiseAligner

        aligner = PairwiseAligner(
            mode="local",
            match_score=self.match,
            mismatch_score=-self.mismatch,
            open_gap_score=-self.gap,
            extend_gap_score=-self.gap,
        )
        scores = np.array([[aligner.score(a, b) for b in right] for a in left])
        # equal letters all along is the best that a string can do with itself
        own = [self.match * np.array([len(s) for s in side]) for side in (left, right)]
        return np.maximum(0.0, 1 - scores / np.sqrt(np.outer(*own)))
