"""A deprecated name warns for two releases; then it must be removed."""

import ast
from pathlib import Path

import pytest

import likewise as lw
from likewise._deprecation import removal_version, warn_deprecated

SOURCE = Path(lw.__file__).parent


def old_name():
    warn_deprecated("old_name", since="0.3", instead="new_name")


def test_the_warning_names_the_releases_and_the_replacement():
    message = "old_name is deprecated since likewise 0.3 and will be removed in 0.5: use new_name"
    with pytest.warns(FutureWarning) as caught:
        old_name()
    assert str(caught[0].message) == message
    assert caught[0].filename == __file__


def test_names_are_removed_two_releases_later():
    assert removal_version("0.9") == "0.11"
    assert removal_version("2.0") == "2.2"


def calls_in(text):
    """Yield the `since` of every deprecation in the source text of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("warn_deprecated"):
            yield next(word.value.value for word in node.keywords if word.arg == "since")


def numbers(version):
    return tuple(map(int, version.split(".")[:2]))


def test_deprecations_are_found_in_source_text():
    text = Path(__file__).read_text(encoding="utf8")
    assert list(calls_in(text)) == ["0.3"]


def test_no_name_outlives_its_deprecation():
    modules = {path.name: path.read_text(encoding="utf8") for path in SOURCE.rglob("*.py")}
    overdue = [
        (name, since)
        for name, text in modules.items()
        for since in calls_in(text)
        if numbers(removal_version(since)) <= numbers(lw.__version__)
    ]
    assert overdue == []
