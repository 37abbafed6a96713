"""A paper's table is run, written and drawn by one command."""

import json
import os
import signal
import subprocess
import sys
from importlib import import_module

import pytest

from likewise.exceptions import InterruptedWarning
from reproduce import Row, __main__, known, reproduce, sila

ROWS = [
    Row("balance", "kNN a|b", 0.9, 0.95, 0.01, "k=3"),
    Row("wine", "kNN", None, 0.8),
    Row("news", "kNN", 0.9, None, note="not to be had"),
]


@pytest.fixture
def quick(monkeypatch):
    """Replace the measuring by three rows, and the drawing by nothing."""
    monkeypatch.setattr(sila, "rows", lambda only: iter(ROWS))
    monkeypatch.setattr(sila, "figures", lambda rows: [])


def run(*arguments, **options):
    command = [sys.executable, "-W", "error", "-m", "reproduce", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_without_a_name_the_command_lists_the_names():
    found = run()
    assert found.returncode == 0
    assert found.stdout.split() == known()
    assert "sila" in known()
    assert found.stderr == ""


def test_an_unknown_name_is_refused_with_a_sentence(tmp_path):
    found = run("sial", "--folder", str(tmp_path / "out"))
    assert found.returncode == 2
    names = ", ".join(repr(name) for name in known())
    sentence = f"NAME must be one of {names}, but 'sial' was given. Did you mean 'sila'?\n"
    assert found.stderr == sentence
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", known())
def test_every_paper_measures_only_the_settings_that_are_named(name):
    paper = import_module(f"reproduce.{name}")
    assert list(paper.rows("no setting has this name")) == []


def test_a_text_that_is_in_no_setting_is_refused_and_keeps_the_files(quick, monkeypatch, tmp_path,
                                                                     capsys):  # fmt: skip
    reproduce("sila", tmp_path)
    kept = (tmp_path / "sila.json").read_bytes()
    monkeypatch.setattr(sila, "rows", lambda only: iter([]))
    arguments = ["sila", "--folder", str(tmp_path), "--only", "blance", "--quiet"]
    assert __main__.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "only must be in the name of a setting of sila, but 'blance' was given.\n"
    assert (tmp_path / "sila.json").read_bytes() == kept


def test_the_written_table_has_published_beside_ours(quick, tmp_path):
    assert reproduce("sila", tmp_path / "new" / "folder") == ROWS
    text = (tmp_path / "new" / "folder" / "sila.md").read_text(encoding="utf8")
    title, _, *lines = text.splitlines()
    assert title == f"# {sila.PAPER}"
    assert lines == [
        "| setting | method | published | ours | deviation | note |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        r"| balance | kNN a\|b | 0.900 | 0.950 | 0.010 | k=3 |",
        "| wine | kNN | – | 0.800 | – |  |",
        "| news | kNN | 0.900 | – | – | not to be had |",
    ]


def test_the_written_json_holds_the_rows(quick, tmp_path):
    reproduce("sila", str(tmp_path))
    report = json.loads((tmp_path / "sila.json").read_text(encoding="utf8"))
    assert report["paper"] == sila.PAPER
    assert [Row(**row) for row in report["rows"]] == ROWS


def test_a_folder_that_cannot_be_is_refused_before_anything_is_measured(monkeypatch, tmp_path):
    measured = []
    monkeypatch.setattr(sila, "rows", lambda only: measured.append(1) or iter(ROWS))
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        reproduce("sila", tmp_path / "file")
    assert measured == []


def test_ctrl_c_writes_the_rows_so_far(quick, monkeypatch, tmp_path):
    def rows(only):
        yield ROWS[0]
        os.kill(os.getpid(), signal.SIGINT)
        yield ROWS[1]
        yield ROWS[2]

    monkeypatch.setattr(sila, "rows", rows)
    with pytest.warns(InterruptedWarning, match="kept: the rows so far"):
        assert reproduce("sila", tmp_path) == ROWS[:2]
    assert len(json.loads((tmp_path / "sila.json").read_text())["rows"]) == 2


def test_the_command_prints_the_table_and_says_where_it_is(quick, tmp_path, capsys):
    assert __main__.main(["sila", "--folder", str(tmp_path), "--quiet"]) == 0
    out, err = capsys.readouterr()
    head, *lines = out.splitlines()
    assert head.split() == ["setting", "method", "published", "ours", "deviation", "note"]
    assert len(lines) == 3
    assert err == f"written to {tmp_path}\n"


def test_the_command_prints_json_alone_when_asked(quick, tmp_path, capsys):
    assert __main__.main(["sila", "--folder", str(tmp_path), "--json"]) == 0
    out, err = capsys.readouterr()
    assert [Row(**row) for row in json.loads(out)] == ROWS
    assert "reproducing sila: 3 rows" in err
