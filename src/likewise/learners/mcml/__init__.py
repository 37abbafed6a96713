"""MCML: maximally collapsing metric learning (Globerson and Roweis, 2005)."""

from likewise.learners.mcml._mcml import MCML

__all__ = ["MCML"]
