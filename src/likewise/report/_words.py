"""What was learned, in sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from likewise.similarities import Bilinear, Mahalanobis, Similarity

Entry = Mapping[str, Any]

_PLUS_MINUS = "\u00a0±\u00a0"  # no line breaks here


def kind_of(similarity: Similarity) -> str:
    """Return what a similarity is, in words."""
    if isinstance(similarity, Mahalanobis):
        if similarity.L.ndim == 0:
            return "Euclidean distance"
        return "Mahalanobis distance"
    if isinstance(similarity, Bilinear):
        plain = similarity.W.ndim == 0
        if similarity.norm == "none":
            return "inner product" if plain else "bilinear similarity"
        name = similarity.norm if similarity.norm == "cosine" else similarity.norm.capitalize()
        return f"{name} similarity" if plain else f"bilinear {name} similarity"
    return f"{type(similarity).__name__} similarity"


def lead(comparison: Sequence[Entry], after: Similarity, measure: str, data: str) -> str:
    """Return the first paragraph: what was learned, how good it is, and whether it is worth it."""
    subject = kind_of(after)
    article = "An" if subject[0] in "aeiouE" else "A"
    chosen = chosen_entry(comparison)
    if chosen is None:
        return f"{article} {subject} was learned from {data}."
    value = shown(chosen, measure)
    if chosen["kind"] != "learned":
        return (
            f"{chosen['name']} was chosen for {data}: it reaches {_of(measure)} {value} on rows "
            f"that it had not seen, and no learned similarity was worth more."
        )
    sentences = [
        f"{article} {subject} was learned from {data}. With it, {chosen['name']} reaches "
        f"{_of(measure)} {value} on rows that it had not seen"
    ]
    base = best_of(comparison, "baseline")
    if base is None:
        sentences[0] += "."
    else:
        sentences[0] += f"; the best without learning, {base['name']}, {shown(base, measure)}."
        sentences.append(_verdict(chosen, base))
    reference = best_of(comparison, "reference")
    if reference is not None:
        sentences.append(_beside(chosen, reference, measure))
    return " ".join(sentence[:1].upper() + sentence[1:] for sentence in sentences if sentence)


def chosen_entry(comparison: Sequence[Entry]) -> Entry | None:
    """Return what was chosen, or else the best that was learned."""
    for entry in comparison:
        if entry.get("chosen"):
            return entry
    return best_of(comparison, "learned")


def best_of(comparison: Sequence[Entry], kind: str) -> Entry | None:
    """Return the entry of a kind with the highest mean."""
    of_kind = [entry for entry in comparison if entry["kind"] == kind]
    return max(of_kind, key=lambda entry: float(entry["mean"]), default=None)


def shown(entry: Entry, measure: str) -> str:
    """Return mean and deviation, an accuracy in per cent."""
    mean, deviation = float(entry["mean"]), deviation_of(entry)
    if measure == "accuracy":
        error = f"{_PLUS_MINUS}{100 * deviation:.1f}" if deviation else ""
        return f"{100 * mean:.1f}{error}\u00a0%"
    return f"{mean:.3f}" + (f"{_PLUS_MINUS}{deviation:.3f}" if deviation else "")


def folds_of(entry: Entry) -> np.ndarray:
    """Return the score of each fold, or nothing where they are not known."""
    scores = entry.get("scores")
    return np.array([] if scores is None else scores, dtype=np.float64)


def deviation_of(entry: Entry) -> float:
    """Return the deviation between folds; 0 where it is not known, as of a single fold."""
    deviation = float(entry.get("deviation") or 0)
    return deviation if np.isfinite(deviation) else 0.0


def differs(first: Entry, second: Entry) -> bool | None:
    """Tell whether two means differ by more than chance between folds; None where none tells.

    The paired t-test of Nadeau and Bengio (2003) at 5 %, for folds that divide the rows: each is
    tested on 1/(n − 1) times as many rows as it is trained on.
    """
    from scipy.stats import t

    one, other = folds_of(first), folds_of(second)
    n = len(one)
    if n < 3 or len(other) != n:
        return None
    gaps = one - other
    error = np.sqrt(gaps.var(ddof=1) * (1 / n + 1 / (n - 1)))
    return bool(abs(gaps.mean()) > t.ppf(0.975, n - 1) * error)


def _verdict(chosen: Entry, base: Entry) -> str:
    better = chosen["mean"] > base["mean"]
    real = differs(chosen, base)
    if real is None:
        return "" if better else "Learning did not help here."
    if real:
        return (
            "The gain is larger than chance between folds would explain."
            if better
            else "Learning made it worse here: use the similarity without learning."
        )
    return (
        "The difference is no larger than chance between folds could make it."
        if better
        else "Learning did not help here: the difference is within chance."
    )


def _beside(chosen: Entry, reference: Entry, measure: str) -> str:
    said = f"{reference['name']}, an outside reference, reaches {shown(reference, measure)}"
    if not differs(chosen, reference):
        return f"{said}."
    return f"{said}, and that difference is larger than chance between folds would explain."


def _of(measure: str) -> str:
    article = "an" if measure[:1] in "aeiou" else "a"
    return f"{article} {measure} of"
