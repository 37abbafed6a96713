"""Successive halving: fewer families on more rows, as long as the time allows.

The first stage has few rows and all families; each stage keeps the better half and at least the
best of every kind. Families are kept by their inner scores, and the rows that decided are trained
on but not tested on in later stages: test scores of the last stage had no part in any choice.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from likewise._compilation import BackgroundCompilation
from likewise._progress import LongWork
from likewise.selection._budget import Budget, affordable_factor, predicted_seconds
from likewise.selection._families import Family
from likewise.selection._folds import NEVER_TESTED, assign_folds, stratified_order
from likewise.selection._split import Problem, outer_splits
from likewise.selection._stage import Outcome, Stage, best_outcome

FIRST_ROWS = 2000  # of the first stage
_GROWTH = 4
_MIN_GROWTH = 1.5  # with less, another stage tells little
_FIRST_SHARE = 0.3  # of the budget, for the first of several stages
_FINAL_FIT_SHARE = 0.25  # of the budget, reserved for the final fit where it is longer
_SAFETY = 0.9  # of the time left that a stage may be predicted to take
_MAX_INNER_ROWS = 5000  # training rows up to which inner scores are of three splits, not of one
_INNER_SPLITS = 3
_SEARCH_GROWTH = 1.6  # of the time of predictions by search, measured like that of fits
_ROWS_OF_CLASS = 2  # in the first stage, at least


class Halving:
    """Stages of a comparison within a budget.

    Parameters
    ----------
    problem : Problem
    families : families, cheap ones first
    selectable : names of the families that may be chosen
    required : names of the families that finish the first stage and stay, whatever the budget;
        cheap families finish it too
    n_first : int
        Number of rows in the first stage, where the table is large enough for a second one.
    n_splits : int
    budget : Budget
    work : LongWork
    compilation : BackgroundCompilation
        Of the kernels that families need, but for the cheap ones.

    Attributes
    ----------
    problem : Problem
    stages : list of Stage
        Stages that finished a family that may be chosen.
    too_slow : list of str
        Titles of the families that the budget was too short for, in later stages with the rows.
    n_untried : int
        Number of settings that the budget was too short for, of the other families.
    """

    def __init__(
        self,
        problem: Problem,
        families: Sequence[Family],
        selectable: Iterable[str],
        required: Iterable[str],
        n_first: int,
        n_splits: int,
        budget: Budget,
        work: LongWork,
        compilation: BackgroundCompilation,
    ) -> None:
        self.problem, self._families = problem, families
        self._selectable, self._required = frozenset(selectable), frozenset(required)
        self._n_splits, self._budget, self._work = n_splits, budget, work
        self._compilation = compilation
        self._n_table = len(problem.target)
        self._order = np.arange(self._n_table)
        self._n_first = self._n_table
        if self._n_table > _MIN_GROWTH * n_first:
            self._order = stratified_order(problem.strata, _ROWS_OF_CLASS, problem.seed)
            counts = np.unique(problem.strata, return_counts=True)[1]
            self._n_first = max(n_first, int(np.minimum(counts, _ROWS_OF_CLASS).sum()))
        self._until = self._reserved = 0.0  # seconds of the budget
        self.stages: list[Stage] = []
        self.too_slow: list[str] = []
        self.n_untried = 0

    def run(self) -> None:
        """Run the first stage, and as many others as the budget allows."""
        self._run_first()
        while self.stages and not self._work.interrupted:
            plan = self._next()
            if plan is None:
                return
            families, n = plan
            stage = self._stage(self.stages[-1].n_rows, n)
            for family in families:
                if not self._try(stage, family, 0, self._is_over):
                    self.too_slow.append(f"{family.title} on {n:,} rows")
            if not self._can_be_chosen(stage):
                return
            self.stages.append(stage)

    def _run_first(self) -> None:
        """Try cheap families with all settings, then the others, the most likely setting first.

        Cheap families come with all settings before others are tried, so that learning is compared
        with the best that is had without.
        """
        stage = self._stage(0, self._n_first)
        share = 1.0 if self._n_first == self._n_table else _FIRST_SHARE
        self._until = (1 - share) * self._budget.seconds
        certain = [family for family in self._families if self._is_certain(family)]
        others = [family for family in self._families if not self._is_certain(family)]
        for family in certain:
            self._try(stage, family, 0, self._is_interrupted)
        self._try_further_settings(stage, [family for family in certain if family.cheap])
        for family in others:
            if not self._try(stage, family, 0, self._is_over):
                self.too_slow.append(family.title)
        self._try_further_settings(stage, [f for f in self._families if not f.cheap])
        if self._can_be_chosen(stage):
            self.stages.append(stage)
        self._until = 0.0

    def _try_further_settings(self, stage: Stage, families: Sequence[Family]) -> None:
        for place in range(1, max((len(family.grid) for family in families), default=0)):
            for family in families:
                if place < len(family.grid) and stage.finished(family):
                    self.n_untried += not self._try(stage, family, place, self._is_over)

    def _try(self, stage: Stage, family: Family, place: int, stop: Callable[[], bool]) -> bool:
        """Try a setting unless the time is over; return whether it was finished."""
        if not (family.cheap or stop()):
            self._compilation.wait(self._work)
        if stop() or not stage.try_setting(family, place, stop):
            return False
        self._reserve_final_fit(stage)
        return True

    def _stage(self, n_before: int, n: int) -> Stage:
        """Return a stage of the first `n` rows, of which the first `n_before` are not tested on."""
        problem, used = self.problem, self._order[:n]
        folds = np.full(n, NEVER_TESTED)
        groups = problem.groups[used]
        fresh = (np.arange(n) >= n_before) & ~np.isin(groups, groups[:n_before])
        folds[fresh] = assign_folds(
            problem.strata[used[fresh]], groups[fresh], self._n_splits, problem.seed
        )
        is_only = n_before == 0 and n == self._n_table
        n_inner = _INNER_SPLITS if is_only and n <= _MAX_INNER_ROWS else 1
        splits = outer_splits(problem, used, folds, n_inner, keep=n_before == 0)
        self._work.label = f"comparing on {n:,} rows"
        return Stage(problem, splits, self._work)

    def _next(self) -> tuple[list[Family], int] | None:
        """Return the families and the number of rows of the next stage; None if there is none."""
        stage = self.stages[-1]
        n = min(self._n_table, _GROWTH * stage.n_rows)
        available = _SAFETY * (self._budget.left() - self._reserved)
        kept = self._kept(stage.outcomes, (len(stage.outcomes) + 1) // 2)
        if affordable_factor(self._costs(kept), available) < n / stage.n_rows:
            kept = self._kept(stage.outcomes, 0)
            factor = affordable_factor(self._costs(kept), available)
            n = min(self._n_table, int(factor * stage.n_rows))
        if n < _MIN_GROWTH * stage.n_rows:
            return None
        # The best that may be chosen goes first: without it, the stage decides nothing.
        allowed = [outcome for outcome in kept if outcome.family.name in self._selectable]
        best = best_outcome(allowed, stage.scoring)
        kept.sort(key=lambda outcome: (outcome is not best, outcome.seconds))
        return [replace(o.family, grid=(o.settings,)) for o in kept], n

    def _kept(self, outcomes: Sequence[Outcome], n_best: int) -> list[Outcome]:
        """Return the best outcomes, the best of each kind, and those that must not be left out."""
        ranked = sorted(outcomes, key=lambda o: -self.problem.scoring.sign * o.mean_inner)
        groups = [
            [o for o in ranked if o.family.name in self._selectable],
            *([o for o in ranked if o.family.kind == kind] for kind in ("learned", "reference")),
            [o for o in ranked if o.family.kind == "baseline" and o.family.searchable],
        ]
        names = {o.family.name for o in ranked[:n_best]} | {g[0].family.name for g in groups if g}
        names |= self._required | {o.family.name for o in ranked if o.family.is_constant}
        return [outcome for outcome in ranked if outcome.family.name in names]

    def _costs(self, outcomes: Sequence[Outcome]) -> list[tuple[float, float]]:
        """Return seconds and growth of a stage of as many rows.

        Each split has an inner and an outer fit.
        """
        n_fits = 2 * self._n_splits
        fits = [(n_fits * float(o.fit_seconds.mean()), o.family.growth) for o in outcomes]
        predictions = [
            (n_fits * float(o.predict_seconds.mean()), _SEARCH_GROWTH if o.family.searchable else 1)
            for o in outcomes
        ]
        return fits + predictions

    def _reserve_final_fit(self, stage: Stage) -> None:
        """Keep seconds for the final fit of the best so far."""
        outcomes = [o for o in stage.outcomes if o.family.name in self._selectable]
        if outcomes:
            best = best_outcome(outcomes, stage.scoring)
            seconds = predicted_seconds(
                float(best.fit_seconds.mean()),
                best.family.growth,
                self._n_table / stage.n_training_rows,
            )
            self._reserved = min(seconds, _FINAL_FIT_SHARE * self._budget.seconds)

    def _can_be_chosen(self, stage: Stage) -> bool:
        return any(outcome.family.name in self._selectable for outcome in stage.outcomes)

    def _is_certain(self, family: Family) -> bool:
        return family.cheap or family.name in self._required

    def _is_interrupted(self) -> bool:
        return self._work.interrupted

    def _is_over(self) -> bool:
        return self._work.interrupted or self._budget.left() <= max(self._until, self._reserved)
