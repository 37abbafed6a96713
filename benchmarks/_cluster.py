"""A Dask cluster of real processes on this machine."""

from typing import Any


def started(n_workers: int, **options: Any) -> Any:
    """Return a client of so many worker processes, as `run_on` starts them."""
    from distributed import Client
    from likewise.distributed._run import local_cluster, wait_for_workers

    client = Client(local_cluster(n_workers, **options), direct_to_workers=True)
    wait_for_workers(client, n_workers)
    return client
