"""Warnings that point at the user's code."""

import sys
import warnings

_SKIPPED = ("likewise", "sklearn")  # scikit-learn calls fit in fit_transform and in pipelines


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the line of code that called this package."""
    frame, stacklevel = sys._getframe(1), 2
    while frame.f_back is not None and _package(frame.f_globals) in _SKIPPED:
        frame, stacklevel = frame.f_back, stacklevel + 1
    warnings.warn(message, category, stacklevel=stacklevel)


def _package(names: dict[str, object]) -> str:
    """Return the name of the package of a module with these global names."""
    return str(names.get("__name__")).partition(".")[0]
