"""Compiled loops on plain arrays: they write into arrays they are given and know nothing else.

Loaded, and compiled, when first used: ``kernels.scan_products(...)``.
"""

from likewise._lazy import attach

_HOMES = {
    "class_energies": "_energy",
    "dtw_distances": "_dtw",
    "edge_distances": "_edges",
    "edge_forces": "_edges",
    "incidence": "_edges",
    "margin_costs": "_lmnn",
    "scan_impostors": "_lmnn",
    "scan_products": "_topk",
    "scan_scores": "_topk",
    "tangent_distances": "_tangent",
}

__getattr__, __dir__ = attach(__name__, _HOMES)
