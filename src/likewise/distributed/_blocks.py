"""How rows are cut into blocks: by their size, the same way whoever asks."""

from likewise._threads import slices

_ROWS_IN_BLOCK = 16_384
_BYTES_IN_BLOCK = 32_000_000


def blocks_of(n_rows: int, bytes_a_row: int) -> list[slice]:
    """Cut rows into blocks, none of them too large."""
    return even_blocks(n_rows, min(_ROWS_IN_BLOCK, max(1, _BYTES_IN_BLOCK // max(1, bytes_a_row))))


def even_blocks(n_rows: int, most: int) -> list[slice]:
    """Cut into blocks of about the same size, of `most` rows at most."""
    n_blocks = max(1, -(-n_rows // most))
    return list(slices(n_rows, max(1, -(-n_rows // n_blocks))))
