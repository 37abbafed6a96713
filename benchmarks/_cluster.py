"""A Dask cluster of real processes on this machine."""

from typing import Any


def started(n_workers: int, **options: Any) -> Any:
    """Return a client of so many worker processes, which end with this one."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        **options,
    )
    client = Client(cluster)
    client.wait_for_workers(n_workers)
    return client
