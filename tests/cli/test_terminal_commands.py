"""Commands in a real terminal: tables, progress, Ctrl-C, and how they end."""

import json
import os
import re
import subprocess
import sys

import numpy as np
from tests.cli.terminal import likewise

import likewise as lw
from likewise._installation import install_hint


def test_help_names_every_command_and_loads_nothing_heavy(tmp_path):
    ended = likewise("--help", folder=tmp_path)
    assert ended.code == 0
    for name in (
        "compare", "fit", "evaluate", "search", "explain", "datasets", "learners", "warmup",
    ):  # fmt: skip
        assert f"  {name} " in ended.text


def test_help_imports_neither_numpy_nor_a_compiler():
    program = (
        "import sys, json\n"
        "sys.argv = ['likewise', '--help']\n"
        "from likewise.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    print(json.dumps(sorted(sys.modules)))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    loaded = set(json.loads(result.stdout.splitlines()[-1]))
    assert not loaded & {"numpy", "sklearn", "scipy", "numba", "pyarrow", "pandas", "narwhals"}


def test_fit_shows_progress_and_leaves_a_model_and_a_report(flowers, tmp_path):
    ended = likewise(
        "fit", flowers / "flowers.csv", "--target", "species", "--learner", "lmnn",
        "--budget", "1h", "--splits", "3",
        folder=tmp_path,
    )  # fmt: skip
    assert ended.code == 0, ended.text
    assert "flowers: 60 rows, 3 classes of species" in ended.text
    assert "4 numeric columns" in ended.text
    assert "id: the ids of the rows." in ended.text
    assert "comparing" in ended.text
    assert "fits/s" in ended.text
    assert re.search(r"comparing on 60 rows .* \d+ fits .* 3[56]\d\d s left", ended.text)
    assert "━" in ended.text  # a bar, drawn in place
    assert "\x1b[" in ended.raw
    for name in (
        "Euclidean kNN",
        "cosine kNN",
        "LMNN *",
        "logistic regression",
        "gradient boosting",
    ):
        assert name in ended.text
    assert "model: model.safetensors" in ended.text
    assert "report: report.html" in ended.text
    model = lw.load(tmp_path / "model.safetensors")
    held_out = lw.tables.read_table(flowers / "held_out.csv", target="species")
    assert np.mean(model.predict(held_out.rows) == held_out.labels) > 0.85
    page = (tmp_path / "report.html").read_text(encoding="utf8")
    assert "<html" in page
    assert "petal width" in page


def test_ctrl_c_keeps_the_best_so_far_and_says_so(flowers, tmp_path):
    ended = likewise(
        "fit", "breast_cancer", "--learner", "lmnn", "--budget", "10m", "--no-report",
        folder=tmp_path,
        interrupt_at=r" ([2-9]\d\d|\d{4,}) fits ",  # the count, not the rate ("296 fits/s")
    )  # fmt: skip
    assert ended.code == 0, ended.text
    assert "kept: the best so far" in ended.text
    assert "Interrupted: families and settings that were not finished" in ended.text
    model = lw.load(tmp_path / "model.safetensors")
    assert model.similarity_.score([[0.0] * 30], [[0.0] * 30]).shape == (1, 1)


def test_ctrl_c_keeps_something_or_nothing_and_says_which(tmp_path):
    """Whether a family is finished at that moment depends on the machine; the answer must fit."""
    ended = likewise(
        "fit", "breast_cancer", "--budget", "10m", "--no-report", folder=tmp_path,
        interrupt_at="Columns:",
    )  # fmt: skip
    kept = (tmp_path / "model.safetensors").exists()
    assert ended.code == (0 if kept else 1), ended.text
    assert ("interrupted: nothing was saved." in ended.text) != kept
    assert ("kept: the best so far" in ended.text) == kept


def test_a_wrong_name_ends_with_2_and_the_nearest_name(flowers, tmp_path):
    ended = likewise("compare", flowers / "flowers.csv", "--target", "specie", folder=tmp_path)
    assert ended.code == 2
    assert "Did you mean 'species'?" in ended.text
    assert "Traceback" not in ended.text


def test_without_the_extra_the_command_says_which_to_install():
    program = "import sys; sys.modules['typer'] = None; from likewise.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr == f"the command likewise needs typer: {install_hint('cli')}\n"


def test_a_shell_can_complete_the_name_of_a_command():
    asked = {"_LIKEWISE_COMPLETE": "complete_bash", "COMP_WORDS": "likewise exp", "COMP_CWORD": "1"}
    result = subprocess.run(
        [sys.executable, "-m", "likewise"],
        capture_output=True,
        text=True,
        env={**os.environ, **asked},
    )
    assert result.stdout.split() == ["explain", "export"]
