"""SiLA: similarity learning by a voted perceptron (Qamar, Gaussier, Chevallet and Lim, 2008)."""

from likewise.learners.sila._sila import SiLA

__all__ = ["SiLA"]
