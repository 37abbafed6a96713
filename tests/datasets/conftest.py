"""No test of this folder leaves the machine or depends on what is on it."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

# Read before any test hides it: the folder with real data, where there is one.
REAL_FOLDER = os.environ.get("LIKEWISE_DATA", "")


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Send every download to a closed port of this machine; hide the folder and the cache."""
    with socket.socket() as bound:
        # Bound and never listening: a connection is refused, and nobody else can take the port.
        bound.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{bound.getsockname()[1]}"
        for scheme in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(scheme, closed)
            monkeypatch.setenv(scheme.upper(), closed)
        for exception in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(exception, raising=False)
        monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "scikit_learn_data"))
        monkeypatch.delenv("LIKEWISE_DATA", raising=False)
        yield


@pytest.fixture
def sklearn_home(tmp_path: Path) -> Path:
    """Return the empty folder that scikit-learn takes for its cache."""
    return tmp_path / "scikit_learn_data"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return an empty folder that LIKEWISE_DATA names."""
    path = tmp_path / "data"
    path.mkdir()
    monkeypatch.setenv("LIKEWISE_DATA", str(path))
    return path


@pytest.fixture
def real_folder(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder with real data, named again; skip where there is none."""
    if not REAL_FOLDER:
        pytest.skip("LIKEWISE_DATA is not set")
    if not Path(REAL_FOLDER).is_dir():
        pytest.skip(f"LIKEWISE_DATA names {REAL_FOLDER}, which is not a folder")
    monkeypatch.setenv("LIKEWISE_DATA", REAL_FOLDER)
    return Path(REAL_FOLDER)
