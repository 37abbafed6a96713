"""Deprecation of public names, parameters and values: warn for two releases, then remove."""

from likewise._warnings import warn

__all__ = ["removal_version", "warn_deprecated"]


def warn_deprecated(name: str, *, since: str, instead: str) -> None:
    """Warn that `name` is deprecated, and name its replacement.

    Parameters
    ----------
    name : str
        What is deprecated, such as "LMNN(k=...)".
    since : str
        First release that warns, such as "0.3". The second release after it may remove `name`.
    instead : str
        What to use instead.
    """
    warn(
        f"{name} is deprecated since likewise {since} and will be removed in "
        f"{removal_version(since)}: use {instead}",
        FutureWarning,
    )


def removal_version(since: str) -> str:
    """Return the first release in which a name deprecated in `since` may be missing."""
    major, minor = map(int, since.split("."))
    return f"{major}.{minor + 2}"
