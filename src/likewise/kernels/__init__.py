"""Compiled loops on plain arrays: they write into arrays they are given and know nothing else.

Loaded, and compiled, when first used: ``kernels.scan_products(...)``.
"""

from likewise._lazy import attach

_HOMES = {
    "class_energies": "_energy",
    "count_pairs": "_ranks",
    "count_products": "_ranks",
    "count_scores": "_ranks",
    "edge_distances": "_edges",
    "edge_forces": "_edges",
    "incidence": "_edges",
    "margin_costs": "_lmnn",
    "pair_scores": "_ranks",
    "scan_impostors": "_lmnn",
    "scan_products": "_topk",
    "scan_scores": "_topk",
    "winnow_pass_dense": "_winnow",
    "winnow_pass_sparse": "_winnow",
    "winnow_scores_dense": "_winnow",
    "winnow_scores_sparse": "_winnow",
}

__getattr__, __dir__ = attach(__name__, _HOMES)
