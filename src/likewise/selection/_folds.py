"""Assignment of rows to splits: stratified by class, and equal rows together."""

import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold

NEVER_TESTED = -1


def assign_folds(labels: np.ndarray, groups: np.ndarray, n_splits: int, seed: int) -> np.ndarray:
    """Return the split in which each row is a test row.

    Classes have equal shares in all splits, as far as their rows allow. The only row of a class is
    never a test row.

    Parameters
    ----------
    labels : array of shape (n_rows,)
        Classes.
    groups : array of shape (n_rows,)
        Rows of one group are in the same split.
    n_splits : int
    seed : int
    """
    _, first, members = np.unique(groups, return_index=True, return_inverse=True)
    numbers, counts = np.unique(labels[first], return_inverse=True, return_counts=True)[1:]
    several = np.flatnonzero(counts[numbers] > 1)
    of_group = np.full(len(first), NEVER_TESTED)
    if len(several):
        n_splits = min(n_splits, int(counts.max()))
        splitter = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than splits
            for number, (_, test) in enumerate(splitter.split(several, numbers[several])):
                of_group[several[test]] = number
    return of_group[members]


def stratified_order(labels: np.ndarray, n_first: int, seed: int) -> np.ndarray:
    """Return the rows in random order, in which every beginning has the shares of all classes.

    The first `n_first` rows of each class come before all others.
    """
    random = np.random.default_rng(seed)
    order = random.permutation(len(labels))
    numbers, counts = np.unique(labels[order], return_inverse=True, return_counts=True)[1:]
    by_class = np.argsort(numbers, kind="stable")
    rank = np.empty(len(labels))
    rank[by_class] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    place = np.where(rank < n_first, -1.0, (rank + random.random(len(rank))) / counts[numbers])
    return order[np.argsort(place, kind="stable")]
