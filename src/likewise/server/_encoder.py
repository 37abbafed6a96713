"""Vectors of texts by a callable that the operator names on the command line."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from importlib import import_module
from threading import Lock
from typing import Any

import numpy as np

from likewise._threads import slices
from likewise.server._tracing import span
from likewise.server.api._schemas import MAX_CHARACTERS, MAX_FEATURES, MAX_NUMBER

_LOG = logging.getLogger("likewise.server")
_PROBE = "A text by which an encoder is recognized."
_MAX_TEXTS = 256  # in one call
_MAX_CACHED = 1_024  # texts that were searched, which feedback often follows
_MAX_CHANGE = 0.01  # relative; other hardware changes the last digits of a vector


class EncoderFailed(ValueError):
    """The encoder raised an error, or returned something other than one vector for each text."""


class Encoder:
    """Encodes texts, one call at a time.

    Parameters
    ----------
    function : callable
        From a list of texts to an array of shape (n_texts, n_features).

    Attributes
    ----------
    probe : float32 array of shape (n_features,)
        The vector of a fixed text.
    """

    def __init__(self, function: Callable[[list[str]], Any]) -> None:
        self._function, self._lock = function, Lock()
        self._cached: OrderedDict[str, np.ndarray] = OrderedDict()
        self._width: int | None = None
        self.probe = self.rows([_PROBE])[0]
        self._width = self.width

    @classmethod
    def from_name(cls, name: str) -> "Encoder":
        """Import a callable by its name, ``package.module:function``."""
        module, _, attributes = name.partition(":")
        try:
            function: Any = import_module(module)
            for attribute in attributes.split("."):
                function = getattr(function, attribute)
        except Exception as error:  # the module is the operator's own
            raise ValueError(
                f"encoder {name!r} cannot be imported: {type(error).__name__}: {error}."
            ) from error
        if not callable(function):
            raise ValueError(
                f"encoder must name a callable, but {name!r} is a {type(function).__name__}."
            )
        return cls(function)

    @property
    def width(self) -> int:
        """Number of features of a vector."""
        return len(self.probe)

    def rows(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of texts; of longer ones the first 20,000 characters count."""
        batches = [
            self._call([text[:MAX_CHARACTERS] for text in texts[batch]])
            for batch in slices(len(texts), _MAX_TEXTS)
        ]
        return np.concatenate(batches) if batches else np.zeros((0, self.width), np.float32)

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of queries, the latest of which are cached."""
        with self._lock:
            known = {text: self._cached[text] for text in texts if text in self._cached}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known |= zip(new, self.rows(new), strict=True)
        with self._lock:
            for text in texts:
                self._cached[text] = known[text]
                self._cached.move_to_end(text)
            while len(self._cached) > _MAX_CACHED:
                self._cached.popitem(last=False)
        return np.array([known[text] for text in texts], dtype=np.float32)

    def is_same(self, probe: Sequence[float]) -> bool:
        """Tell whether an encoder that returned this probe returns the same vectors."""
        other = np.asarray(probe, dtype=np.float32)
        if other.shape != self.probe.shape:
            return False
        change = np.linalg.norm(other - self.probe)
        return bool(change <= _MAX_CHANGE * np.linalg.norm(self.probe))

    def _call(self, texts: list[str]) -> np.ndarray:
        try:
            with span("encode", texts=len(texts)), self._lock:
                vectors = np.asarray(self._function(texts), dtype=np.float32)
        except Exception as error:
            _LOG.exception("the encoder failed")
            raise EncoderFailed(
                f"the encoder failed with {type(error).__name__}; the server's log has the details."
            ) from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise EncoderFailed(
                f"the encoder must return an array of shape ({len(texts)}, n_features) for "
                f"{len(texts)} texts, but its shape was {vectors.shape}."
            )
        if not 1 <= vectors.shape[1] <= MAX_FEATURES:
            raise EncoderFailed(
                f"the encoder must return 1 to {MAX_FEATURES} features, but it returned "
                f"{vectors.shape[1]}."
            )
        if self._width is not None and vectors.shape[1] != self._width:
            raise EncoderFailed(
                f"the encoder returned vectors of {vectors.shape[1]} features, but those before "
                f"had {self._width}."
            )
        if not np.isfinite(vectors).all() or np.abs(vectors).max() > MAX_NUMBER:
            raise EncoderFailed(
                f"the encoder returned a number that is missing or larger than {MAX_NUMBER:g}."
            )
        return vectors
