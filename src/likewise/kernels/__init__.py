"""Compiled loops on plain arrays: they write into arrays they are given and know nothing else.

Loaded, and compiled, when first used: ``kernels.scan_products(...)``.
"""

from typing import TYPE_CHECKING

from likewise._lazy import attach

if TYPE_CHECKING:
    from likewise.kernels._energy import class_energies as class_energies
    from likewise.kernels._topk import scan_products as scan_products
    from likewise.kernels._topk import scan_scores as scan_scores

__all__ = ["class_energies", "scan_products", "scan_scores"]

__getattr__, __dir__ = attach(
    __name__,
    {"class_energies": "_energy", "scan_products": "_topk", "scan_scores": "_topk"},
)
