"""String similarities of pairs of values."""

import numpy as np

from likewise import kernels


def string_features(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Jaro-Winkler and edit similarities of paired strings.

    Different pairs of strings are compared once, however often they occur.

    >>> import numpy as np
    >>> jaro_winkler, edit = string_features(np.array(["meier", "ab"]), np.array(["maier", "ba"]))
    >>> jaro_winkler.round(3).tolist(), edit.tolist()
    ([0.88, 0.0], [0.8, 0.5])
    """
    strings, numbers = np.unique(np.concatenate([left, right]).astype(object), return_inverse=True)
    pairs = numbers.reshape(2, -1).astype(np.int64)
    different, which = np.unique(pairs, axis=1, return_inverse=True)
    lengths = np.array([len(string) for string in strings], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    letters = np.frombuffer("".join(strings).encode("utf-32-le"), dtype=np.int32)
    jaro_winkler, edit = np.empty((2, different.shape[1]))
    first, second = np.ascontiguousarray(different)
    kernels.string_similarities(letters.copy(), starts, first, second, jaro_winkler, edit)
    which = np.ravel(which)
    return jaro_winkler[which], edit[which]
