"""Relevant component analysis (Shental, Hertz, Weinshall and Pavel, 2002)."""

from likewise.learners.rca._rca import RCA

__all__ = ["RCA"]
