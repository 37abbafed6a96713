"""Compiled loops on plain arrays: they write into arrays they are given and know nothing else.

Loaded, and compiled, when first used: ``kernels.scan_products(...)``.
"""

from likewise._lazy import attach

_HOMES = {
    "add_staged_losses": "_stumps",
    "add_weights": "_stumps",
    "class_energies": "_energy",
    "dtw_distances": "_dtw",
    "edge_distances": "_edges",
    "edge_forces": "_edges",
    "find_leaves": "_stumps",
    "histogram_threshold": "_stumps",
    "incidence": "_edges",
    "leaf_weights": "_stumps",
    "margin_costs": "_lmnn",
    "reweigh": "_stumps",
    "scan_impostors": "_lmnn",
    "scan_products": "_topk",
    "scan_scores": "_topk",
    "search_exact": "_stumps",
    "search_histogram": "_stumps",
    "search_zero": "_stumps",
    "sum_trees": "_stumps",
    "tangent_distances": "_tangent",
}

__getattr__, __dir__ = attach(__name__, _HOMES)
