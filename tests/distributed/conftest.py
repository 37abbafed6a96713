"""Rows in every kind of source that a cluster can read."""

import numpy as np
import pytest

import likewise as lw

pytest.importorskip("distributed", reason="needs the extra dask")


@pytest.fixture(scope="session")
def client(dask_client):
    return dask_client


@pytest.fixture(scope="session")
def digits():
    data = lw.datasets.load("digits")
    return data.X[:900].astype(np.float64), data.y[:900]


@pytest.fixture(scope="session")
def triplets(digits):
    return lw.supervision.LabelTriplets(digits[1]).draw(6000, np.random.default_rng(0))


@pytest.fixture(scope="session")
def folder(tmp_path_factory, digits, triplets):
    """Return a folder with the digits and their triplets as NPY and as several Parquet files."""
    X, y = digits
    folder = tmp_path_factory.mktemp("rows")
    np.save(folder / "rows.npy", X)
    np.save(folder / "triplets.npy", triplets)
    columns = {f"x{i:02}": X[:, i] for i in range(X.shape[1])}
    _write_pieces(folder / "rows", {**columns, "label": y}, 350)
    names = ("query", "closer", "farther")
    _write_pieces(folder / "triplets", dict(zip(names, triplets.T, strict=True)), 2500)
    return folder


def _write_pieces(folder, columns, size):
    import pyarrow
    import pyarrow.parquet

    folder.mkdir()
    n_rows = len(next(iter(columns.values())))
    for number, start in enumerate(range(0, n_rows, size)):
        piece = {name: values[start : start + size] for name, values in columns.items()}
        pyarrow.parquet.write_table(
            pyarrow.table(piece), folder / f"part-{number:03}.parquet", row_group_size=200
        )


@pytest.fixture(params=["memory", "mapped", "npy", "parquet", "dask", "csr blocks", "dask csr"])
def place(request):
    """Return where rows lie."""
    return request.param


@pytest.fixture
def laid_out(place, folder, digits):
    """Return the digits where they are asked for."""
    X = digits[0]
    if place == "memory":
        return X
    if place == "mapped":
        return np.load(folder / "rows.npy", mmap_mode="r")
    if place == "npy":
        return folder / "rows.npy"
    if place == "parquet":
        return lw.distributed.read_parquet(folder / "rows", [f"x{i:02}" for i in range(64)])
    from scipy.sparse import csr_array

    if place == "csr blocks":
        return [csr_array(X[:400]), csr_array(X[400:])]
    import dask.array

    blocks = dask.array.from_array(X, chunks=(300, 40))
    return blocks.rechunk((300, -1)).map_blocks(csr_array) if place == "dask csr" else blocks
