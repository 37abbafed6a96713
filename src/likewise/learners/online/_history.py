"""What happened while an online learner learned: one entry for each stretch of triplets."""

from typing import Any

from likewise.exceptions import require_extra

_STRETCH = 10_000
_MOST_ENTRIES = 1000  # a stream without end must not fill the memory with its past


def record(
    history: list[dict[str, Any]],
    n_triplets: int,
    n_updates: int,
    loss: float = 0.0,
    validation: float | None = None,
) -> None:
    """Add what is new to the last entry while its stretch lasts, else begin another.

    Parameters
    ----------
    history : list of dict, changed
        ``triplets`` and ``updates`` so far, ``loss`` on average in the stretch that ends there,
        ``validation`` at its end or None.
    n_triplets, n_updates : int, so far
    loss : float, summed over the triplets since the last call
    validation : float, optional
    """
    begin = history[-2]["triplets"] if len(history) > 1 else 0
    if (
        not history
        or history[-1]["validation"] is not None
        or (history[-1]["triplets"] - begin >= _STRETCH and n_triplets > history[-1]["triplets"])
    ):
        begin = history[-1]["triplets"] if history else 0
        if n_triplets == begin:
            return
        history.append({"triplets": begin, "updates": 0, "loss": 0.0, "validation": None})
    entry = history[-1]
    summed = entry["loss"] * (entry["triplets"] - begin) + float(loss)
    entry["triplets"], entry["updates"] = n_triplets, n_updates
    entry["loss"] = summed / max(n_triplets - begin, 1)
    entry["validation"] = None if validation is None else float(validation)
    if len(history) > _MOST_ENTRIES:
        history[:] = _halved(history)


def _halved(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join every two entries into one."""
    joined = []
    begin = 0
    for first, second in zip(history[::2], history[1::2], strict=False):
        before, after = first["triplets"] - begin, second["triplets"] - first["triplets"]
        loss = (first["loss"] * before + second["loss"] * after) / (before + after)
        checks = [e["validation"] for e in (first, second) if e["validation"] is not None]
        joined.append({**second, "loss": loss, "validation": checks[-1] if checks else None})
        begin = second["triplets"]
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
