"""What the worker processes of a server share beside the store: a few bytes and a pipe."""

import mmap
import os
import struct
from contextlib import suppress
from secrets import randbits

_LAYOUT = struct.Struct("=QQ")  # the token of the last change, and whether the learner runs
_CHANGE, _LEARNER = 0, 8


class SharedMemory:
    """A few bytes of a file that several processes map.

    Parameters
    ----------
    file : int
        Descriptor of a file, of any size if it is new.
    """

    def __init__(self, file: int) -> None:
        if os.fstat(file).st_size < _LAYOUT.size:
            os.ftruncate(file, _LAYOUT.size)
        self._bytes = mmap.mmap(file, _LAYOUT.size)

    @property
    def change(self) -> int:
        """A token that differs from earlier ones when a worker has changed the store."""
        return self._get(_CHANGE)

    def announce_change(self) -> None:
        """Tell the other workers that items or the live version have changed."""
        # A random token, because two processes that count at once could count to the same number.
        struct.pack_into("=Q", self._bytes, _CHANGE, randbits(64))

    @property
    def learner_runs(self) -> bool:
        """Whether the learning process is running."""
        return bool(self._get(_LEARNER))

    @learner_runs.setter
    def learner_runs(self, runs: bool) -> None:
        struct.pack_into("=Q", self._bytes, _LEARNER, int(runs))

    def _get(self, place: int) -> int:
        return int(struct.unpack_from("=Q", self._bytes, place)[0])


class RemoteLearning:
    """The learning process of the supervisor, as a worker sees it."""

    def __init__(self, memory: SharedMemory, pipe: int) -> None:
        self._memory, self._pipe = memory, pipe

    def start(self) -> None:
        """Do nothing: the supervisor starts it."""

    def stop(self) -> None:
        """Do nothing: the supervisor stops it."""

    def wake(self) -> None:
        """Tell the learner that there is new feedback."""
        # The pipe may be full of earlier lines.
        with suppress(BrokenPipeError, BlockingIOError):
            os.write(self._pipe, b"wake\n")

    @property
    def running(self) -> bool:
        """Whether the process is running."""
        return self._memory.learner_runs
