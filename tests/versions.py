"""Marks for tests of what the oldest supported dependencies do not have."""

import numpy as np
import pytest
from scipy.sparse import coo_array

needs_1d_sparse_arrays = pytest.mark.skipif(
    coo_array(np.ones(2)).ndim != 1, reason="SciPy has 1-D sparse arrays from 1.13 on"
)
