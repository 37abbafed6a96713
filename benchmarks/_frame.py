"""Run contenders in turn, each in its own process, and tabulate their best figures."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from importlib import import_module
from inspect import signature
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks._contender import ENVIRONMENTS, Contender
from likewise.evaluation import Table

ROOT = Path(__file__).parent.parent
_SECONDS_TO_END = 30
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Result(NamedTuple):
    """The figures of one contender on one case."""

    name: str
    answers: list[dict[str, Any]]
    failure: str | None
    share: float = 1.0

    @property
    def seconds(self) -> float:
        """Time of the fastest run, the least disturbed one."""
        return min(answer["seconds"] for answer in self.answers)

    @property
    def full_seconds(self) -> float:
        """Time that all of the case's work would take."""
        return self.seconds / self.share


def run(name: str, folder: Path, repeats: int, base: str | None = None, **options: Any) -> None:
    """Run one benchmark and write NAME.json, NAME.md and NAME.png into `folder`.

    With `base`, a git revision, only ``likewise`` runs: of this tree and of that revision. Further
    options are for benchmarks whose `main` takes them.
    """
    module = import_module(f"benchmarks.{name}")
    folder.mkdir(parents=True, exist_ok=True)
    if hasattr(module, "main"):
        given, taken = {**options, "base": base}, signature(module.main).parameters
        module.main(folder, **{key: value for key, value in given.items() if key in taken})
        return
    contenders, roots = module.CONTENDERS, [ROOT]
    if base is not None:
        contenders = [contender for contender in contenders if contender.name == "likewise"]
        roots.append(tree_of(base, folder))
    report = []
    for case in module.CASES:
        results = run_case(name, contenders, case, repeats, roots)
        print(f"\n{name}: {case_title(case)} (best of {repeats}, in turn)\n{_table(results)}")
        print(_ratios(results))
        report.append((case, results))
        _write(name, report, folder)  # after each case: a run that is interrupted keeps the others
    print(f"\nwritten to {folder}")


def _write(name: str, report: list[tuple[dict[str, Any], list[Result]]], folder: Path) -> None:
    """Write the results of all cases so far as JSON, as tables and as a plot."""
    found = [{"case": case, "results": [r._asdict() for r in results]} for case, results in report]
    (folder / f"{name}.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf8")
    texts = [
        f"## {case_title(case)}\n\n{_table(results).to_markdown()}\n\n{_ratios(results)}\n"
        for case, results in report
    ]
    (folder / f"{name}.md").write_text("\n".join([f"# {name}\n", *texts]), encoding="utf8")
    _plot(report, folder / f"{name}.png")


def tree_of(revision: str, folder: Path) -> Path:
    """Return a folder with the files of a git revision, extracted into `folder` where missing."""
    command = ["git", "rev-parse", "--short", revision]
    commit = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if commit.returncode != 0:
        raise SystemExit(f"--base must be a git revision, but {revision!r} was given.")
    tree = folder.resolve() / f"base-{commit.stdout.strip()}"
    if not tree.exists():
        archive = tree.with_suffix(".tar")
        command = ["git", "archive", f"--output={archive}", revision]
        subprocess.run(command, cwd=ROOT, check=True)
        shutil.unpack_archive(archive, tree, filter="data")
        archive.unlink()
    return tree


def run_case(
    module: str,
    contenders: list[Contender],
    case: dict[str, Any],
    repeats: int,
    roots: list[Path] | None = None,
) -> list[Result]:
    """Return the results of the contenders, whose runs take turns, in this tree or in `roots`."""
    roots = [ROOT] if roots is None else roots
    workers = [_Worker(module, contender, case, root) for contender in contenders for root in roots]
    try:
        for worker in workers:  # so that no contender is timed while another loads its data
            worker.wait_until_prepared()
        for turn in range(repeats + 1):
            for worker in workers:
                # the first turn warms up caches and compilers and is not counted
                if turn == 1 or not worker.slow:
                    worker.take_turn(counted=turn > 0)
    finally:
        for worker in workers:
            worker.close()
    return [Result(each.name, each.answers, each.failure, each.share) for each in workers]


class _Worker:
    """A contender in its own process; one that does not run is left out with a reason."""

    def __init__(self, module: str, contender: Contender, case: dict[str, Any], root: Path) -> None:
        self.name, self.slow, self.share = contender.name, contender.slow, contender.share
        if root != ROOT:
            self.name += f", {root.name}"
        self.answers: list[dict[str, Any]] = []
        self.failure: str | None = None
        self._process: subprocess.Popen[str] | None = None
        reason = contender.left_out(case)
        if reason is not None:
            self.failure = f"left out: {reason}"
            return
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the worker)
        threads = {name: str(case["threads"]) for name in THREAD_VARIABLES if "threads" in case}
        try:
            python = python_of(contender.environment)
        except subprocess.CalledProcessError as error:
            self.failure = f"its environment could not be created: {error}"
            return
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks._worker", module, contender.name, json.dumps(case)],
            cwd=root,
            env={**os.environ, **threads, "PYTHONPATH": str(root / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def wait_until_prepared(self) -> None:
        """Wait until the process is ready to run."""
        if self.failure is None:
            self._answer()

    def take_turn(self, *, counted: bool) -> None:
        """Run once."""
        if self.failure is not None:
            return
        self._process.stdin.write("run\n")
        answer = self._answer()
        if counted and self.failure is None:
            self.answers.append(json.loads(answer))

    def _answer(self) -> str:
        """Return a line of the process; if it has ended, its last error is the failure."""
        try:
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self._process.wait()
            self._errors.seek(0)
            last_line = self._errors.read().strip().splitlines()[-1:]
            self.failure = f"did not run: {''.join(last_line)[:120]}"
        return answer

    def close(self) -> None:
        """Close the input of the process, so that it ends cleanly; kill it after a timeout."""
        if self._process is None:
            return
        try:
            self._process.communicate(timeout=_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._errors.close()


def python_of(environment: str | None) -> str:
    """Return the interpreter of an environment, which is made where it is missing."""
    if environment is None:
        return sys.executable
    folder = ROOT / f".venv-bench-{environment}"
    python, stamp = folder / "bin" / "python", folder / "installed"
    wanted = "\n".join(ENVIRONMENTS[environment])
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"creating the environment {environment} ...")
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", *ENVIRONMENTS[environment]], check=True
        )
        stamp.write_text(wanted)
    return str(python)


def case_title(case: dict[str, Any]) -> str:
    """Return the parameters of a case in a line."""
    return ", ".join(f"{k} {v}" for k, v in case.items() if v is not None) or "as it is"


def _table(results: list[Result]) -> Table:
    ours = next((r.full_seconds for r in results if r.name == "likewise" and r.answers), None)
    measured = {key for result in results for answer in result.answers for key in answer}
    extra = sorted(measured - {"seconds", "peak_mb"})
    rows = []
    for result in results:
        if not result.answers:
            rows.append((result.name, result.failure or "", *[""] * (2 + len(extra))))
            continue
        middle = {
            key: median(answer[key] for answer in result.answers if key in answer)
            for key in extra
            if any(key in answer for answer in result.answers)
        }
        rows.append(
            (
                result.name,
                f"{result.seconds:.3g}",
                "" if ours is None else f"{result.full_seconds / ours:.2f}",
                f"{max(answer['peak_mb'] for answer in result.answers):.0f}",
                *(f"{middle[key]:.6g}" if key in middle else "" for key in extra),
            )
        )
    return Table(("", "seconds", "× likewise", "MB above data", *extra), rows)


def fastest_peer(results: list[Result]) -> Result | None:
    """Return the fastest result of another library, if there is one."""
    peers = [result for result in results if not result.name.startswith(("likewise", "floor: "))]
    return min(peers, key=lambda result: result.full_seconds, default=None)


def highest_floor(results: list[Result]) -> Result | None:
    """Return the largest of the lower bounds, if there is one."""
    floors = [result for result in results if result.name.startswith("floor: ")]
    return max(floors, key=lambda result: result.full_seconds, default=None)


def _ratios(results: list[Result]) -> str:
    """Return the time of likewise relative to the fastest peer and to the floor, in a sentence."""
    ran = [result for result in results if result.answers]
    ours = [result for result in ran if result.name == "likewise"]
    ratios = []
    compared = {"the fastest peer": fastest_peer(ran), "the floor": highest_floor(ran)}
    for kind, other in compared.items():
        if ours and other is not None:
            ratio = ours[0].full_seconds / other.full_seconds
            ratios.append(f"{ratio:.2f} × {kind} ({other.name.removeprefix('floor: ')})")
    return f"likewise takes {' and '.join(ratios)}." if ratios else ""


def _plot(report: list[tuple[dict[str, Any], list[Result]]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 1 + 1.6 * len(report)), layout="constrained")
    for place, (case, results) in enumerate(report):
        ax = figure.add_subplot(len(report), 1, place + 1)
        ran = [result for result in results if result.answers]
        ax.barh([result.name for result in ran], [result.seconds for result in ran])
        ax.set_title(case_title(case), fontsize=8)
        ax.set_xlabel("seconds")
        ax.invert_yaxis()
    figure.savefig(path, dpi=150)
