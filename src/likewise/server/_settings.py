"""The settings of a server."""

import os
import re
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path

LEARNERS = ("ridge", "aroma")
_MIN_TOKEN_LENGTH = 16
_MAX_WORKERS = 64
_MAX_WEIGHT = 1e6
_MAX_PREFIX = 200
_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)*")
PREFIX_RULE = (
    "must begin with / and not end with it, such as /sim, and consist of at most "
    f"{_MAX_PREFIX} letters, digits, single slashes and ._~-, without .."
)
_ENCODER = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class Settings:
    """The model, the address and the limits of a server.

    Parameters
    ----------
    model : path-like
        A model file.
    items : path-like, optional
        A table of items with a column ``id``. Not needed where the store contains the items.
    left, right, labels : path-like, optional
        Instead of items: the tables of a `likewise.Matcher`, which then asks whether two records
        are the same, and labeled pairs to begin with. Without `right`, it asks about duplicates.
    store : str, optional
        A file, or ``postgresql://...``; by default a file beside the model.
    schema : str, default="likewise"
        The schema of a PostgreSQL store; every model needs its own.
    host, port : str and int, default="127.0.0.1" and 8000
        A host that other machines can reach requires a token.
    token : str, optional
        The token that every request must send as ``Authorization: Bearer``.
    engine : str, default="auto"
        The search engine, as in `likewise.Index`.
    learner : {"ridge", "aroma"}, default="ridge"
        What learns from feedback; a change of the learner restarts it from the first feedback.
    r : float, default=10.0
        AROMA's r where it starts from a similarity. A large value keeps the first comparisons from
        changing the similarity too much (see ``python -m benchmarks teach``).
    image_shape : (int, int), optional
        The shape of items that are images.
    label : str, optional
        A column of the items that is shown and not compared.
    encoder : str, optional
        ``package.module:function``, a callable that turns a list of texts into vectors: of the
        items' texts, of searches and of feedback.
    text_column : str, default="text"
        The column of the items that the encoder encodes, and whose words count in hybrid search.
    hybrid : float, optional
        The initial weight of a lexical score (BM25), which is added to the similarity and is from 0
        to 1. Feedback changes the weight. By default there is no lexical score.
    canary : float, default=0.0
        The share of users, or of queries without a user, whose searches the newest candidate
        answers while it is better than the live version on held-out pages.
    workers : int, default=1
        Number of processes that answer requests; another one learns.
    max_bytes : int, default=4_000_000
        Size limit of a request body.
    feedback_rate : float, default=200.0
        Sustained limit of a client's feedback requests per second, in each worker.
    timeout : float, default=30.0
        Seconds within which the response to a request must begin.
    root_path : str, default=""
        The path under which a proxy serves this server, such as ``/sim``.
    forwarded_allow_ips : str, default=""
        The addresses and networks of trusted proxies, separated by commas. Their header
        ``X-Forwarded-Prefix`` takes the place of `root_path`; no other forwarded header is read.
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
    encoder: str | None = None
    text_column: str = "text"
    hybrid: float | None = None
    canary: float = 0.0
    workers: int = 1
    max_bytes: int = 4_000_000
    feedback_rate: float = 200.0
    timeout: float = 30.0
    root_path: str = ""
    forwarded_allow_ips: str = ""
    left: Path | None = None
    right: Path | None = None
    labels: Path | None = None

    def __post_init__(self) -> None:
        for name in ("model", "items", "left", "right", "labels"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, Path(getattr(self, name)))
        self._check_tables()
        if not 0 <= self.port < 65_536:
            raise ValueError(f"port must be from 0 to 65535, but {self.port} was given.")
        if self.token is not None and len(self.token) < _MIN_TOKEN_LENGTH:
            raise ValueError(
                f"token must have at least {_MIN_TOKEN_LENGTH} characters, but {len(self.token)} "
                "were given."
            )
        if not self.is_local and self.token is None:
            raise ValueError(
                f"token is needed, because other machines can reach the host {self.host}: give "
                "--token, or set LIKEWISE_TOKEN."
            )
        if self.learner not in LEARNERS:
            raise ValueError(
                f"learner must be {' or '.join(LEARNERS)}, but {self.learner!r} was given."
            )
        if self.hybrid is not None and not 0 <= self.hybrid <= _MAX_WEIGHT:
            raise ValueError(
                f"hybrid must be from 0 to {_MAX_WEIGHT:g}, but {self.hybrid} was given."
            )
        if not 0 <= self.canary < 1:
            raise ValueError(f"canary must be from 0 to below 1, but {self.canary} was given.")
        if not 1 <= self.workers <= _MAX_WORKERS:
            raise ValueError(
                f"workers must be from 1 to {_MAX_WORKERS}, but {self.workers} was given."
            )
        if self.encoder is not None and _ENCODER.fullmatch(self.encoder) is None:
            raise ValueError(
                "encoder must be a name such as package.module:function, but "
                f"{self.encoder!r} was given."
            )
        if not is_prefix(self.root_path):
            raise ValueError(f"root_path {PREFIX_RULE}, but {self.root_path!r} was given.")
        _ = self.trusted_proxies  # raises an error where one is wrong
        for name in ("max_bytes", "feedback_rate", "timeout", "r"):
            if not getattr(self, name) > 0:
                raise ValueError(
                    f"{name} must be greater than 0, but {getattr(self, name)} was given."
                )

    def _check_tables(self) -> None:
        """Check the tables of a matcher, which excludes what belongs to items."""
        if self.left is None:
            for name in ("right", "labels"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} needs left, the table of a matcher.")
            return
        if self.items is not None or self.workers > 1:
            other = "items" if self.items is not None else "workers"
            raise ValueError(f"left is the table of a matcher, which has no {other}.")
        for name in ("left", "right", "labels"):
            path = getattr(self, name)
            if path is not None and not path.exists():
                raise ValueError(f"{name} is {path}, but there is no such file.")

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
    def trusted_proxies(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The networks whose ``X-Forwarded-Prefix`` is read; an address is a network of one."""
        if not self.forwarded_allow_ips.strip():
            return ()
        parts = [part.strip() for part in self.forwarded_allow_ips.split(",")]
        return tuple(_parse_network(part) for part in parts)

    @property
    def location(self) -> str:
        """The location of the store."""
        if self.store is not None:
            return self.store
        model = Path(os.path.realpath(self.model))
        return str(model.with_name(f"{model.stem}.store.sqlite"))


def is_prefix(path: str) -> bool:
    """Tell whether a path can be the prefix of all paths of a server; the empty one can."""
    matches = _PREFIX.fullmatch(path) is not None
    return matches and ".." not in path and len(path) <= _MAX_PREFIX


def _parse_network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError:
        raise ValueError(
            "forwarded_allow_ips must be addresses and networks separated by commas, such as "
            f"127.0.0.1,10.0.0.0/8, but {text!r} was given{_network_hint(text)}."
        ) from None


def _network_hint(text: str) -> str:
    """Name the network of an address with a mask, such as 10.1.2.3/8."""
    try:
        return f"; the network is {ip_network(text, strict=False)}"
    except ValueError:
        return ""
