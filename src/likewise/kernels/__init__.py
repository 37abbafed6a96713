"""Compiled loops on plain arrays: they write into arrays they are given and know nothing else.

Loaded, and compiled, when first used: ``kernels.scan_products(...)``.
"""

from likewise._lazy import attach

_HOMES = {
    "class_energies": "_energy",
    "edge_distances": "_edges",
    "edge_forces": "_edges",
    "incidence": "_edges",
    "lower_bounds": "_sila",
    "margin_costs": "_lmnn",
    "scan_impostors": "_lmnn",
    "scan_products": "_topk",
    "scan_scores": "_topk",
    "visit_rows": "_sila",
}

__getattr__, __dir__ = attach(__name__, _HOMES)
