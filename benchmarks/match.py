"""Matching on published tables: candidates, pairs, asking, calibration, whole tables, no labels.

Each figure stands beside the one that was asked of it. Labels are drawn from the training parts,
and the test parts are only reported; ``python -m benchmarks match_choices`` changes the constants
on training parts. The lead compares a pair with all other records of both
tables, which classifiers of single pairs, such as Ditto, do not see: no like-for-like comparison.
"""

import copy
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._published import ALL, PAIRED, TITLES, decided, draw, f1, files, published

_DRAWS = 12  # of labels: the calibration error of single draws differs by a factor of three
_ASKED_DRAWS = 5
_WHOLE_DRAWS = 2  # of 200 answers
_AFTER = (30, 50, 100)  # answers
_HALVED = 3000  # records of a table, at most
_BINS = 10  # of the expected calibration error
_ALL = 0  # labels of the whole training part


class Row(NamedTuple):
    """A figure beside the one that was asked of it; None where none was."""

    what: str
    data: str
    asked: float | None
    ours: float
    beside: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table."""
        at_most = self.what.startswith(("ECE", "CPU", "MB"))
        asked = "" if self.asked is None else f"{'≤' if at_most else '≥'} {self.asked:g}"
        return self.what, self.data, asked, f"{self.ours:.4g}", self.beside


def main(folder: Path) -> None:
    """Print the figures and write them to ``match.json``, ``match.md`` and ``match.png``."""
    from likewise.evaluation import Table

    titles = ("", "data", "asked", "ours", "beside")
    rows: list[Row] = []
    curves: dict[str, dict[int, float]] = {}
    for row in _figures(curves):
        rows.append(row)
        print(" | ".join(row.cells), flush=True)
    table = Table(titles, [row.cells for row in rows])
    found = {"rows": [row._asdict() for row in rows], "curves": curves}
    (folder / "match.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf8")
    (folder / "match.md").write_text(f"# match\n\n{table.to_markdown()}\n", encoding="utf8")
    _plot(curves, folder / "match.png")
    print(f"\nwritten to {folder}")


def _figures(curves: dict[str, dict[int, float]]) -> Iterator[Row]:
    for name in ALL:
        yield from _without_labels(name)
    for name in (*PAIRED, "febrl4"):
        yield _nothing_to_match(name)
    for name in PAIRED:
        yield from _from_labels(name)
    for name in ("abt_buy", "amazon_google"):
        for asking in ("uncertain", "random"):
            yield from _asking(name, asking, curves)
    for name in ("abt_buy", "amazon_google"):
        yield from _whole_tables(name)
    yield from _from_files()


def _without_labels(name: str) -> Iterator[Row]:
    """Yield the recall of candidates, and F1 over whole tables without labels."""
    import likewise as lw

    asked = {"abt_buy": 0.88, "dblp_acm": 0.98, "febrl1": 0.999, "febrl4": 0.999}
    for hard in (False, True) if name.startswith("febrl") else (False,):
        left, right, _, truth = published(name, hard=hard)
        matcher = lw.Matcher(one_to_one=right is not None).fit(left, right)
        if not hard:
            yield Row("candidates, k = 10: recall", TITLES[name], 0.995, _recall(matcher, name))
        report = matcher.match(left, right)
        yield Row(
            "no labels: F1 over whole tables",
            TITLES[name] + (", no soc_sec_id, date_of_birth" if hard else ""),
            None if hard else asked.get(name),
            f1(decided(report), truth),
            f"forecast {report.forecast['f1']:.3f}",
        )


def _nothing_to_match(name: str) -> Row:
    """Return the forecast without labels of two halves of a table, which share hardly a record."""
    import likewise as lw

    left = published(name).left
    left = left.sample(n=min(len(left), _HALVED), random_state=0)
    halves = left[: len(left) // 2], left[len(left) // 2 :]
    report = lw.Matcher(one_to_one=True).fit(*halves).match(*halves)
    return Row(
        "no labels, halves of the left table: forecast of precision",
        TITLES[name],
        None,
        report.forecast["precision"],
        f"{report.n_decided} pairs decided, {len(halves[0])} records in each half",
    )


def _recall(matcher: Any, name: str) -> float:
    """Return the share of true pairs among the candidates."""
    left, right, _, truth = published(name)
    right = left if right is None else right
    rows = zip(
        left["id"].to_numpy()[matcher.candidates_.left],
        right["id"].to_numpy()[matcher.candidates_.right],
        strict=True,
    )
    return len(truth & set(rows)) / len(truth)


def _from_labels(name: str) -> Iterator[Row]:
    """Yield F1 and calibration on the test pairs, from labels of the training part."""
    import likewise as lw

    asked = {
        200: {"abt_buy": 90, "amazon_google": 71, "dblp_acm": 96.5, "fodors_zagats": 97},
        _ALL: {"abt_buy": 94, "dblp_acm": 99},
    }
    left, right, pairs, _ = published(name)
    fitted = lw.Matcher().fit(left, right)
    train, test = (pairs[pairs["split"] == split] for split in ("train", "test"))
    for n in (50, 200, _ALL):
        draws = [draw(pairs, n, seed) for seed in range(_DRAWS)] if n else [train]
        scores, errors = [], []
        for labels in draws:
            report = copy.copy(fitted).learn(labels).match(left, right, candidates=test)
            scores.append(100 * f1(decided(report), matches_of(test)))
            errors.append(calibration_error(report, matches_of(test)))
        title = f"{n} labels" if n else f"all {len(train)} training labels"
        spread = f"{min(scores):.1f} to {max(scores):.1f}" if n else ""
        yield Row(f"{title}: F1 % of test pairs", TITLES[name], asked.get(n, {}).get(name),
                  float(np.mean(scores)), spread)  # fmt: skip
        if n:
            limited = n == 200 and name in ("abt_buy", "amazon_google")
            spread = f"{min(errors):.3f} to {max(errors):.3f}"
            yield Row(f"ECE, {n} labels", TITLES[name], 0.025 if limited else None,
                      float(np.mean(errors)), spread)  # fmt: skip


def matches_of(pairs: Any) -> set[tuple[str, str]]:
    """Return the ids of labeled pairs that are matches."""
    matches = pairs[pairs["label"] == "1"]
    return set(zip(matches["left_id"], matches["right_id"], strict=True))


def calibration_error(report: Any, truth: set[tuple[str, str]]) -> float:
    """Return the expected calibration error, in bins of equal width."""
    p = np.asarray(report.pairs["probability"])
    ids = zip(report.pairs["left_id"], report.pairs["right_id"], strict=True)
    y = np.array([pair in truth for pair in ids])
    bins = np.minimum((p * _BINS).astype(int), _BINS - 1)
    return float(sum(abs((p - y)[bins == b].sum()) for b in range(_BINS)) / len(p))


def _asking(name: str, asking: str, curves: dict[str, dict[int, float]]) -> Iterator[Row]:
    """Yield F1 on the test pairs after some answers; pairs of test and validation are skipped.

    Both ways of asking begin with the same ten questions; every fifth only judges.
    """
    left, right, pairs, _ = published(name)
    test = pairs[pairs["split"] == "test"]
    unknown = pairs[pairs["split"] != "train"]
    skipped = set(zip(unknown["left_id"], unknown["right_id"], strict=True))
    curve: dict[int, list[float]] = {n: [] for n in _AFTER}
    for seed in range(_ASKED_DRAWS):
        for n, matcher, _ in _taught(name, asking, seed, _AFTER, skipped):
            report = matcher.match(left, right, candidates=test)
            curve[n].append(100 * f1(decided(report), matches_of(test)))
    means = {n: float(np.mean(values)) for n, values in curve.items()}
    curves[f"{TITLES[name]}, {asking}"] = means
    asked = {"abt_buy": 93, "amazon_google": 70} if asking == "uncertain" else {}
    yield Row(
        f"50 answers, {asking} questions: F1 % of test pairs",
        TITLES[name],
        asked.get(name),
        means[50],
        f"{min(curve[50]):.1f} to {max(curve[50]):.1f}, "
        + ", ".join(f"{value:.1f} at {n}" for n, value in means.items() if n != 50),
    )


def _taught(
    name: str, asking: str, seed: int, after: tuple[int, ...], skipped: set[Any]
) -> Iterator[tuple[int, Any, set[Any]]]:
    """Yield the matcher after given numbers of answers of a simulated person, and their pairs."""
    import likewise as lw

    left, right, _, truth = published(name)
    matcher = lw.Matcher(random_state=seed).fit(left, right)
    rng = np.random.default_rng(seed)
    known: set[Any] = set()
    for n in after:
        while len(known) < n:
            questions = matcher.ask(min(10, n - len(known)))
            if asking == "random" and len(known) >= 10:
                questions = _at_random(questions, matcher, rng, left["id"], right["id"])
            ids = list(zip(questions["left_id"], questions["right_id"], strict=True))
            answers = questions.assign(label=[str(int(pair in truth)) for pair in ids])
            answers = answers[[pair not in skipped for pair in ids]]
            if len(answers):
                matcher.learn(answers)
            known |= set(ids) - skipped
        yield n, matcher, known


def _at_random(
    questions: Any, matcher: Any, rng: np.random.Generator, left: Any, right: Any
) -> Any:
    """Return questions whose pairs, but for those that judge, are candidates drawn at random."""
    drawn = rng.choice(len(matcher.candidates_), len(questions), replace=False)
    pairs = matcher.candidates_[drawn]
    keep = questions["judge"] == 1
    return questions.assign(
        left_id=questions["left_id"].where(keep, left.to_numpy()[pairs.left]),
        right_id=questions["right_id"].where(keep, right.to_numpy()[pairs.right]),
    )


def _whole_tables(name: str) -> Iterator[Row]:
    """Yield F1 over whole tables after 200 answers, with the judged figures and the forecast.

    Asked pairs count neither for nor against.
    """
    left, right, _, truth = published(name)
    scores, told = [], []
    for seed in range(_WHOLE_DRAWS):
        ((_, matcher, known),) = _taught(name, "uncertain", seed, (200,), set())
        report = matcher.match(left, right)
        scores.append(f1(decided(report) - known, truth - known))
        judged = [
            f"{what} {'unknown' if value is None else f'{value:.2f}'} ({low:.2f} to {high:.2f})"
            for what in ("precision", "recall")
            for value, low, high in [matcher.judged_[what]]
        ]
        told.append(f"forecast {report.forecast['f1']:.3f}, judged {', '.join(judged)}")
    yield Row(
        "200 answers: F1 over whole tables, other pairs",
        TITLES[name],
        0.65 if name == "amazon_google" else None,
        float(np.mean(scores)),
        "; ".join(told),
    )


def _from_files() -> Iterator[Row]:
    """Yield CPU time and memory of the command on febrl4, from files to pairs."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "likewise", "match", *map(str, files("febrl4"))]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    yield Row("CPU seconds from files to pairs", "febrl4", 25, seconds)
    yield Row("MB from files to pairs", "febrl4", 1000, after.ru_maxrss / 1024)


def _plot(curves: dict[str, dict[int, float]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    ax = figure.add_subplot()
    for title, curve in curves.items():
        style = "--" if title.endswith("random") else "-"
        ax.plot(list(curve), list(curve.values()), style, marker="o", label=title)
    ax.set_xlabel("answers")
    ax.set_ylabel("F1 % of test pairs")
    ax.legend()
    figure.savefig(path, dpi=150)
