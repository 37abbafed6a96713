"""The least effort that serves a recall."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """What one effort gave."""

    effort: int
    recall: float
    queries_per_second: float


@dataclass(frozen=True)
class Tuning:
    """What `Index.tune` tried and chose.

    Attributes
    ----------
    target : float
        The recall that was asked for.
    recall : float
        The recall that is served now.
    effort : int or None
        What was chosen; None where the engine is exact and there is nothing to choose.
    steps : tuple of Step
        What was tried, from quick to thorough.
    """

    target: float
    recall: float
    effort: int | None
    steps: tuple[Step, ...] = ()

    @property
    def reached(self) -> bool:
        """Whether the recall is what was asked for."""
        return self.recall >= self.target

    def __str__(self) -> str:
        if self.effort is None:
            return f"recall {self.recall:.4f}: every item is looked at, there is nothing to tune"
        lines = [f"{'effort':>8} {'recall':>8} {'queries/s':>10}"]
        for step in self.steps:
            chosen = " <" if step.effort == self.effort else ""
            lines.append(
                f"{step.effort:>8} {step.recall:>8.4f} {step.queries_per_second:>10.0f}{chosen}"
            )
        return "\n".join(lines)


def least_effort(
    efforts: list[int], target: float, measure: Callable[[int], Step]
) -> tuple[Step, tuple[Step, ...]]:
    """Return the step of least effort that reaches `target`, or the best, and all that were tried.

    Recall grows with effort, so halving the range finds it in a few measurements.
    """
    tried: dict[int, Step] = {}
    low, high = 0, len(efforts) - 1
    while low < high:
        middle = (low + high) // 2
        tried[middle] = measure(efforts[middle])
        if tried[middle].recall >= target:
            high = middle
        else:
            low = middle + 1
    if low not in tried:
        tried[low] = measure(efforts[low])
    return tried[low], tuple(tried[at] for at in sorted(tried))
