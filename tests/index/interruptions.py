"""Interruptions of the steps in which an index changes."""

from contextlib import contextmanager

import pytest


@contextmanager
def interrupted_after(owner, step):
    """Raise KeyboardInterrupt after every call of a method, until the end of the block."""
    method = getattr(owner, step)

    def interrupted(self, *args, **kwargs):
        method(self, *args, **kwargs)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, step, interrupted)
        yield
