"""What a server is told."""

import os
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

LEARNERS = ("ridge", "aroma")
_SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Settings:
    """What to serve, where, and within which limits.

    Parameters
    ----------
    model : path-like
        A model file.
    items : path-like, optional
        A table with a column ``id``; its rows are the items. Not needed where the store has them.
    store : str, optional
        A file, or ``postgresql://...``; by default a file beside the model.
    schema : str, default="likewise"
        Of a PostgreSQL store: one for each model.
    host, port : str and int, default="127.0.0.1" and 8000
        Any host but this machine itself needs a token.
    token : str, optional
        What every request must bring, as ``Authorization: Bearer``.
    engine : str, default="auto"
        What searches: as in `likewise.Index`.
    learner : {"ridge", "aroma"}, default="ridge"
        What learns from feedback; another one than before begins again with the first feedback.
    r : float, default=10.0
        AROMA's, where learning starts afresh: a few comparisons should improve what is there, and
        not turn it upside down (see ``python -m benchmarks teach``).
    image_shape : (int, int), optional
        Where the numbers of the items are pixels.
    label : str, optional
        A column of the items that is shown, and not compared.
    most_bytes : int, default=4_000_000
        Of the body of a request.
    feedback_rate : float, default=200.0
        Requests with feedback a second that a client may send, for long.
    timeout : float, default=30.0
        Seconds a request may take.
    """

    model: Path
    items: Path | None = None
    store: str | None = None
    schema: str = "likewise"
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    engine: str = "auto"
    learner: str = "ridge"
    r: float = 10.0
    image_shape: tuple[int, int] | None = None
    label: str | None = None
    most_bytes: int = 4_000_000
    feedback_rate: float = 200.0
    timeout: float = 30.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", Path(self.model))
        if self.items is not None:
            object.__setattr__(self, "items", Path(self.items))
        if not 0 <= self.port < 65_536:
            raise ValueError(f"port must be from 0 to 65535, but {self.port} was given.")
        if self.token is not None and len(self.token) < _SHORTEST_TOKEN:
            raise ValueError(
                f"token must have at least {_SHORTEST_TOKEN} characters, but {len(self.token)} "
                "were given."
            )
        if not self.is_local and self.token is None:
            raise ValueError(
                f"host {self.host} can be reached from elsewhere, so a token is needed: give "
                "--token, or LIKEWISE_TOKEN in the environment."
            )
        if self.learner not in LEARNERS:
            raise ValueError(
                f"learner must be {' or '.join(LEARNERS)}, but {self.learner!r} was given."
            )
        for name in ("most_bytes", "feedback_rate", "timeout", "r"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, but {getattr(self, name)} was given.")

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def place(self) -> str:
        """Where the store is."""
        if self.store is not None:
            return self.store
        model = Path(os.path.realpath(self.model))
        return str(model.with_name(f"{model.stem}.store.sqlite"))
