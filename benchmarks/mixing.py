"""The cost of splitting triplets into shards: precision, and work.

A million triplets of 20 newsgroups are learned from by one worker, in rounds of several shards.
Precision is that of posts held out of those for training: the default of `shard_size` was chosen
by it. Shards learn one after the other, so that seconds are all the work there is.
`--repeats 1` takes 10 minutes.
"""

from typing import Any

import numpy as np

from benchmarks._cluster import started
from benchmarks._contender import Contender
from benchmarks._shared import newsgroups

_TRIPLETS = 1_000_000

CASES = [{"seed": seed, "threads": 1} for seed in range(3)]


def data(case: dict[str, Any]) -> Any:
    """Return posts, triplets of them, and held-out posts with labels."""
    from likewise.supervision import LabelTriplets

    X, y, _, _ = newsgroups()
    rng = np.random.default_rng(case["seed"])
    held = np.isin(np.arange(len(y)), rng.choice(len(y), len(y) // 5, replace=False))
    triplets = LabelTriplets(y[~held]).draw(_TRIPLETS, rng)
    return X[~held], triplets, X[held], y[held]


def _plain(name: str) -> Any:
    def prepare(case: dict[str, Any], data: Any) -> Any:
        import likewise

        learner = getattr(likewise, name)
        learner().fit_triplets(data[1][:100], data[0])
        return lambda: learner().fit_triplets(data[1], data[0])

    return prepare


def _cut(name: str, n_shards: int, shard_size: int) -> Any:
    def prepare(case: dict[str, Any], data: Any) -> Any:
        import likewise

        client, learner = started(1), getattr(likewise, name)
        n_rounds = round(_TRIPLETS / (n_shards * shard_size))

        def fit(n_triplets: int, *cut: int) -> Any:
            with likewise.distributed.run_on(client, *cut):
                return learner().fit_triplets(data[1][:n_triplets], data[0])

        fit(200, 2, 50)
        return lambda: fit(len(data[1]), n_rounds, shard_size)

    return prepare


CONTENDERS = [
    Contender("likewise", _plain("AROMA"), slow=True),
    *(
        Contender(f"{n_shards} × {shard_size}", _cut("AROMA", n_shards, shard_size), slow=True)
        for n_shards, shard_size in (
            (2, 50_000),
            (2, 125_000),
            (2, 250_000),
            (8, 12_500),
            (8, 31_250),
            (64, 1_562),
            (64, 3_906),
        )
    ),
    Contender("OASIS", _plain("OASIS"), slow=True),
    Contender("OASIS, 2 × 125000", _cut("OASIS", 2, 125_000), slow=True),
    Contender("OASIS, 8 × 31250", _cut("OASIS", 8, 31_250), slow=True),
    Contender("OASIS, 64 × 3906", _cut("OASIS", 64, 3_906), slow=True),
]


def quality(case: dict[str, Any], data: Any, result: Any) -> dict[str, float]:
    """Return the precision on held-out posts, and the number of updates of W."""
    return {"map": result.score(data[2], data[3]), "updates": result.n_updates_}
