"""The verdict on a comparison: whether a learned similarity is worth it, or anything was found.

Every side of a comparison is a rule that sees only training rows: in each outer split, the family
of a kind with the best inner score. Nothing is chosen by outer scores, so that the figures of both
sides are unbiased, and each difference is one test: the paired t-test of Nadeau and Bengio (2003),
adjusted by Holm's method (1979) for the number of differences in the verdict.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likewise.evaluation import corrected_p_value, holm, p_value_text
from likewise.selection._scoring import Scoring
from likewise.selection._stage import Outcome

MIN_SPLITS = 3  # below which nothing is concluded
_LEVEL = 0.05
_KINDS = {"learned": "learner", "baseline": "baseline", "reference": "reference"}


@dataclass(frozen=True, eq=False)
class Nested:
    """Scores and predictions of the family with the best inner score in each split.

    Attributes
    ----------
    kind : str
        The side of the verdict: "choice", "learner", "baseline" or "reference".
    picks : tuple of str
        Title of the family that was chosen in each split.
    scores : ndarray of shape (n_splits,)
    predictions : ndarray
        Predictions for the test rows of all splits.
    """

    kind: str
    picks: tuple[str, ...]
    scores: np.ndarray
    predictions: np.ndarray

    @classmethod
    def among(cls, outcomes: Sequence[Outcome], scoring: Scoring, kind: str = "choice") -> "Nested":
        """Return the scores of the choice among some families."""
        picks = np.argmax([scoring.sign * outcome.inner for outcome in outcomes], axis=0)
        splits = range(len(picks))
        return cls(
            kind,
            tuple(outcomes[pick].family.title for pick in picks),
            np.array([outcomes[pick].scores[k] for k, pick in zip(splits, picks, strict=True)]),
            np.concatenate(
                [outcomes[pick].predictions[k] for k, pick in zip(splits, picks, strict=True)]
            ),
        )

    @property
    def mean(self) -> float:
        """Mean score."""
        return float(self.scores.mean())

    @property
    def title(self) -> str:
        """The side with its families: "the best baseline chosen in each split (A in 3, B in 2)"."""
        counts = Counter(self.picks).most_common()
        families = ", ".join(f"{name} in {n}" for name, n in counts)
        if len(counts) == 1:
            families = self.picks[0]
        what, made = f"the best {self.kind}", "chosen"
        if self.kind == "choice":
            what, made = "the choice", "made"
        where = f" {made} in each split" if len(self.picks) > 1 else ""
        return f"{what}{where} ({families})"

    def text(self, scoring: Scoring) -> str:
        """Return the mean score with its deviation, where there is one."""
        few = len(self.scores) < MIN_SPLITS
        return scoring.text(self.mean, None if few else float(self.scores.std(ddof=1)))


def judge(
    finalists: Sequence[Outcome],
    chosen: Outcome,
    choice: Nested,
    truth: np.ndarray,
    test_share: float,
    scoring: Scoring,
) -> str:
    """Return the verdict in sentences.

    Parameters
    ----------
    finalists : outcomes on the same splits
    chosen : the outcome of the chosen family
    choice : the nested choice
    truth : target of the test rows of all splits
    test_share : float
        Number of test rows per training row.
    scoring : Scoring
    """
    sides = {
        kind: Nested.among([o for o in finalists if o.family.kind == kind], scoring, title)
        for kind, title in _KINDS.items()
        if any(o.family.kind == kind for o in finalists)
    }
    sides[chosen.family.kind] = choice
    constant = _on_constant(finalists, choice, truth, scoring)
    n_splits = len(choice.scores)
    measured = f"{len(truth)} held-out rows in {n_splits} splits"
    if n_splits >= MIN_SPLITS:
        n_pairs = len(_pairs(sides, choice))
        differences = _differences(sides, choice, measured, test_share, scoring)
        return " ".join(
            [*constant, *differences, *_origin(differences, n_pairs, len(finalists) - 1)]
        )
    if n_splits == 1:
        measured = f"{len(truth)} held-out rows in one split"
    figures = ", ".join(
        f"of {side.title} {side.text(scoring)}" for side in dict.fromkeys(sides.values())
    )
    few = f"Fewer than {MIN_SPLITS} splits do not show which is better."
    return " ".join([*constant, f"Measured on {measured}: {scoring.title} {figures}.", few])


def _on_constant(
    finalists: Sequence[Outcome], choice: Nested, truth: np.ndarray, scoring: Scoring
) -> list[str]:
    """Say whether the choice is a constant in disguise, or no better than one."""
    sentences = []
    values = np.unique(choice.predictions)
    if len(values) == 1 and truth.dtype.kind != "f":
        sentences.append(
            f"Warning: {choice.title} predicts {values[0]!s} for every held-out row "
            "and recognizes no other class."
        )
    constant = next((o for o in finalists if o.family.is_constant), None)
    if constant is None or len(choice.scores) < MIN_SPLITS:
        return sentences
    baseline = float(constant.scores.mean())
    best = max(
        (o for o in finalists if o is not constant),
        key=lambda o: scoring.sign * o.scores.mean(),
        default=constant,
    )
    what = f"the {scoring.title} of the {constant.family.title} ({scoring.number(baseline)})"
    if scoring.sign * best.scores.mean() <= scoring.sign * baseline:
        sentences.append(f"No model was found that improves on {what}.")
    elif scoring.sign * choice.mean <= scoring.sign * baseline:
        sentences.append(f"The choice does not improve on {what}.")
    return sentences


def _differences(
    sides: dict[str, Nested], choice: Nested, measured: str, test_share: float, scoring: Scoring
) -> list[str]:
    """Compare the learned side with the baselines, and references with the choice."""
    reference, pairs = sides.get("reference"), _pairs(sides, choice)
    p_values = holm([corrected_p_value(a.scores - b.scores, test_share) for a, b in pairs])
    sentences = []
    for (first, second), p in zip(pairs, p_values, strict=True):
        gain = scoring.sign * (first.mean - second.mean)
        doubt = _doubt(p)
        if first is reference:
            if gain > 0:
                sentences.append(
                    f"If you only need predictions: the {scoring.title} of {first.title} is "
                    f"{first.text(scoring)}, that of the choice {second.text(scoring)}{doubt}."
                )
            continue
        figures = (
            f"on {measured}, the {scoring.title} of {first.title} is {first.text(scoring)} and "
            f"that of {second.title} {second.text(scoring)}"
        )
        if gain > 0:
            size = f"{100 * gain:.1f} points" if scoring.is_share else f"{gain:.3f}"
            sentences.append(f"{figures[0].upper()}{figures[1:]}: a gain of {size}{doubt}.")
        else:
            sentences.append(f"A learned similarity does not help here: {figures}.")
    return sentences


def _pairs(sides: dict[str, Nested], choice: Nested) -> list[tuple[Nested, Nested]]:
    """Return the sides that are compared."""
    learned, baseline, reference = map(sides.get, _KINDS)
    return [
        (better, other)
        for better, other in ((learned, baseline), (reference, choice))
        if better is not None and other is not None and better is not other
    ]


def _origin(sentences: Sequence[str], n_here: int, n_in_table: int) -> list[str]:
    """Say why figures and p-values of the sentences may differ from those of the table."""
    if not sentences:
        return []
    text = (
        "Choices in each split are made by inner scores, so these figures need not be those of one "
        "row of the table"
    )
    if n_here != n_in_table and any("(p " in sentence for sentence in sentences):
        here = "1 comparison" if n_here == 1 else f"{n_here} comparisons"
        text += f"; p-values are adjusted for {here} here, and for {n_in_table} in the table"
    return [f"{text}."]


def _doubt(p: float) -> str:
    """Return the part of a sentence on whether a difference is significant at 5 %."""
    if np.isnan(p):
        return ", the same in every split, which leaves no test of significance"
    text = p_value_text(p)
    equals = f"p {text[0]} {text[1:]}" if text.startswith("<") else f"p = {text}"
    return f" ({equals})" if p < _LEVEL else f", not more than chance can explain ({equals})"
