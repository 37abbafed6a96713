"""What the tests of commands share."""

import pytest
from typer.testing import CliRunner

from likewise.cli._app import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a command in an empty folder: (code, output, errors)."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return run
