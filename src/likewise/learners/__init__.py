"""Estimators whose `fit` leaves a similarity."""

from likewise.learners._lmnn import LMNN

__all__ = ["LMNN"]
