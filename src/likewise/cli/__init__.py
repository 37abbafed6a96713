"""The command ``likewise``: a module a command, each of which parses, calls the library and shows.

Commands import what they need when they run, so that ``likewise --help`` answers at once.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; ends with 0 (done), 1 (the job failed) or 2 (wrong use)."""
    try:
        import typer  # noqa: F401
    except ImportError:
        sys.stderr.write("the command likewise needs typer: pip install 'likewise[cli]'\n")
        sys.exit(1)
    from likewise.cli._app import app

    app(prog_name="likewise")
