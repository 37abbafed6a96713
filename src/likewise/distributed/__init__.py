"""Beyond one machine: estimators and searches on the workers of a Dask cluster."""

from likewise.distributed._parquet import read_parquet
from likewise.distributed._run import ClusterRun, run_on

__all__ = ["ClusterRun", "read_parquet", "run_on"]
