"""The command that installs likewise, as error messages and the documentation print it.

Nothing is published yet, so commands install from a clone. At the first release, set `PUBLISHED`
to True and run ``make install-lines``, which rewrites README and the documentation.
"""

PUBLISHED = False


def install_command(*extras: str, published: bool = PUBLISHED) -> str:
    """Return the command that installs likewise with `extras`."""
    package = "likewise" if published else "."
    if not extras:
        return f"pip install {package}"
    return f"pip install '{package}[{','.join(extras)}]'"


def install_place(*, published: bool = PUBLISHED) -> str:
    """Return where the command is run, as the beginning of a sentence."""
    return "From the package index" if published else "In a clone of the repository"


def install_hint(*extras: str, published: bool = PUBLISHED) -> str:
    """Return the command and, while it needs one, where to run it."""
    command = install_command(*extras, published=published)
    return command if published else f"{command} in a clone of likewise"
