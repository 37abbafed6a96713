"""The command ``likewise``: one module per command, which parses, calls the library and prints.

Commands import the library when they run, so that ``likewise --help`` is fast.
"""

import sys

from likewise._installation import install_hint

__all__ = ["main"]


def main() -> None:
    """Run the command line; exit with 0 (success), 1 (failure) or 2 (wrong usage)."""
    try:
        import typer  # noqa: F401
    except ImportError:
        sys.stderr.write(f"the command likewise needs typer: {install_hint('cli')}\n")
        sys.exit(1)
    from likewise.cli._app import app

    app(prog_name="likewise")
