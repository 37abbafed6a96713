"""Nested cross-validation within a budget: what is chosen inside is scored outside."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from likewise._progress import LongWork, show_progress
from likewise._validation import check_number, check_whole_number, is_sparse
from likewise.selection._families import FAMILIES, Family
from likewise.selection._fold import Fold, n_steps, take_rows
from likewise.selection._selection import Selection, concluded, described
from likewise.tables import Columns

_UNSCALED = ("categorical", "image", "text")  # columns that are the same at every scale
_WIDE = 100  # features
_MOST_ROWS = 2000  # that are compared on; what is chosen is fitted on all


def select(
    rows: Any,
    labels: Any,
    *,
    columns: Columns | None = None,
    families: Iterable[Family] = FAMILIES,
    choose_from: Iterable[str] | None = None,
    budget: float = 120.0,
    n_folds: int = 5,
    random_state: int = 0,
    verbose: bool = False,
) -> Selection:
    """Compare families on a table and choose one, honestly and within a time.

    Rows are cut into outer folds. In each, columns are learned from the training part, every
    family tries its settings there by inner cross-validation, and its best setting is fitted on the
    whole training part and scored on the rows left out. First every family tries its likeliest
    setting, then the next, until the time for the fold is used up. What is chosen in the end has
    the best inner scores over all outer folds; what its figure is worth is told by `nested`.

    Ctrl-C ends the work; the finished outer folds are kept.

    Parameters
    ----------
    rows : frame, array or CSR
    labels : array of shape (n_rows,)
    columns : Columns, optional
        How columns are to be taken; `scale` is tried out here.
    families : families to compare
    choose_from : names of families, optional
        What may be chosen: baselines and learners with a similarity by default.
    budget : float, default=120.0
        Seconds. At least one outer fold is finished in any case.
    n_folds : int, default=5
        Outer folds; fewer where a class has fewer rows.
    random_state : int, default=0
        Seed of folds and learners. The result is the same each time unless the time runs out.
    verbose : bool, default=False
        Show progress.

    Returns
    -------
    Selection
    """
    budget = check_number(budget, "budget", minimum=0.0, exclusive=True)
    check_whole_number(n_folds, "n_folds", minimum=2)
    labels = check_classes(labels)
    columns = Columns() if columns is None else columns
    seen = clone(columns).fit(rows)  # refuses, before any work, what cannot be learned from
    notes: list[str] = []
    rows, labels = _sampled(rows, labels, random_state, notes)
    tried = _that_take(families, seen.transform(take_rows(rows, np.arange(2))), labels, notes)
    if len(seen.feature_names_) > _WIDE:
        tried = [
            replace(f, grid=tuple({**settings, **f.wide} for settings in f.grid)) for f in tried
        ]
    if all(block["kind"] in _UNSCALED for block in seen.blocks_):
        tried = [_of_one_scale(family) for family in tried]
    allowed = _allowed(tried, choose_from)
    n_folds = min(n_folds, int(np.unique(labels, return_counts=True)[1].min()))
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    splits = list(splitter.split(np.zeros(len(labels)), labels))

    until = monotonic() + budget
    folds: list[Fold] = []
    with (
        show_progress(verbose),
        LongWork(
            f"comparing, {budget:.0f} s at most",
            total=n_steps(tried, n_folds),
            unit="fits",
            partial_result="the best so far",
        ) as work,
        warnings.catch_warnings(),
    ):
        # said once and in our own words where they matter, not once a fit
        warnings.simplefilter("ignore")
        for number, (train, test) in enumerate(splits):
            share = (until - monotonic()) / (n_folds - number)
            fold = Fold(rows, labels, train, test, columns, random_state, work)
            # the first fold decides who is in time; if it is cut short, what it has is kept
            measured = fold.run(tried, monotonic() + share, until if number == 0 else None)
            if len(measured) < len(tried) and number > 0:
                break
            folds.append(fold)
            left_out = [family.title for family in tried if family not in measured]
            tried = measured
            if left_out:
                notes.append(f"The time did not suffice for {', '.join(left_out)}.")
            if work.interrupted:
                break
            if number + 1 < n_folds and monotonic() + 0.8 * fold.seconds > until:
                notes.append(
                    f"The time was enough for {number + 1} of {n_folds} folds: a larger budget "
                    "gives surer figures."
                )
                break
    allowed = [family for family in allowed if family in tried]
    if not allowed:
        raise KeyboardInterrupt("interrupted before anything that may be chosen was measured")
    if work.interrupted:
        notes.append(f"Interrupted: the figures are of {len(folds)} of {n_folds} folds.")
    return concluded(folds, tried, allowed, notes, columns, random_state)


def check_classes(labels: Any) -> np.ndarray:
    """Return labels that can be learned from: two classes at least, two rows in each."""
    labels = np.asarray(labels)
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"the target has one class, {str(classes[0])!r}; at least two are needed.")
    if counts.min() < 2:
        alone = [str(name) for name in classes[counts < 2]]
        several = f" (and {len(alone) - 1} more)" if len(alone) > 1 else ""
        raise ValueError(
            f"class {alone[0]!r}{several} of the target has one row; at least two are needed, one "
            "to learn from and one to be tested on."
        )
    return labels


def _sampled(rows: Any, labels: np.ndarray, seed: int, notes: list[str]) -> tuple[Any, np.ndarray]:
    """Return at most so many rows as are compared on, of every class its share."""
    if len(labels) <= _MOST_ROWS:
        return rows, labels
    classes = np.unique(labels)
    kept = np.concatenate([np.flatnonzero(labels == name)[:2] for name in classes])
    others = np.setdiff1d(np.arange(len(labels)), kept)
    room = _MOST_ROWS - len(kept)
    if 0 < room < len(others):
        shuffled = np.random.default_rng(seed).permutation(others)[:room]
        kept = np.concatenate([kept, shuffled])
    kept.sort()
    notes.append(
        f"Compared on {len(kept)} of {len(labels)} rows, drawn at random; what is chosen is "
        "fitted on all of them."
    )
    return take_rows(rows, kept), labels[kept]


def _that_take(
    families: Iterable[Family], X: Any, labels: np.ndarray, notes: list[str]
) -> list[Family]:
    families = list(families)
    if not families:
        raise ValueError("families is empty; at least one is needed.")
    if labels.dtype.kind in "iu" and -1 in labels:  # by which it knows rows without a label
        families = [family for family in families if family.name != "landmarks"]
    if not is_sparse(X):
        return families
    left_out = [family.title for family in families if not family.sparse]
    if left_out:
        notes.append(f"Left out, since rows are sparse: {', '.join(left_out)}.")
    return [family for family in families if family.sparse]


def _of_one_scale(family: Family) -> Family:
    """Leave out settings that differ from others in the scale alone."""
    kept = {described({**settings, "scale": ""}): settings for settings in reversed(family.grid)}
    return replace(family, grid=tuple(s for s in family.grid if s in kept.values()))


def _allowed(tried: Sequence[Family], choose_from: Iterable[str] | None) -> list[Family]:
    if choose_from is None:
        allowed = [family for family in tried if family.searchable]
    else:
        names = set(choose_from)
        allowed = [family for family in tried if family.name in names]
    if not allowed:
        raise ValueError(
            "none of the families that may be chosen takes these rows: "
            f"{', '.join(choose_from or ())}."
        )
    return allowed
