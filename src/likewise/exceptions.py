"""Errors and warnings of likewise, and the import of optional packages."""

from importlib import import_module
from types import ModuleType

from likewise._installation import install_hint

__all__ = [
    "ClusterLostError",
    "DatasetUnavailableError",
    "FormatError",
    "InterruptedWarning",
    "MissingExtraError",
    "ModelFileError",
    "NotFoldableError",
]


class ModelFileError(ValueError):
    """The file is not a complete and readable likewise model of a known version."""


class NotFoldableError(ValueError):
    """The index metric does not reproduce the similarity exactly."""


class DatasetUnavailableError(OSError, ValueError):
    """A data set that is neither bundled, generated nor in the local folder."""


class FormatError(ValueError):
    """A given separator or encoding is invalid, or does not fit the file."""


class ClusterLostError(ConnectionError):
    """The scheduler of a Dask cluster, or all of its workers, can no longer be reached."""


class MissingExtraError(ImportError):
    """An optional package is needed and not installed."""


class InterruptedWarning(UserWarning):
    """A long computation was interrupted by Ctrl-C; its partial result is kept."""


def require_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional module, or raise an error that names the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs {module.partition('.')[0]}: {install_hint(extra)}"
        ) from error
