"""NPY files written block by block."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.lib.format import header_data_from_array_1_0, write_array_header_1_0

from likewise._files._place import check_place, whole_file
from likewise._validation import is_sparse


def write_npy(path: str | os.PathLike[str], blocks: Iterable[Any], n_rows: int) -> None:
    """Write blocks of rows, dense or sparse, into one NPY file, completely or not at all."""
    with whole_file(check_place(path)) as unfinished, unfinished.open("wb") as file:
        for number, block in enumerate(blocks):
            dense = np.ascontiguousarray(block.toarray() if is_sparse(block) else block)
            if number == 0:
                header = header_data_from_array_1_0(dense)
                write_array_header_1_0(file, header | {"shape": (n_rows, dense.shape[1])})
            dense.tofile(file)
