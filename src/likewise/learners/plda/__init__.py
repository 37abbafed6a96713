"""Probabilistic linear discriminant analysis (Ioffe, 2006) from pairs of the same kind."""

from likewise.learners.plda._plda import PairSpace, discriminants

__all__ = ["PairSpace", "discriminants"]
