"""The one place that chooses compiler flags."""

from collections.abc import Callable
from typing import Any

import numba

# Sums may be reordered, which makes loops over features vectors of numbers at a time; NaN and
# infinity keep their meaning, which `fastmath=True` would take from them.
_SAFE_FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
# As above, but a product is rounded before it is added, so that a·x − a·x is zero.
_ROUNDED = _SAFE_FASTMATH - {"contract"}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop over plain arrays: serial, without the interpreter lock, kept on disk.

    Threads are the caller's business (see `likewise._threads`): a kernel that started threads of
    its own could not be entered from two threads at once on every platform. Division by zero
    follows NumPy, because a check at each division keeps loops from being vectorised.
    """
    return _compiled(function, _SAFE_FASTMATH)


def rounded_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile as `kernel` does, but round each product before it is added to something."""
    return _compiled(function, _ROUNDED)


def _compiled(function: Callable[..., Any], fastmath: set[str]) -> Callable[..., Any]:
    return numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=fastmath)(function)
