"""The files of the project agree with each other."""

import tomllib

import pytest
from tools.install_lines import ROOT
from tools.lowest import TOOLS, pins
from tools.release_check import code_of, foreign_files
from tools.version import versions

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]


def test_all_files_state_one_version():
    assert len(set(versions().values())) == 1


def test_every_user_requirement_has_an_oldest_version():
    lines = list(pins(PROJECT))
    assert "numpy==1.26" in lines
    assert all("==" in line for line in lines)
    assert not any(line.startswith(("pytest", "sphinx", "likewise")) for line in lines)
    assert set(PROJECT["optional-dependencies"]) >= TOOLS


def test_a_requirement_without_an_oldest_version_is_refused():
    with pytest.raises(ValueError, match="'numpy' is not of the form name>=version"):
        list(pins({"dependencies": ["numpy"], "optional-dependencies": {}}))


def test_every_change_has_a_kind_that_the_changelog_knows():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["tool"]
    kinds = {kind["directory"] for kind in config["towncrier"]["type"]}
    fragments = list((ROOT / "changes").glob("*.md"))
    assert {fragment.name.split(".")[1] for fragment in fragments} <= kinds


@pytest.mark.parametrize(
    "name",
    [
        "tests/test_import.py",
        "likewise/data/wine.csv",
        "likewise/learners/tests/test_lmnn.py",
        "benchmarks/lmnn.py",
        "likewise/model.safetensors",
        "likewise/__pycache__/_lazy.py",
    ],
)
def test_files_for_developers_are_found_in_a_wheel(name):
    assert foreign_files(["likewise/__init__.py", name, "likewise/py.typed"]) == [name]


def test_the_code_of_a_page_is_its_python_blocks():
    page = "```python\na = 1\n```\ntext\n```\nnot = this\n```\n```python\nb = a\n```\n"
    assert code_of(page) == "a = 1\n\nb = a\n"
