"""Where the browser is that the tests of pages walk with."""

import shutil

import pytest


def find_browser():
    """Return the way to a browser; skip where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("there is no chromium on PATH: apt-get install chromium")
    return api, program
