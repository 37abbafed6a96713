"""The errors and warnings that are ours, and the sentence for a missing extra."""

from importlib import import_module
from types import ModuleType

__all__ = [
    "ClusterLostError",
    "DatasetUnavailableError",
    "InterruptedWarning",
    "MissingExtraError",
    "ModelFileError",
    "NotFoldableError",
]


class ModelFileError(ValueError):
    """A file that is not a whole, known and readable likewise model."""


class NotFoldableError(ValueError):
    """An index metric that would not reproduce the similarity exactly."""


class DatasetUnavailableError(OSError):
    """A data set that is neither in the local folder nor to be downloaded."""


class ClusterLostError(ConnectionError):
    """The scheduler of a Dask cluster, or all of its workers, cannot be reached any more."""


class MissingExtraError(ImportError):
    """An optional package is needed and not installed."""


class InterruptedWarning(UserWarning):
    """Long work was ended by Ctrl-C; what was done until then is kept."""


def require_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional module, or say which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs {module.partition('.')[0]}: pip install 'likewise[{extra}]'"
        ) from error
