"""What all tests share: one seed, and the way to real data."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture
def rng() -> np.random.Generator:
    """Return random numbers that are the same in every run."""
    return np.random.default_rng(0)


@pytest.fixture
def data_dir() -> Path:
    """Return the folder with real data; skip where there is none."""
    named = os.environ.get("LIKEWISE_DATA")
    if not named:
        pytest.skip("LIKEWISE_DATA is not set")
    if not Path(named).is_dir():
        pytest.skip(f"LIKEWISE_DATA names {named}, which is not a folder")
    return Path(named)
