"""Nested cross-validation within a time budget: choices made inside are scored outside."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from likewise._compilation import clock, compile_kernels
from likewise._progress import LongWork, show_progress
from likewise._validation import (
    check_classes,
    check_number,
    check_whole_number,
    is_sparse,
    sample_rows,
    take,
)
from likewise.selection._families import FAMILIES, Family
from likewise.selection._selection import Selection, conclude, describe_settings
from likewise.selection._split import Split, max_fits
from likewise.tables import Columns

_UNSCALED = ("categorical", "image", "text")  # blocks of columns that no scale changes
_WIDE = 100  # features
_MAX_ROWS = 2000  # of a comparison; the choice is fitted on all rows


def select(
    rows: Any,
    labels: Any,
    *,
    columns: Columns | None = None,
    families: Iterable[Family] = FAMILIES,
    choose_from: Iterable[str] | None = None,
    budget: float = 120.0,
    n_splits: int = 5,
    random_state: int = 0,
    verbose: bool = False,
) -> Selection:
    """Compare families on a table by nested cross-validation, and choose one.

    In each outer split, columns are fitted on the training part, every family tries its settings
    there by inner cross-validation, and its best setting is fitted on the training part and scored
    on the test rows. Every family first tries its most likely setting, then the next, until the
    time of the split is used up. The choice has the best inner scores over all outer splits;
    `Selection.nested` estimates its accuracy.

    Ctrl-C ends the work; finished outer splits are kept.

    Parameters
    ----------
    rows : frame, array or CSR
    labels : array of shape (n_rows,)
    columns : Columns, optional
        How columns are encoded; `scale` is chosen here.
    families : families to compare
    choose_from : names of families, optional
        Families that may be chosen: baselines and learners with a similarity by default.
    budget : float, default=120.0
        Seconds, without those of compilation. At least one outer split is finished in any case.
    n_splits : int, default=5
        Outer splits; fewer where a class has fewer rows.
    random_state : int, default=0
        Seed of splits and learners. The result is reproducible unless the time runs out.
    verbose : bool, default=False
        Show progress.

    Returns
    -------
    Selection
    """
    budget = check_number(budget, "budget", minimum=0.0, exclusive=True)
    check_whole_number(n_splits, "n_splits", minimum=2)
    labels = check_class_sizes(labels)
    columns = Columns() if columns is None else columns
    described = clone(columns).fit(rows)  # refuses tables that cannot be encoded, before any work
    notes: list[str] = []
    rows, labels = _sample(rows, labels, random_state, notes)
    sample = described.transform(take(rows, np.arange(2)))
    tried = _accepting(families, sample, labels, notes)
    if len(described.feature_names_) > _WIDE:
        tried = [
            replace(f, grid=tuple({**settings, **f.wide} for settings in f.grid)) for f in tried
        ]
    if all(block["kind"] in _UNSCALED for block in described.blocks_):
        tried = [_with_one_scale(family) for family in tried]
    selectable = _selectable(tried, choose_from)
    scales = {settings["scale"] for family in tried for settings in family.grid}
    n_splits = min(n_splits, int(np.unique(labels, return_counts=True)[1].min()))
    splitter = StratifiedKFold(n_splits, shuffle=True, random_state=random_state)

    if not is_sparse(sample):
        with show_progress(verbose):
            compile_kernels(name for family in tried for name in family.kernels)
    deadline = clock() + budget
    splits: list[Split] = []
    with (
        show_progress(verbose),
        LongWork(
            f"comparing, {budget:.0f} s at most",
            total=max_fits(tried, n_splits),
            unit="fits",
            partial_result="the best so far",
        ) as work,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # the notes report what matters, once and not per fit
        for number, (train, test) in enumerate(splitter.split(np.zeros(len(labels)), labels)):
            share = (deadline - clock()) / (n_splits - number)
            split = Split(rows, labels, train, test, columns, scales, random_state, work)
            # The first split decides which families are fast enough; if cut short, it is kept.
            scored = split.run(tried, clock() + share, deadline if number == 0 else None)
            if len(scored) < len(tried) and number > 0:
                break
            splits.append(split)
            left_out = [family.title for family in tried if family not in scored]
            tried = scored
            if left_out:
                notes.append(f"The budget was too short for {', '.join(left_out)}.")
            if work.interrupted:
                break
            if number + 1 < n_splits and clock() + 0.8 * split.seconds > deadline:
                notes.append(
                    f"The budget allowed {number + 1} of {n_splits} splits: a larger budget gives "
                    "more reliable figures."
                )
                break
    selectable = [family for family in selectable if family in tried]
    if not selectable:
        raise KeyboardInterrupt("interrupted before any family that may be chosen was scored")
    if work.interrupted:
        notes.append(f"Interrupted: the figures are of {len(splits)} of {n_splits} splits.")
    return conclude(splits, tried, selectable, notes, columns, random_state)


def check_class_sizes(labels: Any) -> np.ndarray:
    """Return labels as an array; fewer than two classes, or a class of one row, are refused."""
    labels = np.asarray(labels)
    classes, numbers = check_classes(labels, "the target")
    single = [str(name) for name in classes[np.bincount(numbers) < 2]]
    if single:
        others = f" (and {len(single) - 1} more)" if len(single) > 1 else ""
        raise ValueError(
            f"class {single[0]!r}{others} of the target has one row; at least two are needed, one "
            "to train on and one to test on."
        )
    return labels


def _sample(rows: Any, labels: np.ndarray, seed: int, notes: list[str]) -> tuple[Any, np.ndarray]:
    """Return the rows to compare on, a stratified sample of a large table."""
    if len(labels) <= _MAX_ROWS:
        return rows, labels
    numbers = np.unique(labels, return_inverse=True)[1]
    chosen = sample_rows(len(labels), _MAX_ROWS, labels=numbers, random_state=seed)
    notes.append(
        f"Compared on {len(chosen)} of {len(labels)} rows, drawn at random; the choice is fitted "
        "on all of them."
    )
    return take(rows, chosen), labels[chosen]


def _accepting(
    families: Iterable[Family], X: Any, labels: np.ndarray, notes: list[str]
) -> list[Family]:
    """Return the families that take such rows and labels."""
    families = list(families)
    if not families:
        raise ValueError("families is empty; at least one is needed.")
    if labels.dtype.kind in "iu" and -1 in labels:  # its mark of unlabeled rows
        families = [family for family in families if family.name != "landmarks"]
    if not is_sparse(X):
        return families
    left_out = [family.title for family in families if not family.sparse]
    if left_out:
        notes.append(f"Left out, because rows are sparse: {', '.join(left_out)}.")
    return [family for family in families if family.sparse]


def _with_one_scale(family: Family) -> Family:
    """Leave out settings that differ from an earlier one in the scale alone."""
    first = {
        describe_settings({**settings, "scale": ""}): settings for settings in reversed(family.grid)
    }
    return replace(family, grid=tuple(s for s in family.grid if s in first.values()))


def _selectable(families: Sequence[Family], choose_from: Iterable[str] | None) -> list[Family]:
    names = None if choose_from is None else list(choose_from)
    selectable = [f for f in families if (f.searchable if names is None else f.name in names)]
    if not selectable:
        raise ValueError(
            f"none of the families to choose from takes these rows: {', '.join(names or ())}."
        )
    return selectable
