"""The learning process imports installed code only."""

import json

from likewise.server.learning._worker import start_process

STRAY = ("grp", "signal", "sqlite3", "numpy", "likewise")


def test_modules_in_the_working_directory_are_not_imported(tmp_path, monkeypatch):
    for name in STRAY:
        (tmp_path / f"{name}.py").write_text(
            f"from pathlib import Path\nPath('{name} was imported').touch()\n"
        )
    monkeypatch.chdir(tmp_path)
    config = {"location": str(tmp_path / "none" / "store.sqlite"), "schema": "likewise"}
    with start_process() as process:
        process.stdin.write(json.dumps(config).encode() + b"\n")
        process.stdin.close()
        process.wait()
    assert not list(tmp_path.glob("* was imported"))
