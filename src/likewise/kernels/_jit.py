"""Compiler flags of all kernels."""

from collections.abc import Callable
from typing import Any

import numba

# Sums may be reordered, so that loops over features are vectorized. NaN and infinity keep their
# meaning, unlike with `fastmath=True`.
_SAFE_FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
# As above, but a product is rounded before it is added, so that a·x − a·x is zero.
_ROUNDED = _SAFE_FASTMATH - {"contract"}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop over plain arrays: single-threaded, without the GIL, cached on disk.

    Callers run kernels in threads (see `likewise._threads`): on some platforms, a kernel with
    threads of its own must not run in two threads at once. Division by zero follows NumPy, because
    a check at each division prevents vectorization.
    """
    return _compiled(function, _SAFE_FASTMATH)


def rounded_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile like `kernel`, but round each product before it is added."""
    return _compiled(function, _ROUNDED)


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only kernels of the same file call.

    It has neither a wrapper for Python nor a cache file, which halves its compilation. A cached
    kernel is compiled again when its own file changes, and no other.
    """
    return numba.njit(
        nogil=True,
        error_model="numpy",
        fastmath=_SAFE_FASTMATH,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )(function)


def _compiled(function: Callable[..., Any], fastmath: set[str]) -> Callable[..., Any]:
    return numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=fastmath)(function)
