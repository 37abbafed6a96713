"""Where work runs: in this process, or on the backend that `likewise.distributed.run_on` sets.

Code that can use a cluster calls `current_backend`; None stands for this process. Functions that a
backend calls on its workers are module-level functions.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np

from likewise._validation import (
    Rows,
    check_class_targets,
    check_rows,
    check_same_length,
    validate_data,
)

_BACKEND: ContextVar["Backend | None"] = ContextVar("likewise_backend", default=None)


class DistributedRows(Protocol):
    """Rows that workers read; `rows[index]` brings a few of them into this process."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any) -> Rows: ...

    def detach(self) -> Any:
        """Return an array for rows in memory, else their source: neither needs the cluster."""


class Backend(Protocol):
    """Runs the parts of estimators and searches that can run on a cluster."""

    def is_remote(self, rows: Any) -> bool:
        """Tell whether rows are a path, a Dask array or the like, and not in memory."""

    def rows(self, rows: Any, name: str, n_features: int | None = None) -> DistributedRows:
        """Return checked rows in the form in which workers read them."""

    def labels(self, y: Any, name: str) -> np.ndarray:
        """Return labels as an array in memory."""

    def share(self, value: Any) -> Any:
        """Return a handle to a value, which every worker can read."""

    def neighbors(self, similarity: Any, Q: Any, P: Any, k: int, *, exclude_self: bool) -> Any:
        """Return what `Similarity.neighbors` returns."""

    def search(
        self,
        similarity: Any,
        queries: DistributedRows,
        items: DistributedRows,
        k: int,
        function: Callable[..., Any],
        arguments: Callable[[slice], tuple[Any, ...]],
        *,
        exclude_self: bool = False,
        block_size: int | None = None,
    ) -> Iterator[Any]:
        """Yield ``function(matches, *arguments(block))`` for each block of queries, in order."""

    def map_rows(
        self, function: Callable[..., Any], rows: DistributedRows, *shared: Any
    ) -> Iterator[Any]:
        """Yield ``function(block of rows, *shared)`` for each block, in order."""

    def map_tasks(
        self, function: Callable[..., Any], tasks: Iterable[Any], *shared: Any
    ) -> Iterator[Any]:
        """Yield ``function(task, *shared)`` for each task, in order; `shared` is sent once."""

    def transform(
        self,
        function: Callable[..., Any],
        rows: DistributedRows,
        fitted: Any,
        n_columns: int,
        path: Any,
    ) -> Any:
        """Return ``function(rows, fitted)``, computed by blocks and perhaps written to a file."""

    def best_of_class(self, similarity: Any, rows: Any, y: np.ndarray, k: int) -> Any:
        """Return the `k` nearest rows of the same class, as `supervision.best_of_class` does."""

    def initial_map(
        self, X: Any, labels: np.ndarray | None, init: Any, n_components: int | None
    ) -> np.ndarray:
        """Return the map that LMNN starts from."""

    def large_margin_problem(self, problem: Any) -> tuple[Any, Any, np.ndarray]:
        """Return LMNN's margins, its search for impostors and the scale of each column."""

    def triplets(self, triplets: Any, queries: Any, items: Any, weights: Any) -> Any:
        """Return checked triplets in the form in which workers read them."""

    def trainer(self, learner: Any, rule: Any, queries: Any, items: Any) -> Any:
        """Return what applies triplets to the state of an online learner, in rounds."""

    def resumed_validation(self) -> dict[str, Any] | None:
        """Return the result of validation that a checkpoint holds, where a run resumes from it."""


def current_backend() -> Backend | None:
    """Return the backend of the enclosing `use_backend` block; None for this process."""
    return _BACKEND.get()


@contextmanager
def use_backend(backend: Backend | None) -> Iterator[None]:
    """Use a backend inside this block; None for this process."""
    token = _BACKEND.set(backend)
    try:
        yield
    finally:
        _BACKEND.reset(token)


def call_without_backend(X: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``function(X, *arguments)``, computed in the process that calls it."""
    with use_backend(None):
        return function(X, *arguments)


def validate_rows(estimator: Any, X: Any, *, reset: bool = True, **options: Any) -> Any:
    """Return rows checked by scikit-learn's `validate_data`; with a backend, `DistributedRows`."""
    backend = current_backend()
    if backend is None or not backend.is_remote(X):
        X = validate_data(estimator, X, reset=reset, **options)
        return X if backend is None else backend.rows(X, "X")
    rows = backend.rows(X, "X")
    if reset:
        estimator.n_features_in_ = rows.shape[1]
    elif rows.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {rows.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return rows


def validate_labeled(
    estimator: Any, X: Any, y: Any, *, reset: bool = True, **options: Any
) -> tuple[Any, np.ndarray]:
    """Return rows as `validate_rows` does, and one label for each."""
    backend = current_backend()
    if backend is None or not backend.is_remote(X):
        X, y = validate_data(estimator, X, y, reset=reset, **options)
        X = check_rows(X, "X", finite=False)  # CSR in order of columns
        rows = X if backend is None else backend.rows(X, "X")
    else:
        rows, y = validate_rows(estimator, X, reset=reset), backend.labels(y, "y")
        check_same_length(rows, "X", y, "y")
    check_class_targets(y, estimator)
    return rows, y
