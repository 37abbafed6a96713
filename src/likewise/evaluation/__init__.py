"""Evaluation of similarities and estimators: small immutable reports."""

from likewise.evaluation._compare import Comparison, compare
from likewise.evaluation._goodness import Goodness, goodness
from likewise.evaluation._plane import align_map, plane_map
from likewise.evaluation._ranking import RetrievalReport, evaluate_retrieval
from likewise.evaluation._significance import corrected_p_value, holm, p_value_text
from likewise.evaluation._table import Table

__all__ = [
    "Comparison",
    "Goodness",
    "RetrievalReport",
    "Table",
    "align_map",
    "compare",
    "corrected_p_value",
    "evaluate_retrieval",
    "goodness",
    "holm",
    "p_value_text",
    "plane_map",
]
