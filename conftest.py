"""Run the code of README and the guide with the tests, everything with one BLAS thread."""

import os

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

# Before NumPy is imported, also by the workers of pytest-xdist and by every process that a test
# starts: the workers use all cores, and more threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()], patterns=["README.md", "docs/guide/*.md"]
).pytest()

# Fixtures, not tests: as modules with examples they would all want to be called `conftest`.
collect_ignore_glob = ["*conftest.py"]
