"""The constants of matching, each changed alone, on training parts: F1, calibration and share.

200 labels of a training part are drawn, and the other training pairs are decided: validation and
test parts are not read. The first row has the constants as they are.
"""

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._published import TITLES, decided, draw, f1, published
from benchmarks.match import calibration_error, matches_of

_SETS = ("abt_buy", "amazon_google", "dblp_acm")
_DRAWS = 2
_CHANGES: list[tuple[str, str, Any]] = [
    ("", "", None),
    ("_learner", "_C", 0.03),
    ("_learner", "_C", 0.3),
    ("_learner", "_TREES", 200),
    ("_learner", "_MIN_LEAF", 1),
    ("_model", "_PRIOR_WEIGHT", 5.0),
    ("_model", "_PRIOR_WEIGHT", 60.0),
    ("_calibration", "_SLOPE_PENALTY", 1.0),
    ("_calibration", "_SLOPE_PENALTY", 10.0),
    ("_model", "_MAX_FACTOR", 4.0),
    ("Matcher", "learner", "logistic"),
    ("Matcher", "learner", "forest"),
    ("Matcher", "threshold", 0.5),
]


def main(folder: Path) -> None:
    """Print F1 and calibration errors, and write them to ``match_choices.json`` and ``.md``."""
    import likewise as lw
    from likewise.evaluation import Table

    fitted = {name: lw.Matcher().fit(*published(name)[:2]) for name in _SETS}
    rows = []
    for place, constant, value in _CHANGES:
        change = place, constant, value
        figures = [each for name in _SETS for each in _measured(fitted[name], name, *change)]
        rows.append((f"{constant} {value}" if constant else "as it is", *figures))
        print(" | ".join([rows[-1][0], *(f"{figure:.4g}" for figure in figures)]), flush=True)
        titles = ["", *(f"{TITLES[n]} {what}" for n in _SETS for what in ("F1 %", "ECE"))]
        table = Table(tuple(titles), [(row[0], *(f"{v:.4g}" for v in row[1:])) for row in rows])
        (folder / "match_choices.json").write_text(json.dumps(rows) + "\n", encoding="utf8")
        text = f"# match_choices\n\n{table.to_markdown()}\n"
        (folder / "match_choices.md").write_text(text, encoding="utf8")


def _measured(fitted: Any, name: str, place: str, constant: str, value: Any) -> Iterator[float]:
    """Yield mean F1 in % and calibration error on training pairs that are not labeled."""
    left, right, pairs, _ = published(name)
    train = pairs[pairs["split"] == "train"]
    scores, errors = [], []
    for seed in range(_DRAWS):
        labels = draw(pairs, 200, seed)
        rest = train.drop(labels.index)
        matcher = copy.copy(fitted)
        with _changed(matcher, place, constant, value):
            report = matcher.learn(labels).match(left, right, candidates=rest)
        scores.append(100 * f1(decided(report), matches_of(rest)))
        errors.append(calibration_error(report, matches_of(rest)))
    yield float(np.mean(scores))
    yield float(np.mean(errors))


@contextmanager
def _changed(matcher: Any, place: str, constant: str, value: Any) -> Iterator[None]:
    """Change a parameter of the matcher, or a constant of a module for a while."""
    from importlib import import_module

    if not constant:
        yield
    elif place == "Matcher":
        matcher.set_params(**{constant: value})
        yield
    else:
        module = import_module(f"likewise.matching.{place}")
        before = getattr(module, constant)
        setattr(module, constant, value)
        try:
            yield
        finally:
            setattr(module, constant, before)
