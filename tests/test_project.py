"""The files of the project agree with each other."""

import re
import tomllib

import pytest
from tools.address import FILES, current_address, moved, site_of
from tools.install_lines import ROOT
from tools.lowest import TOOLS, pins
from tools.release_check import code_of, foreign_files
from tools.version import versions

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]


def test_all_files_state_one_version():
    assert len(set(versions().values())) == 1


def test_every_user_requirement_has_an_oldest_version():
    lines = list(pins(PROJECT))
    assert {"numpy==1.26", "pandas==2.2", "polars==1.10"} <= set(lines)
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


def test_every_address_of_the_project_follows_the_repository():
    repository = current_address()
    assert PROJECT["urls"]["Documentation"] == site_of(repository)
    for name in FILES:
        text = (ROOT / name).read_text(encoding="utf8")
        ours = re.findall(r"https://[\w./-]*github[\w./-]+", text)
        assert ours
        assert all(address.startswith((repository, site_of(repository))) for address in ours)


def test_the_address_moves_with_its_site():
    text = "https://github.com/a/b/issues and https://a.github.io/b"
    moved_text = "https://github.com/some-one/c/issues and https://some-one.github.io/c"
    assert moved(text, "https://github.com/a/b", "https://github.com/some-one/c") == moved_text
    with pytest.raises(SystemExit, match=r"must be https://github\.com/OWNER/NAME, not 'github"):
        moved(text, "https://github.com/a/b", "github.com/a/b")
