"""A backend without a cluster: every task runs at once, in this process."""

from contextlib import contextmanager

from likewise._execution import use_backend
from likewise.distributed._rounds import Checkpoint
from likewise.distributed._run import ClusterRun


class _Result:
    def __init__(self, value):
        self.value = value


class InlineExecutor:
    client = None
    n_workers = 2

    def submit(self, function, *args, priority=0):
        return _Result(function(*map(_resolve, args)))

    def spread(self, function, *args, priority=0):
        return self.submit(function, *args, priority=priority)

    def submit_to_all(self, function, *args):
        return [self.submit(function, *args) for _ in range(self.n_workers)]

    def in_one_message(self, submit):
        return submit()

    def share(self, value):
        return _Result(value)

    def result(self, handle):
        return self.results([handle])[0]

    def results(self, handles):
        return [handle.value for handle in handles]


def _resolve(value):
    if isinstance(value, list):
        return [_resolve(part) for part in value]
    return value.value if isinstance(value, _Result) else value


@contextmanager
def run_inline(rounds=None, shard_size=None, checkpoint=None, resume=False):
    """Do what `run_on` does, without a cluster."""
    file = None if checkpoint is None else Checkpoint(checkpoint, resume)
    run = ClusterRun(InlineExecutor(), rounds, shard_size, file)
    with use_backend(run):
        yield run
