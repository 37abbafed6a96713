"""Run the code of README and the guide with the tests."""

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()], patterns=["README.md", "docs/guide/*.md"]
).pytest()

# Fixtures, not tests: as modules with examples they would all want to be called `conftest`.
collect_ignore_glob = ["*conftest.py"]
