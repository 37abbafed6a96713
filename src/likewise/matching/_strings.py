"""String similarities of pairs of values."""

from collections.abc import Sequence

import numpy as np

from likewise import kernels


class Strings:
    """Strings as one array of letters, to be compared by number.

    >>> strings = Strings(["meier", "maier", "ab", "ba"])
    >>> jaro_winkler, edit = strings.compare(np.array([0, 2]), np.array([1, 3]))
    >>> jaro_winkler.round(3).tolist(), edit.tolist()
    ([0.88, 0.0], [0.8, 0.5])
    """

    def __init__(self, strings: Sequence[str]) -> None:
        lengths = np.fromiter(map(len, strings), np.int64, len(strings))
        self._starts = np.concatenate([[0], np.cumsum(lengths)])
        letters = np.frombuffer("".join(strings).encode("utf-32-le"), dtype=np.int32)
        self._letters = letters.copy()

    def compare(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the Jaro-Winkler and edit similarities of paired strings."""
        pairs = [np.ascontiguousarray(side, dtype=np.int64) for side in (left, right)]
        jaro_winkler, edit = np.empty((2, len(left)))
        kernels.string_similarities(self._letters, self._starts, *pairs, jaro_winkler, edit)
        return jaro_winkler, edit
