"""POLA: online learning of pseudo-metrics (Shalev-Shwartz, Singer and Ng, 2004)."""

from likewise.learners.pola._pola import POLA

__all__ = ["POLA"]
