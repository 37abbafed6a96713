"""Jaro-Winkler and edit similarities of pairs of strings."""

import numpy as np

from likewise.kernels._jit import helper, kernel


@helper
def _jaro_winkler(letters, a, n, b, m, used_a, used_b):
    """Return the similarity of the strings of n and m letters that start at a and b."""
    window = max(0, max(n, m) // 2 - 1)
    for i in range(n):
        used_a[i] = 0
    for j in range(m):
        used_b[j] = 0
    common = 0
    for i in range(n):
        for j in range(max(0, i - window), min(m, i + window + 1)):
            if used_b[j] == 0 and letters[a + i] == letters[b + j]:
                used_a[i] = 1
                used_b[j] = 1
                common += 1
                break
    if common == 0:
        return 0.0
    moved = 0
    j = 0
    for i in range(n):
        if used_a[i] == 1:
            while used_b[j] == 0:
                j += 1
            if letters[a + i] != letters[b + j]:
                moved += 1
            j += 1
    in_order = common - moved // 2
    jaro = (common / n + common / m + in_order / common) / 3.0
    # a prefix counts above 0.7 only; whole numbers tell, for rounding errors would decide at 0.7
    if 10 * (common * common * (n + m) + in_order * n * m) <= 21 * common * n * m:
        return jaro
    prefix = 0
    while prefix < min(4, n, m) and letters[a + prefix] == letters[b + prefix]:
        prefix += 1
    return jaro + 0.1 * prefix * (1.0 - jaro)


@helper
def _edits(letters, a, n, b, m, before, last, row):
    """Return the number of insertions, deletions, substitutions and swaps of adjacent letters."""
    for j in range(m + 1):
        last[j] = j
        before[j] = 0
    for i in range(1, n + 1):
        row[0] = i
        for j in range(1, m + 1):
            differ = 1 if letters[a + i - 1] != letters[b + j - 1] else 0
            best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + differ)
            if (
                i > 1
                and j > 1
                and letters[a + i - 1] == letters[b + j - 2]
                and letters[a + i - 2] == letters[b + j - 1]
            ):
                best = min(best, before[j - 2] + 1)
            row[j] = best
        for j in range(m + 1):
            before[j] = last[j]
            last[j] = row[j]
    return last[m]


@kernel
def string_similarities(letters, starts, left, right, jaro_winkler, edit):
    """Write two similarities of each pair of strings; equal strings have 1, an empty one 0.

    Parameters
    ----------
    letters : (n_letters,) int32, code points of all strings
    starts : (n_strings + 1,) int64, first letters of the strings
    left, right : (n_pairs,) int64, numbers of strings
    jaro_winkler : (n_pairs,), written
        Prefixes of up to four letters count 0.1 each where the Jaro similarity is above 0.7.
    edit : (n_pairs,), written
        1 − edits / length of the longer string; an edit may swap two adjacent letters.
    """
    longest = 0
    for s in range(starts.shape[0] - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    scratch = np.empty((3, longest + 1), np.int64)
    for p in range(left.shape[0]):
        a, b = starts[left[p]], starts[right[p]]
        n, m = starts[left[p] + 1] - a, starts[right[p] + 1] - b
        if left[p] == right[p]:
            jaro_winkler[p] = 1.0
            edit[p] = 1.0
        elif n == 0 or m == 0:
            jaro_winkler[p] = 0.0
            edit[p] = 0.0
        else:
            jaro_winkler[p] = _jaro_winkler(letters, a, n, b, m, scratch[0], scratch[1])
            edits = _edits(letters, a, n, b, m, scratch[0], scratch[1], scratch[2])
            edit[p] = 1.0 - edits / max(n, m)
