"""Estimators whose `fit` leaves a similarity."""

from likewise.learners._lmnn import LMNN
from likewise.learners._sila import SiLA

__all__ = ["LMNN", "SiLA"]
