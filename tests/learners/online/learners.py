"""The online learners, and rows as they may come."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import likewise as lw

LEARNERS = {
    "diagonal": lambda **p: lw.AROMA(**p),
    "factored": lambda **p: lw.AROMA("factored", **p),
    "oasis": lambda **p: lw.OASIS(**p),
}
each_learner = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)


def unsorted(rows):
    """Return CSR rows whose entries are in no order, some of them in two halves."""
    csr = csr_array(rows)
    order = np.concatenate(
        [np.arange(a, b)[::-1] for a, b in zip(csr.indptr[:-1], csr.indptr[1:], strict=True)]
    )
    data, indices = np.repeat(csr.data[order] / 2, 2), np.repeat(csr.indices[order], 2)
    return csr_array((data, indices, csr.indptr * 2), shape=csr.shape)
