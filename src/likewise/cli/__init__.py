"""The command ``likewise``: one module per command, which parses, calls the library and prints.

Commands import the library when they run, so that ``likewise --help`` is fast.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; exit with 0 (success), 1 (failure) or 2 (wrong usage)."""
    try:
        import typer  # noqa: F401
    except ImportError:
        sys.stderr.write("the command likewise needs typer: pip install 'likewise[cli]'\n")
        sys.exit(1)
    from likewise.cli._app import app

    app(prog_name="likewise")
