"""Run the code of README and the guide with the tests, and share all tests among the workers."""

import os

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

# Before NumPy is imported, also by the workers of pytest-xdist and by every process that a test
# starts: the workers use all cores, and more threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()], patterns=["README.md", "docs/*.md", "docs/*/*.md"]
).pytest()

# Fixtures, not tests: as modules with examples they would all want to be called `conftest`.
collect_ignore_glob = ["*conftest.py"]

# Tests that share servers, a cluster or kernels run on one worker, so that these are started or
# compiled once.
_TOGETHER = {
    "tests/server/explorer/": "explorer",
    "tests/learners/lmnn/": "lmnn",
    "tests/learners/online/": "online",
    "tests/learners/sila/": "sila",
    "tests/distributed/": "cluster",
    "tests/cli/test_dask_option.py": "cluster",
}
# The longest begin, so that the workers end together, and learners compile their kernels before
# the processes of servers, clusters and commands load them.
_FIRST = (
    "tests/server/explorer/",
    "tests/learners/",
    "tests/server/",
    "tests/distributed/",
    "tests/cli/",
    "docs/guide/",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Put the tests that take longest first."""

    def place(item):
        places = (n for n, start in enumerate(_FIRST) if item.nodeid.startswith(start))
        return next(places, len(_FIRST))

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Return what ``--dist loadfile`` does, with the order and the groups from above."""
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            groups = (group for start, group in _TOGETHER.items() if nodeid.startswith(start))
            return next(groups, super()._split_scope(nodeid))

    config.option.loadscopereorder = False  # by the number of tests
    return Scheduling(config, log)
