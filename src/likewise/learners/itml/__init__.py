"""Information-theoretic metric learning (Davis et al., 2007), and LEGO (Jain et al., 2008)."""

from likewise.learners.itml._itml import ITML
from likewise.learners.itml._lego import LEGO

__all__ = ["ITML", "LEGO"]
