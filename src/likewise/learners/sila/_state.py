"""The state of SiLA from which `partial_fit` continues, in memory and in a file."""

import zlib
from typing import Any

import numpy as np

from likewise._files import fields
from likewise._validation import Rows, is_sparse
from likewise.learners.sila._averaging import Form

TAIL = fields.OrNone(fields.Number())
_MATRIX = fields.Either(
    fields.Array(fields.FLOATS, "features", "features"), fields.Array(fields.FLOATS, "features")
)
STATE = fields.Parts(
    A=_MATRIX,
    weighted=_MATRIX,
    n_visits=fields.Number(),
    n_updates=fields.Number(),
    n_epochs=fields.Number(),
    tail=TAIL,
    # the updates of the tail: of each problem another number
    rows=fields.Array(fields.INTEGERS, "updates", minimum=0),
    partners=fields.Array(fields.INTEGERS, "updates", "partners", minimum=0),
    weights=fields.Array(fields.FLOATS, "updates", "partners"),
    visits=fields.Array(fields.INTEGERS, "updates", minimum=0),
    seed=fields.Number(),
    checksum=fields.Record(),
)


def check_states(
    states: list[dict[str, Any]],
    X: Rows,
    y: np.ndarray,
    form: Form,
    n_neighbors: int,
    tail: int | None,
) -> None:
    """Raise ValueError if the sequence cannot be continued."""
    n_features = X.shape[1]
    shape = (n_features,) if form == "diagonal" else (n_features, n_features)
    for state in states:
        if state["A"].shape != shape or state["partners"].shape[1] != 2 * n_neighbors:
            raise ValueError("form or n_neighbors was changed after fit: fit again.")
        if max(state["rows"].max(initial=0), state["partners"].max(initial=0)) >= X.shape[0]:
            raise ValueError("tail includes rows of an earlier call, which X does not have.")
        if tail is None:
            continue
        if state["tail"] is None or state["tail"] < tail:
            raise ValueError(
                f"tail was raised to {tail} after fit, and the earlier matrices are not "
                "kept: fit again."
            )
        if state["checksum"] != checksum(X, y):
            raise ValueError(
                "tail includes rows of an earlier call: partial_fit needs the same X "
                "and y, or tail=None."
            )


def checksum(X: Rows, y: np.ndarray) -> int:
    """Return a checksum of rows and labels."""
    parts = (X.data, X.indices, X.indptr) if is_sparse(X) else (X,)
    value = zlib.crc32("".join(map(str, y)).encode())
    for part in parts:
        value = zlib.crc32(np.ascontiguousarray(part).tobytes(), value)
    return value
