"""Compiled loops on plain arrays, which write their results into given arrays.

Each is loaded and compiled on first use: ``kernels.scan_products(...)``.
"""

from likewise._lazy import attach

_HOMES = {
    "SIGNATURES": "_signatures",
    "SilaProblem": "_sila_problem",
    "add_neighbors": "_edges",
    "add_rows": "_gather",
    "add_staged_losses": "_trees",
    "apply_evidence": "_evidence",
    "class_energies": "_energy",
    "compilation_seconds": "_jit",
    "compile_ahead": "_signatures",
    "count_pairs": "_ranks",
    "count_products": "_ranks",
    "count_scores": "_ranks",
    "diagonal_dense": "_online",
    "diagonal_lists": "_online",
    "dtw_distances": "_dtw",
    "edge_distances": "_edges",
    "factored_decisions": "_factored",
    "find_leaves": "_trees",
    "group_edges": "_edges",
    "histogram_threshold": "_stumps",
    "list_csr_differences": "_gather",
    "list_csr_rows": "_gather",
    "list_evidence": "_evidence",
    "list_rows": "_gather",
    "lower_bounds": "_sila",
    "margin_costs": "_lmnn",
    "oasis_dense": "_online",
    "oasis_lists": "_online",
    "pair_scores": "_ranks",
    "reweigh": "_stumps",
    "scan_impostors": "_lmnn",
    "scan_products": "_topk",
    "scan_scores": "_topk",
    "search_exact": "_stumps",
    "search_histogram": "_stumps",
    "search_zero": "_stumps",
    "scatter_lists": "_gather",
    "string_similarities": "_strings",
    "sum_trees": "_trees",
    "tangent_distances": "_tangent",
    "visit_each": "_sila",
    "visit_rows": "_sila",
    "winnow_pass_dense": "_winnow",
    "winnow_pass_sparse": "_winnow",
    "winnow_scores_dense": "_winnow",
    "winnow_scores_sparse": "_winnow",
}

__getattr__, __dir__ = attach(__name__, _HOMES)
