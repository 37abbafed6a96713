"""AROMA and OASIS on several machines, by rounds of parameter mixing."""

from typing import Any, ClassVar

from likewise import learners
from likewise.distributed._rounds import MixedLearner


class AROMA(MixedLearner, learners.AROMA):
    """`likewise.AROMA` on the workers of a Dask cluster, or on threads.

    In every round the workers go on from a common start, each with a shard of triplets, by the
    ordinary updates. What they learned is added up: the precision that each gained counts as its
    weight, and the start is counted once.

    Parameters
    ----------
    covariance, r, init, normalize, dtype, n_triplets, early_stopping, \
validation_fraction, new_items, forget, negatives, hard_negatives, random_state, verbose
        As in `likewise.AROMA`.
    client : distributed.Client or address of a scheduler, optional
        Threads of this process by default.
    n_rounds : int, optional
        How often what was learned is put together. By default as often as gives every worker one
        shard in a round; then the result depends on how many workers there are.
    shard_size : int, default=50_000
        About how many triplets a worker learns from in a round.
    n_jobs : int, optional
        Threads, where there is no client.
    checkpoint : path, optional
        A file that holds what was learned until the last round, as a model that `likewise.load`
        reads.
    resume : bool, default=False
        Go on from the checkpoint, where there is one, with the same work.

    Attributes
    ----------
    rounds_ : list of dict
        For each round the ``triplets``, the ``seconds`` it took, and the seconds that workers
        spent, summed, on ``learning`` and ``merging``.

    Notes
    -----
    The doors take rows as `neighbors` does: arrays, CSR, memory-mapped arrays, Dask arrays, paths.
    Triplets may be an array, a frame, a Dask array, or the path of an .npy or Parquet file or of a
    folder of Parquet files with the columns of `likewise.supervision.TripletStream`.

    Examples
    --------
    >>> import numpy as np
    >>> import likewise as lw
    >>> digits = lw.datasets.load("digits")
    >>> triplets = lw.supervision.LabelTriplets(digits.y).draw(4000, np.random.default_rng(0))
    >>> aroma = lw.distributed.AROMA(n_rounds=2, shard_size=1000, n_jobs=2)
    >>> len(aroma.fit_triplets(triplets, digits.X).rounds_)
    2
    """

    _PLAIN: ClassVar = learners.AROMA

    def __init__(
        self,
        covariance: str = "diagonal",
        *,
        r: float = 1.0,
        init: Any = "auto",
        normalize: bool = True,
        dtype: str = "float32",
        n_triplets: int = 500_000,
        early_stopping: bool = True,
        validation_fraction: float = 0.2,
        new_items: str = "protect",
        forget: float = 0.0,
        negatives: str = "unjudged",
        hard_negatives: float = 0.0,
        random_state: Any = None,
        verbose: bool = False,
        client: Any = None,
        n_rounds: int | None = None,
        shard_size: int = 50_000,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        resume: bool = False,
    ) -> None:
        super().__init__(
            covariance,
            r=r,
            init=init,
            normalize=normalize,
            dtype=dtype,
            n_triplets=n_triplets,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            new_items=new_items,
            forget=forget,
            negatives=negatives,
            hard_negatives=hard_negatives,
            random_state=random_state,
            verbose=verbose,
        )
        self.client = client
        self.n_rounds = n_rounds
        self.shard_size = shard_size
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.resume = resume


class OASIS(MixedLearner, learners.OASIS):
    """`likewise.OASIS` on the workers of a Dask cluster, or on threads.

    As `likewise.distributed.AROMA`, but after a round W is the mean of what the shards have come
    to, each weighted by its number of updates.

    Parameters
    ----------
    C, init, normalize, dtype, n_triplets, early_stopping, validation_fraction, new_items, \
negatives, hard_negatives, random_state, verbose
        As in `likewise.OASIS`.
    client, n_rounds, shard_size, n_jobs, checkpoint, resume
        As in `likewise.distributed.AROMA`.

    Attributes
    ----------
    rounds_ : list of dict
        As in `likewise.distributed.AROMA`.
    """

    _PLAIN: ClassVar = learners.OASIS

    def __init__(
        self,
        C: float = 1.0,
        *,
        init: Any = "auto",
        normalize: bool = True,
        dtype: str = "float32",
        n_triplets: int = 500_000,
        early_stopping: bool = True,
        validation_fraction: float = 0.2,
        new_items: str = "protect",
        negatives: str = "unjudged",
        hard_negatives: float = 0.0,
        random_state: Any = None,
        verbose: bool = False,
        client: Any = None,
        n_rounds: int | None = None,
        shard_size: int = 50_000,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        resume: bool = False,
    ) -> None:
        super().__init__(
            C,
            init=init,
            normalize=normalize,
            dtype=dtype,
            n_triplets=n_triplets,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            new_items=new_items,
            negatives=negatives,
            hard_negatives=hard_negatives,
            random_state=random_state,
            verbose=verbose,
        )
        self.client = client
        self.n_rounds = n_rounds
        self.shard_size = shard_size
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.resume = resume
