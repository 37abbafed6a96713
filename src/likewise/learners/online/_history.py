"""Training history of an online learner: an entry for each interval of triplets."""

from typing import Any

from likewise.exceptions import require_extra

_INTERVAL = 10_000
_MAX_ENTRIES = 1000  # limits the memory for an endless stream


def record(
    history: list[dict[str, Any]],
    n_triplets: int,
    n_updates: int,
    loss: float = 0.0,
    validation: float | None = None,
) -> None:
    """Update the last entry within its interval, else start another.

    Parameters
    ----------
    history : list of dict, changed
        ``triplets`` and ``updates`` so far, mean ``loss`` of the interval that ends there, and
        ``validation`` at its end or None.
    n_triplets, n_updates : int, so far
    loss : float, summed over the triplets since the last call
    validation : float, optional
    """
    start = history[-2]["triplets"] if len(history) > 1 else 0
    if (
        not history
        or history[-1]["validation"] is not None
        or (history[-1]["triplets"] - start >= _INTERVAL and n_triplets > history[-1]["triplets"])
    ):
        start = history[-1]["triplets"] if history else 0
        if n_triplets == start:
            return
        history.append({"triplets": start, "updates": 0, "loss": 0.0, "validation": None})
    entry = history[-1]
    summed = entry["loss"] * (entry["triplets"] - start) + float(loss)
    entry["triplets"], entry["updates"] = n_triplets, n_updates
    entry["loss"] = summed / max(n_triplets - start, 1)
    entry["validation"] = None if validation is None else float(validation)
    if len(history) > _MAX_ENTRIES:
        history[:] = _halved(history)


def _halved(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge pairs of consecutive entries."""
    joined = []
    start = 0
    for first, second in zip(history[::2], history[1::2], strict=False):
        before, after = first["triplets"] - start, second["triplets"] - first["triplets"]
        loss = (first["loss"] * before + second["loss"] * after) / (before + after)
        checks = [e["validation"] for e in (first, second) if e["validation"] is not None]
        joined.append({**second, "loss": loss, "validation": checks[-1] if checks else None})
        start = second["triplets"]
    return joined + history[len(joined) * 2 :]


def plot_history(history: list[dict[str, Any]], validation: Any, ax: Any = None) -> Any:
    """Plot loss and validation against the number of triplets."""
    pyplot = require_extra("matplotlib.pyplot", "plots", "a plot")
    ax = pyplot.subplots(figsize=(6, 3.5), layout="constrained")[1] if ax is None else ax
    seen = [entry["triplets"] for entry in history]
    ax.plot(seen, [entry["loss"] for entry in history], color="0.5", label="loss")
    ax.set(xlabel="triplets seen", ylabel="mean loss", ylim=(0, None))
    checks = [(e["triplets"], e["validation"]) for e in history if e["validation"] is not None]
    if checks and validation is not None:
        right = ax.twinx()
        right.plot(*zip(*checks, strict=True), "o-", markersize=3, label=validation["measure"])
        right.axhline(validation["overall"][0], linestyle=":", label="start")
        right.set_ylabel(f"held-out {validation['measure']}")
        right.legend(loc="lower right")
    ax.legend(loc="upper right")
    return ax
