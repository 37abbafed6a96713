"""The minimum effort that reaches a recall."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from likewise._validation import n_rows
from likewise.index._snapshot import Searching, Snapshot


@dataclass(frozen=True)
class Step:
    """The measurement of one effort."""

    effort: int
    recall: float
    queries_per_second: float


@dataclass(frozen=True)
class Tuning:
    """Result of `Index.tune`.

    Attributes
    ----------
    target : float
        The requested recall.
    recall : float
        The recall with the chosen effort.
    effort : int or None
        The chosen effort; None if the engine is exact and there is nothing to choose.
    steps : tuple of Step
        All measurements, from fast to thorough.
    """

    target: float
    recall: float
    effort: int | None
    steps: tuple[Step, ...] = ()

    @property
    def reached(self) -> bool:
        """Whether the requested recall is reached."""
        return self.recall >= self.target

    def __str__(self) -> str:
        if self.effort is None:
            return f"recall {self.recall:.4f}: every item is scored, there is nothing to tune"
        lines = [f"{'effort':>8} {'recall':>8} {'queries/s':>10}"]
        for step in self.steps:
            chosen = " <" if step.effort == self.effort else ""
            lines.append(
                f"{step.effort:>8} {step.recall:>8.4f} {step.queries_per_second:>10.0f}{chosen}"
            )
        return "\n".join(lines)


def tune(snapshot: Snapshot, target: float, queries: Any, k: int) -> tuple[Tuning, int]:
    """Set the effort of the snapshot's engine; return the tuning and the number of candidates.

    Where candidates are scored again, the effort is their number.
    """
    store = snapshot.store
    before = store.effort
    with snapshot.searching(queries, k) as search:
        truth = search.truth()
        efforts = _efforts(search)
        if not efforts:
            served = search.recall(truth, snapshot.n_candidates)
            return Tuning(target, served, None), snapshot.n_candidates

        def use(effort: int) -> int:
            if not search.reader.plan.reranks:
                store.set_effort(effort)
                return snapshot.n_candidates
            if not search.reader.is_exact:
                levels = search.reader.efforts(effort)
                store.set_effort(min((e for e in levels if e >= effort), default=levels[-1]))
            return effort

        def measure(effort: int) -> Step:
            n_candidates = use(effort)
            start = perf_counter()
            served = search.recall(truth, n_candidates)
            return Step(effort, served, n_rows(search.Q) / (perf_counter() - start))

        try:
            chosen, steps = min_effort(efforts, target, measure)
        except BaseException:
            store.set_effort(before)
            raise
        return Tuning(target, chosen.recall, chosen.effort, steps), use(chosen.effort)


def _efforts(search: Searching) -> list[int]:
    if not search.reader.plan.reranks:
        return search.reader.efforts(search.k)
    n_items = len(search.reader)
    return sorted({min(search.k * 2**power, n_items) for power in range(16)})


def min_effort(
    efforts: list[int], target: float, measure: Callable[[int], Step]
) -> tuple[Step, tuple[Step, ...]]:
    """Return the step of minimum effort that reaches `target`, or the best, and all steps.

    Recall grows with effort, so bisection needs only a few measurements.
    """
    steps: dict[int, Step] = {}
    low, high = 0, len(efforts) - 1
    while low < high:
        middle = (low + high) // 2
        steps[middle] = measure(efforts[middle])
        if steps[middle].recall >= target:
            high = middle
        else:
            low = middle + 1
    if low not in steps:
        steps[low] = measure(efforts[low])
    return steps[low], tuple(steps[at] for at in sorted(steps))
