"""The work of ``likewise match`` and ``likewise dedupe``: read, learn, ask, match, write."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from likewise._validation import check_choice, check_number, check_whole_number
from likewise.cli._asking import ask_in_terminal
from likewise.cli._console import Console, UsageError
from likewise.cli._inputs import check_paths, open_table, unknown_column
from likewise.cli._options import check_option

_N_QUESTIONS = 30
_QUESTIONS = Path("questions.csv")
_SIDES = ("left", "right")


@dataclass
class Work:
    """A matcher at work on tables."""

    console: Console
    tables: list[Any]
    id_column: str
    matcher: Any
    report: Any
    output: Path
    written: dict[str, str] = field(default_factory=dict)

    def write(self, rows: Any) -> None:
        """Write the result and print a summary."""
        from likewise.tables import write_table

        write_table(rows, self.output)
        self.written = {"output": str(self.output), **self.written}
        matcher, report = self.matcher, self.report
        self.console.result(
            {
                "candidates": report.pairs.num_rows,
                "decided": report.n_decided,
                "threshold": report.threshold,
                "share": report.share,
                "forecast": report.forecast,
                "judged": matcher.judged_,
                "fields": matcher.fields_,
                "sentences": list(report.sentences),
                **self.written,
            },
            *report.sentences,
            *_judged_sentences(matcher.judged_),
            *(f"{what}: {path}" for what, path in self.written.items()),
        )


def matching(
    console: Console,
    files: Sequence[str],
    read_options: Any,
    options: dict[str, Any],
    output: Path,
    one_to_one: bool = False,
    **parameters: Any,
) -> Work:
    """Fit or load a matcher, ask, and match; questions, answers and the model are written."""
    from likewise.tables import check_source, write_table

    _check_values(options, parameters)
    learns = bool(options["labels"] or options["ask"])
    reads_model = options["model"] is not None and not learns
    questions = options["questions"]
    if questions is None and not learns and not reads_model:
        questions = _QUESTIONS
    for file in (*files, *options["labels"]):
        check_source(file)
    _check_outputs(options, output, questions, learns)
    tables = [open_table(console, file, read_options) for file in files]
    frames = [_prepared(*each, options) for each in zip(tables, files, strict=True)]
    given = {name: options[name] for name in ("k", "threshold", "precision")}
    given["one_to_one"] = one_to_one or None
    parameters |= {name: value for name, value in given.items() if value is not None}
    names = dict(zip(_SIDES, files, strict=False)) | {"pairs": ", ".join(options["labels"])}
    written = {}
    with _files_named(names):
        if reads_model:
            matcher = _opened(options["model"]).set_params(**parameters)
        else:
            fields = _fields(frames, options)
            labels = _labels(console, options["labels"], read_options)
            matcher = _new_matcher(fields, options["seed"], parameters)
            matcher.fit(*frames, pairs=labels)
        if options["ask"]:
            keep = partial(write_table, path=options["answers"])
            if ask_in_terminal(matcher, frames, options["ask"], keep):
                written["answers"] = str(options["answers"])
        report = matcher.match(*frames)
    if questions is not None:
        asked = matcher.ask(_N_QUESTIONS)
        write_table(_with_label(side_by_side(asked, frames, "id")), questions)
        written["questions"] = str(questions)
    if options["model"] is not None and learns:
        matcher.save(options["model"])
        written["model"] = str(options["model"])
    if options["report"] is not None:
        from likewise.report import write_match_report

        title = " and ".join(Path(file).name for file in files)
        write_match_report(
            report, options["report"], *frames, title=title, model_path=options["model"]
        )
        written["report"] = str(options["report"])
    return Work(console, tables, options["id"], matcher, report, output, written)


def side_by_side(pairs: Any, tables: Sequence[Any], id_column: str) -> Any:
    """Return pairs with the columns of both records, which are named left_… and right_…."""
    import pyarrow

    rows = [getattr(table, "rows", table) for table in tables]
    for side, table in zip(_SIDES, (rows[0], rows[-1]), strict=True):
        named = id_column in table.column_names
        ids = table.column(id_column).to_pylist() if named else range(table.num_rows)
        place = {str(name): row for row, name in enumerate(ids)}
        which = pyarrow.array([place[str(i)] for i in pairs.column(f"{side}_id").to_pylist()])
        for name in table.column_names:
            if name != id_column:
                pairs = pairs.append_column(f"{side}_{name}", table.column(name).take(which))
    return pairs


def _with_label(questions: Any) -> Any:
    """Return questions with an empty column for the answers, after the ids."""
    import pyarrow

    empty = pyarrow.nulls(questions.num_rows, pyarrow.string())
    return questions.add_column(2, "label", empty)


def _check_values(options: dict[str, Any], parameters: dict[str, Any]) -> None:
    """Refuse wrong values of options before a table is read."""
    from likewise.matching import LINKS

    if options["k"] is not None:
        check_option(check_whole_number, options["k"], "-k")
    for name in ("threshold", "precision"):
        if options[name] is not None:
            check_option(
                check_number, options[name], f"--{name}", minimum=0, exclusive=True, maximum=1
            )
    if options["threshold"] is not None and options["precision"] is not None:
        raise UsageError("--threshold and --precision were both given; one is needed.")
    if "link" in parameters:
        check_option(check_choice, parameters["link"], "--link", LINKS)


def _check_outputs(
    options: dict[str, Any], output: Path, questions: Path | None, learns: bool
) -> None:
    from likewise.tables import check_written

    paths = {
        "output": output,
        "questions": questions,
        "answers": options["answers"] if options["ask"] else None,
        "model": options["model"] if learns else None,
        "report": options["report"],
    }
    check_paths(**paths)
    for option, path in paths.items():
        if path is None:
            continue
        if option not in ("model", "report"):
            try:
                check_written(path)
            except ValueError as error:
                raise UsageError(f"--{option}: {error}") from error
        if path.exists() and not options["force"]:
            raise UsageError(f"--{option} is {path}, which exists: --force overwrites it.")


def _prepared(table: Any, file: str, options: dict[str, Any]) -> Any:
    """Return the rows with their ids in a column id, without ignored columns."""
    rows, id_column = table.rows, options["id"]
    names = list(getattr(rows, "column_names", []))
    if id_column != "id" and id_column not in names:
        raise unknown_column("--id", id_column, file, names)
    for option in ("ignore", "text", "numeric"):
        for name in options[option]:
            if name not in names:
                raise unknown_column(f"--{option}", name, file, names)
    ignored = [*options["ignore"], *(["id"] if id_column != "id" and "id" in names else [])]
    rows = rows.drop_columns(ignored) if ignored else rows
    if id_column in names and id_column != "id":
        kept = ["id" if name == id_column else name for name in rows.column_names]
        rows = rows.rename_columns(kept)
    return rows


def _fields(frames: Sequence[Any], options: dict[str, Any]) -> dict[str, str | None] | None:
    """Return the kinds of fields that options name; None if there are none."""
    kinds = {
        **dict.fromkeys(options["text"], "text"),
        **dict.fromkeys(options["numeric"], "number"),
    }
    if not kinds:
        return None
    common = [n for n in frames[0].column_names if n in frames[-1].column_names and n != "id"]
    return {name: kinds.get(name) for name in common}


def _labels(console: Console, files: Sequence[str], read_options: Any) -> Any:
    """Return the labels of all files as one table, ids as text; None without files."""
    import pyarrow

    if not files:
        return None
    columns: dict[str, list[Any]] = {"left_id": [], "right_id": [], "label": [], "judge": []}
    for file in files:
        rows = open_table(console, file, read_options).rows
        for name in ("left_id", "right_id", "label"):
            if name not in rows.column_names:
                raise unknown_column("--labels", name, file, rows.column_names)
        for name, values in columns.items():
            found = rows.column(name).to_pylist() if name in rows.column_names else None
            values += [None] * rows.num_rows if found is None else [_text(v) for v in found]
    return pyarrow.table({n: pyarrow.array(v, pyarrow.string()) for n, v in columns.items()})


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _opened(path: Path) -> Any:
    from likewise import Matcher, load

    if not path.exists():
        raise UsageError(f"--model is {path}, which does not exist: --labels are needed to learn.")
    matcher = load(path)
    if not isinstance(matcher, Matcher):
        raise UsageError(f"{path} holds a {type(matcher).__name__}, not a matcher.")
    return matcher


def _new_matcher(fields: Any, seed: int, parameters: dict[str, Any]) -> Any:
    from likewise import Matcher

    return Matcher(fields=fields, random_state=seed, **parameters)


@contextmanager
def _files_named(files: dict[str, str]) -> Iterator[None]:
    """Name the files in errors about left, right and pairs."""
    try:
        yield
    except (ValueError, TypeError) as error:
        pattern = r"\b(left|right|pairs)(?= (?:has|needs|says|pairs|must)\b)"
        sentence = re.sub(pattern, lambda match: files.get(match[1]) or match[1], str(error))
        raise type(error)(sentence) from error


def _judged_sentences(judged: dict[str, Any] | None) -> list[str]:
    if judged is None:
        return []
    sentences = []
    for name in ("precision", "recall"):
        value, low, high = judged[name]
        known = "not known" if value is None else f"{value:.3f}"
        sentences.append(
            f"judged by {judged['n']} answers: {name} {known}, from {low:.3f} to {high:.3f}."
        )
    return sentences
