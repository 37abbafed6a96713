"""The usual argument types of each kernel, by which it can be compiled before its first call.

Letters stand for the type of an array's elements, digits for its dimensions: ``f2`` is a float64
matrix. Arrays are C-contiguous, unless an ``A`` says that they need not be; ``none`` is None. A
name with a colon is another specialization of the kernel before the colon.
"""

from functools import cache
from typing import Any

from likewise import kernels

_ELEMENTS = {
    "f": "float64",
    "s": "float32",
    "i": "int64",
    "j": "int32",
    "u": "uint32",
    "h": "uint16",
}
_PROBLEM = "int bool f1 i1 i1 i2 i2 i1 i2 f2 f1 f1 f1 i1"  # fields of SilaProblem
SIGNATURES = {
    "scan_products": "f2 f1 f2 f2 bool int i1 f2 i2",
    "scan_products:single": "s2 f1 f2 f2 bool int i1 f2 i2",
    "scan_scores": "f2 int i1 f2 i2",
    "scan_sparse": "i1 j1 f1 i1 j1 f1 i1 h1 s1 i1 s2 int i1 s1 f1 f2 i2",
    "count_word_pairs": "i1 j1 int i1",
    "list_word_pairs": "i1 j1 f1 int i1 i1 j1 s1",
    "scan_shortlist": (
        "i1 j1 f1 i1 j1 f1 int i1 j1 f1 i1 j1 s1 i1 j1 s1 int i1 s1 j1 f1 f1 i1 f2 i2"
    ),
    "pair_scores": "f2 f2 j1 j1 bool f1",
    "count_scores": "f2 f2 j1 i2",
    "count_products": "f2 f1 f2 j1 i2 j1 j1",
    "count_pairs": "j1 f1 f2 i2",
    "class_energies": "f2 i1 f3 f2 f1 float f1 f1 f2",
    "scan_impostors": "s2 int int i1 i1 s1 s1 j1 j1 j1",
    "group_edges": "j1 j1 i1 j1",
    "edge_distances": "f2 i1 i1 j1 f1",
    "edge_distances:single": "s2 i1 i1 j1 f1",
    "margin_costs": "f1 i1 f1 i1 float float none none f1 f1 f1",
    "margin_costs:weighted": "f1 i1 f1 i1 float float f1 f1 f1 f1 f1",
    "add_neighbors": "f2 i1 i1 j1 f1 j1 f2 f1",
    "add_neighbors:single": "s2 i1 i1 j1 f1 j1 s2 f1",
    "visit_each": "i1 f2 f2 f2 int bool problem f2 i1 i2 f2 f2 f1 f1 i1",
    "visit_rows": "int i1 i1 i1 s2 f2 f2 problem f2 i1 s2 s3 int i1 i2 f2 bool f1 s1 f1 i1 f2 f2",
    "visit_rows:double": (
        "int i1 i1 i1 f2 f2 f2 problem f2 i1 f2 f3 int i1 i2 f2 bool f1 f1 f1 i1 f2 f2"
    ),
    "lower_bounds": "f3 int problem int f2 f1",
    "list_rows": "f2 i1A bool i1 u1 s1",
    "list_csr_rows": "f1 j1 j1 i1A bool i1 u1 s1",
    "list_csr_differences": "f1 j1 j1 i1A i1A bool u1 i1 u1 s1",
    "scatter_lists": "i1 u1 s1 s2",
    "add_rows": "f2 i1A int bool s2",
    "oasis_dense": "i1 u1 s1 s2 f1 float s2 s1 f1",
    "oasis_lists": "i1 u1 s1 i1 u1 s1 f1 float s2 f1",
    "diagonal_dense": "i1 u1 s1 s2 f1 float s2 s2 s2 f1",
    "diagonal_lists": "i1 u1 s1 i1 u1 s1 f1 float s2 s2 f1",
    "diagonal_mistakes": "i1 u1 s1 i1 u1 s1 f1 float s2 s2 f1",
    "factored_decisions": "s2 s2 s1 f1 float int int s1 s2 f1",
    "list_evidence": "s2 s2 s2 s2 s2 s2",
    "apply_evidence": "s2 s2 s2 s2 float float s2 s2",
    "search_histogram": "f2 i1 i1 i1 i1 f2 f1 f2 f1 j1 f3 f1 i1 f2",
    "search_exact": "f2 i1 i1 i1 i1 f2 f1 f2 f1 f1",
    "search_zero": "f2 i1 i1 i1 i1 f2 f1 f1",
    "find_leaves": "f2 i2 i2 f2 i2",
    "sum_trees": "f2 i2 i2 f2 f3 f2",
    "forest_means": "s2 i1 i1 f1 i1 i1 f1 f1",
    "add_staged_losses": "i2 f3 i1 f1 f1 f1 f2",
    "winnow_pass_dense": "f2 i1 f1 f1 float float f1 f1 f1",
    "winnow_pass_sparse": "f1 j1 j1 f1 f1 float float f1 f1 f1",
    "winnow_scores_dense": "f2 i1 float f1 f1",
    "winnow_scores_sparse": "f1 j1 j1 float f1 f1",
    "dtw_distances": "f2 i1 f2 i1 float int f2",
    "tangent_distances": "f2 f2 f2 f2 f2 float f2",
    "sugeno_distances": "f2 f2 f1 f2",
    "string_similarities": "j1 i1 i1 i1 f1 f1",
}


def compile_ahead(name: str) -> bool:
    """Compile a kernel, or load it from numba's cache; return whether it was compiled."""
    dispatcher = getattr(kernels, name.partition(":")[0])
    misses = len(dispatcher.stats.cache_misses)
    dispatcher.compile(signature_of(name))
    return len(dispatcher.stats.cache_misses) > misses


def signature_of(name: str) -> tuple[Any, ...]:
    """Return the usual argument types of a kernel."""
    return tuple(_type(code) for code in SIGNATURES[name].split())


@cache
def _type(code: str) -> Any:
    from numba import types

    if code == "problem":
        return types.NamedTuple([_type(field) for field in _PROBLEM.split()], kernels.SilaProblem)
    scalars = {"int": types.int64, "float": types.float64, "bool": types.boolean}
    if code in scalars or code == "none":
        return scalars.get(code, types.none)
    layout: Any = code[2:] or "C"
    return types.Array(getattr(types, _ELEMENTS[code[0]]), int(code[1]), layout)
