"""Local alignment of sequences, with biopython."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._validation import check_number
from likewise.exceptions import require_extra
from likewise.similarities._blocks import Distance, NamePair
from likewise.similarities.distances._strings import check_strings


@dataclass(frozen=True, eq=False)
class AlignmentDistance(Distance):
    """1 − s(a, b) / √(s(a, a) s(b, b)), with s the Smith-Waterman score.

    Parameters
    ----------
    match, mismatch, gap : float, default=2.0, 1.0, 1.0
        Gain of a pair of equal letters, and costs of a pair of unequal ones and of each position
        in a gap.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.as_similarity("smith_waterman").distance(["acgt"], ["acgt", "ttac", "ggg"])
    array([[0.        , 0.5       , 0.71132487]])
    """

    parallel = False  # the aligner is not documented to be thread-safe
    match: float = 2.0
    mismatch: float = 1.0
    gap: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.match, "match", minimum=0, exclusive=True)
        check_number(self.mismatch, "mismatch", minimum=0)
        check_number(self.gap, "gap", minimum=0, exclusive=True)

    def check_queries(self, Q: Any, name: str = "Q") -> list[str]:
        """Return a list of non-empty strings."""
        require_extra("Bio.Align", "sequences", "the distance 'smith_waterman'")
        strings = check_strings(Q, name, "smith_waterman")
        for number, entry in enumerate(strings):
            if not entry:
                raise ValueError(
                    f"'smith_waterman' compares texts of at least one character, but entry "
                    f"{number} of {name} is empty."
                )
        return strings

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Align every pair."""
        from Bio.Align import PairwiseAligner

        aligner = PairwiseAligner(
            mode="local",
            match_score=self.match,
            mismatch_score=-self.mismatch,
            open_gap_score=-self.gap,
            extend_gap_score=-self.gap,
        )
        scores = np.array([[aligner.score(a, b) for b in right] for a in left])
        # a string aligned with itself matches in every letter
        own = [self.match * np.array([len(s) for s in side]) for side in (left, right)]
        return np.maximum(0.0, 1 - scores / np.sqrt(np.outer(*own)))
