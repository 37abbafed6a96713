"""What all estimators with a client share: how it is kept, copied and stored."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from sklearn.base import clone

from likewise.distributed._executor import Executor, connected


class HasClient:
    """A plain estimator, and parameters that say where it runs.

    A subclass names the plain class and the parameters that this one has besides.
    """

    client: Any
    n_jobs: int | None

    _PLAIN: ClassVar[type]
    _OURS: ClassVar[tuple[str, ...]] = ("client",)

    @contextmanager
    def _connected(self) -> Iterator[Executor]:
        """Have `_executor` inside this block."""
        with connected(self.client, self.n_jobs) as executor:
            self._executor = executor
            try:
                yield executor
            finally:
                del self._executor

    def _plain(self) -> Any:
        """Return the plain estimator with the same parameters, not fitted."""
        given = self.get_params(deep=False)  # type: ignore[attr-defined]
        return self._PLAIN(**{key: v for key, v in given.items() if key not in self._OURS})

    def _state_for_file(self) -> Any:
        return self._fitted_plain()

    def _fitted_plain(self) -> Any:
        """Return the plain estimator with what was learned: where it was learned is no data."""
        stored = self._plain()
        for name, value in vars(self).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(stored, name, value)
        return stored

    def __sklearn_clone__(self) -> Any:
        given = self.get_params(deep=False)  # type: ignore[attr-defined]
        ours = {"client": given.pop("client")}  # a connection is not copied
        return type(self)(**ours, **{key: clone(v, safe=False) for key, v in given.items()})

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        client = state.get("client")
        if client is not None and hasattr(client, "scheduler"):
            state["client"] = client.scheduler.address  # elsewhere it is opened anew
        state.pop("_executor", None)
        return state
