"""Nested cross-validation within a time budget: choices made inside are scored outside."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from likewise._compilation import BackgroundCompilation, compile_kernels
from likewise._progress import LongWork, show_progress
from likewise._validation import (
    check_classes,
    check_number,
    check_whole_number,
    is_sparse,
    n_rows,
    take,
)
from likewise.selection._budget import Budget, affordable_factor
from likewise.selection._families import Family
from likewise.selection._halving import FIRST_ROWS, Halving
from likewise.selection._regression_families import default_families
from likewise.selection._scoring import Scoring, choose_scoring
from likewise.selection._selection import Selection, conclude, describe_settings
from likewise.selection._split import Problem
from likewise.selection._stage import Stage, best_outcome
from likewise.tables import Columns, row_groups, target_values

_UNSCALED = ("categorical", "image", "text")  # blocks of columns that no scale changes
_WIDE = 100  # features
_FIRST_NUMBERS = 1_000_000  # of the first stage: wide tables have fewer rows in it
_FEWEST_FIRST_ROWS = 500
_FEWEST_NUMBERS = 10  # of a numeric target
_MAX_RANGES, _ROWS_OF_RANGE = 10, 20  # of numbers that are spread evenly over splits


def select(
    rows: Any,
    labels: Any,
    *,
    columns: Columns | None = None,
    task: str = "auto",
    families: Iterable[Family] | None = None,
    choose_from: Iterable[str] | None = None,
    required: Iterable[str] = (),
    scoring: str | None = None,
    budget: float = 120.0,
    n_splits: int = 5,
    random_state: int = 0,
    verbose: bool = False,
) -> Selection:
    """Compare families on a table by nested cross-validation, and choose one.

    In each outer split, columns are fitted on the training part, every family tries its settings
    there by inner cross-validation, and its best setting is fitted on the training part and scored
    on the test rows. The choice has the best inner scores over all outer splits; `Selection.nested`
    estimates its score. Rows that are equal in every column but the id are never on both sides of a
    split.

    Cheap families (the majority class, Euclidean distance, cosine and logistic regression) are
    finished first, whatever the budget, while the kernels of the others are compiled. Every family
    first tries its most promising setting, then the next. Tables of more than 3,000 rows, fewer
    where they are wide, are compared by successive halving: all families on 2,000 rows, the better
    half on four times as many, and so on while the budget lasts.

    Ctrl-C ends the work; finished results are kept.

    Parameters
    ----------
    rows : frame, array or CSR
    labels : array of shape (n_rows,)
    columns : Columns, optional
        How columns are encoded; `scale` is chosen here.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether labels are classes or numbers. More than 20 different numbers, at least one of them
        with decimals or occurring only once, are taken for measurements.
    families : families to compare, optional
        By default all families of the task but those to be named (`Family.by_name`). A constant
        prediction is always among them.
    choose_from : names of families, optional
        Families that may be chosen: baselines and learners with a similarity by default. Named
        families are finished whatever the budget.
    required : names of families
        Other families that are finished whatever the budget.
    scoring : {"accuracy", "balanced_accuracy", "f1_macro", "roc_auc", "log_loss", "r2", \
"mean_absolute_error"}, optional
        The measure of the comparison and of the choice. By default R² for numbers and accuracy for
        classes; balanced accuracy where one class has more than half of the rows and at least three
        times as many as the smallest. ROC AUC is the mean over classes, each against the others.
    budget : float, default=120.0
        Seconds, without those of compilation; the final fit (`Selection.fit`) is included.
    n_splits : int, default=5
        Outer splits. Fewer than three give figures but no verdict.
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
    target = check_target(labels, task)
    measure, why = choose_scoring(target, scoring)
    columns = Columns() if columns is None else columns
    described = clone(columns).fit(rows)  # refuses tables that cannot be encoded, before any work
    encoding = clone(columns).set_params(day_first=described.day_first_)  # in every split alike
    notes = [why] if why else []
    strata = target if target.dtype.kind != "f" else _ranges(target)
    groups = _groups_of_copies(rows, strata, described.id_, notes)
    sample = described.transform(take(rows, np.arange(2)))
    tried = _accepting(families, sample, target, measure, notes)
    if len(described.feature_names_) > _WIDE:
        tried = [
            replace(f, grid=tuple({**settings, **f.wide} for settings in f.grid)) for f in tried
        ]
    if all(block["kind"] in _UNSCALED for block in described.blocks_):
        tried = [_with_one_scale(family) for family in tried]
    named = [] if choose_from is None else list(choose_from)
    selectable = _selectable(tried, None if choose_from is None else named)
    scales = frozenset(settings["scale"] for family in tried for settings in family.grid)
    problem = Problem(rows, target, strata, groups, encoding, scales, measure, random_state)

    compiled = [] if is_sparse(sample) else tried
    with show_progress(verbose):
        compile_kernels(name for family in compiled if family.cheap for name in family.kernels)
    time = Budget(budget)
    with (
        show_progress(verbose),
        BackgroundCompilation(name for f in compiled for name in f.kernels) as compilation,
        LongWork(
            "comparing", unit="fits", partial_result="the best so far", time_left=time.left
        ) as work,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # the notes report what matters, once and not per fit
        halving = Halving(
            problem,
            tried,
            selectable,
            {*named, *required},
            _first_rows(sample),
            n_splits,
            time,
            work,
            compilation,
        )
        halving.run()
        if not halving.stages:
            raise KeyboardInterrupt("interrupted before any family that may be chosen was scored")
    found = _conclude(
        halving, selectable, n_splits, columns, time, notes, interrupted=work.interrupted
    )
    return replace(found, given_by="choose_from") if len(named) == 1 else found


def _conclude(
    halving: Halving,
    selectable: Sequence[str],
    n_splits: int,
    columns: Columns,
    time: Budget,
    notes: list[str],
    *,
    interrupted: bool,
) -> Selection:
    """Return the selection that the stages lead to."""
    problem, last = halving.problem, halving.stages[-1]
    finalists = last.outcomes
    if len(last.splits) < n_splits:
        splits = "1 split" if len(last.splits) == 1 else f"{len(last.splits)} splits"
        notes.append(
            f"Compared in {splits} instead of {n_splits}: no class or range of the target has "
            "enough rows for more."
        )
    reached = {outcome.family.name: stage for stage in halving.stages for outcome in stage.outcomes}
    eliminated = [
        outcome
        for stage in halving.stages
        for outcome in stage.outcomes
        if stage is not last and reached[outcome.family.name] is stage
    ]
    if interrupted:
        notes.append("Interrupted: families and settings that were not finished are left out.")
    too_slow = [*halving.too_slow]
    if halving.n_untried:
        too_slow.append(f"{halving.n_untried} settings of the others")
    if too_slow and not interrupted:
        notes.append(f"The budget was too short for {', '.join(too_slow)}.")
    n_fit_rows = None
    if last.n_rows < len(problem.target):
        notes.append(
            f"Compared on {last.n_rows:,} of {len(problem.target):,} rows, drawn at random; a "
            "larger budget compares on more."
        )
        n_fit_rows = _affordable_fit(last, selectable, time)
        if n_fit_rows is not None:
            notes.append(
                f"The model is fitted on {n_fit_rows:,} rows: all of them would take longer than "
                "the budget."
            )
    return conclude(
        finalists,
        eliminated,
        [split.truth for split in last.splits],
        {name: [split.truth for split in stage.splits] for name, stage in reached.items()},
        np.array([split.test_share for split in last.splits]),
        selectable,
        problem.scoring,
        notes,
        columns if n_fit_rows is None else problem.columns,
        problem.seed,
        n_fit_rows,
    )


def _affordable_fit(stage: Stage, selectable: Sequence[str], time: Budget) -> int | None:
    """Return how many rows the choice can be fitted on in the time left; None for all."""
    allowed = [o for o in stage.outcomes if o.family.name in selectable]
    best = best_outcome(allowed, stage.scoring)
    cost = float(best.fit_seconds.mean()), best.family.growth
    n_table = len(stage.problem.target)
    n = int(affordable_factor([cost], time.left()) * stage.n_training_rows)
    return None if n >= n_table else max(stage.n_rows, n)


def _first_rows(sample: Any) -> int:
    """Return the number of rows of the first stage, fewer where rows are wide."""
    width = sample.nnz / n_rows(sample) if is_sparse(sample) else sample.shape[1]
    return int(np.clip(_FIRST_NUMBERS / max(width, 1), _FEWEST_FIRST_ROWS, FIRST_ROWS))


def check_target(labels: Any, task: str = "auto") -> np.ndarray:
    """Return classes, or floats for regression; a target that cannot be tested is refused.

    Parameters
    ----------
    labels : array of shape (n_rows,)
    task : {"auto", "classification", "regression"}, default="auto"
        Inferred by default.
    """
    labels = np.asarray(labels)
    if labels.dtype.kind not in "USO" or task == "regression":
        labels = target_values(labels, "the target", task)
    if labels.dtype.kind == "f":
        if len(labels) < _FEWEST_NUMBERS or len(np.unique(labels)) == 1:
            raise ValueError(
                f"the target has {len(labels)} numbers, {len(np.unique(labels))} of them "
                f"different; at least {_FEWEST_NUMBERS}, of which two differ, are needed."
            )
        return labels
    classes, numbers = check_classes(labels, "the target")
    single = [str(name) for name in classes[np.bincount(numbers) < 2]]
    if single:
        others = f" (and {len(single) - 1} more)" if len(single) > 1 else ""
        raise ValueError(
            f"class {single[0]!r}{others} of the target has one row; at least two are needed, one "
            "to train on and one to test on."
        )
    return labels


def _ranges(target: np.ndarray) -> np.ndarray:
    """Return a number for each row, by which numbers are spread evenly over splits."""
    n_ranges = int(np.clip(len(target) // _ROWS_OF_RANGE, 1, _MAX_RANGES))
    ranks = np.argsort(np.argsort(target, kind="stable"), kind="stable")
    return ranks * n_ranges // len(target)


def _groups_of_copies(
    rows: Any, labels: np.ndarray, id_column: str | None, notes: list[str]
) -> np.ndarray:
    """Return the groups of rows that are equal in every column but the id."""
    groups = row_groups(rows, [] if id_column is None else [id_column])
    n_different = len(np.unique(groups))
    n_copies = len(groups) - n_different
    if not n_copies:
        return groups
    what = "1 row is a copy" if n_copies == 1 else f"{n_copies} rows are copies"
    if n_different <= len(np.unique(labels)):
        notes.append(f"{what} of an earlier row; too few differ to keep copies together in splits.")
        return np.arange(len(groups))
    notes.append(f"{what} of an earlier row; copies stay on one side of every split.")
    return groups


def _accepting(
    families: Iterable[Family] | None,
    X: Any,
    target: np.ndarray,
    scoring: Scoring,
    notes: list[str],
) -> list[Family]:
    """Return the families that take such rows and targets, and a constant prediction."""
    known = default_families("regression" if target.dtype.kind == "f" else "classification")
    families = list(known if families is None else families)
    if not families:
        raise ValueError("families is empty; at least one is needed.")
    if not any(family.is_constant for family in families):
        families.insert(0, next(family for family in known if family.is_constant))
    if target.dtype.kind in "iu" and -1 in target:  # its mark of unlabeled rows
        families = [family for family in families if family.name != "landmarks"]
    left_out = {
        "rows are sparse": [f for f in families if is_sparse(X) and not f.sparse],
        f"the table has {len(target):,} rows": [
            f for f in families if f.max_rows is not None and len(target) > f.max_rows
        ],
        f"{scoring.title} needs probabilities": [
            f for f in families if scoring.needs == "probabilities" and not f.probabilities
        ],
    }
    for reason, absent in left_out.items():
        if absent:
            notes.append(f"Left out, because {reason}: {', '.join(f.title for f in absent)}.")
        families = [family for family in families if family not in absent]
    return families


def _with_one_scale(family: Family) -> Family:
    """Leave out settings that differ from an earlier one in the scale alone."""
    first = {
        describe_settings({**settings, "scale": ""}): settings for settings in reversed(family.grid)
    }
    return replace(family, grid=tuple(s for s in family.grid if s in first.values()))


def _selectable(families: Sequence[Family], choose_from: Sequence[str] | None) -> list[str]:
    """Return the names of the families that may be chosen."""
    names = [f.name for f in families if f.searchable] if choose_from is None else choose_from
    selectable = [family.name for family in families if family.name in names]
    if not selectable:
        raise ValueError(
            f"none of the families to choose from takes these rows: {', '.join(names)}."
        )
    return selectable
