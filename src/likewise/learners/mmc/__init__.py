"""MMC: Mahalanobis metric for clustering (Xing, Ng, Jordan and Russell, 2002)."""

from likewise.learners.mmc._mmc import MMC

__all__ = ["MMC"]
