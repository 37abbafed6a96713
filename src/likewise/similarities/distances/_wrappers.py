"""Dissimilarities made of others: in a few levels, or by rank."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from likewise._validation import check_whole_number, n_rows, take
from likewise.similarities.distances._base import Dissimilarity, NamePair
from likewise.similarities.distances._convert import as_dissimilarity

_MOST_FOR_LEVELS = 1_000


def quantize(dissimilarity: Any, levels: Any) -> "QuantizedDistance":
    """Know of a dissimilarity only in which of a few levels it lies.

    Parameters
    ----------
    dissimilarity : as in `as_dissimilarity`
    levels : int or array
        How many levels there are, each with as many of the training objects' dissimilarities to
        each other; or their inner bounds, ascending.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.distances.quantize("euclidean", [1.0, 2.0]).pairwise([[0.0]], [[0.5], [1.5], [9.0]])
    array([[0., 1., 2.]])
    """
    base = as_dissimilarity(dissimilarity)
    if np.ndim(levels) == 0:
        return QuantizedDistance(base, check_whole_number(levels, "levels", minimum=2))
    bounds = np.asarray(levels)
    return QuantizedDistance(base, bounds.size + 1, bounds)


def ranked(dissimilarity: Any) -> "RankedDistance":
    """Know of a dissimilarity only the order in which it puts things.

    d(x, p) becomes the share of a sample of training objects that are nearer to x than p is, ties
    half. It does not change under any increasing transform of d, even another for each x.

    Parameters
    ----------
    dissimilarity : as in `as_dissimilarity`

    Examples
    --------
    >>> import likewise as lw
    >>> near = lw.distances.ranked("euclidean").fitted([[0.0], [1.0], [2.0], [3.0]])
    >>> near.pairwise([[0.0]], [[1.0], [2.5]])
    array([[0.375, 0.75 ]])
    """
    return RankedDistance(as_dissimilarity(dissimilarity))


@dataclass(frozen=True, eq=False)
class QuantizedDistance(Dissimilarity):
    """What `quantize` returns; `bounds` are known after `fitted`, or were given."""

    base: Dissimilarity
    n_levels: int
    bounds: np.ndarray | None = None

    def __post_init__(self) -> None:
        _check_base(self.base)
        check_whole_number(self.n_levels, "levels", minimum=2)
        if self.bounds is None:
            return
        bounds = np.array(self.bounds, dtype=np.float64)
        if bounds.shape != (self.n_levels - 1,) or not (np.diff(bounds) >= 0).all():
            raise ValueError(
                f"levels must be a whole number or ascending bounds, but {self.bounds} was given."
            )
        bounds.flags.writeable = False
        object.__setattr__(self, "bounds", bounds)

    @property
    def takes(self) -> Literal["rows", "objects", "matrix"]:
        """What the dissimilarity beneath takes."""
        return self.base.takes

    @property
    def parallel(self) -> bool:
        """Whether the dissimilarity beneath is."""
        return self.base.parallel

    def check(self, X: Any, name: str = "X") -> Any:
        """Return what the dissimilarity beneath compares."""
        return self.base.check(X, name)

    def check_items(self, X: Any, name: str = "X") -> Any:
        """Return what the dissimilarity beneath compares."""
        return self.base.check_items(X, name)

    def fitted(self, X: Any) -> "QuantizedDistance":
        """Return this with levels as full as each other, from up to 1,000 of the objects."""
        base = self.base.fitted(X)
        if self.bounds is not None:
            return replace(self, base=base)
        X = base.check(X)
        some = _spread(n_rows(X), _MOST_FOR_LEVELS)
        items = some if base.takes == "matrix" else base.check_items(take(X, some))
        left, right = base.prepare(take(X, some)), base.prepare_items(items)
        found = base.between(left, right, items=some)
        of_others = found[~np.eye(len(some), dtype=bool)] if len(some) > 1 else found
        bounds = np.quantile(of_others, np.arange(1, self.n_levels) / self.n_levels)
        return replace(self, base=base, bounds=bounds)

    def prepare(self, X: Any) -> Any:
        """Prepare for the dissimilarity beneath."""
        if self.bounds is None:
            raise ValueError(
                f"where the {self.n_levels} levels lie is not known: give quantize their bounds, "
                "or call fitted(X) with training objects."
            )
        return self.base.prepare(X)

    def prepare_items(self, X: Any) -> Any:
        """Prepare for the dissimilarity beneath."""
        return self.base.prepare_items(X)

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Return numbers of levels."""
        values = self.base.block(left, right, name_pair)
        levels = np.searchsorted(np.asarray(self.bounds), values, side="right")
        return np.where(np.isfinite(values) & (values >= 0), levels, values)


@dataclass(frozen=True, eq=False, repr=False)
class RankedDistance(Dissimilarity):
    """What `ranked` returns; `sample` is known after `fitted`."""

    base: Dissimilarity
    sample: Any = None

    def __post_init__(self) -> None:
        _check_base(self.base)

    def __repr__(self) -> str:
        return f"RankedDistance({self.base!r})"

    @property
    def takes(self) -> Literal["rows", "objects", "matrix"]:
        """What the dissimilarity beneath takes."""
        return self.base.takes

    @property
    def parallel(self) -> bool:
        """Whether the dissimilarity beneath is."""
        return self.base.parallel

    def check(self, X: Any, name: str = "X") -> Any:
        """Return what the dissimilarity beneath compares."""
        return self.base.check(X, name)

    def check_items(self, X: Any, name: str = "X") -> Any:
        """Return what the dissimilarity beneath compares."""
        return self.base.check_items(X, name)

    def fitted(self, X: Any) -> "RankedDistance":
        """Return this with a sample of up to 200 of the training objects to rank among."""
        base = self.base.fitted(X)
        X = base.check(X)
        some = _spread(n_rows(X), _MOST_IN_SAMPLE)
        return RankedDistance(base, some if base.takes == "matrix" else take(X, some))

    def prepare(self, X: Any) -> "_WithReference":
        """Prepare for the dissimilarity beneath, and compare with the sample."""
        if self.sample is None:
            raise ValueError(
                "what to rank among is not known: call fitted(X) with training objects."
            )
        rows = self.base.prepare(X)
        sample = self.base.prepare_items(self.base.check_items(self.sample, "sample"))
        return _WithReference(rows, np.sort(self.base.between(rows, sample), axis=1))

    def prepare_items(self, X: Any) -> Any:
        """Prepare for the dissimilarity beneath."""
        return self.base.prepare_items(X)

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Return shares of the sample that are nearer."""
        values = self.base.block(left.rows, right, name_pair)
        shares = np.empty_like(values)
        for i, reference in enumerate(left.reference):
            nearer = np.searchsorted(reference, values[i], side="left")
            not_farther = np.searchsorted(reference, values[i], side="right")
            shares[i] = (nearer + not_farther) / (2 * len(reference))
        return np.where(np.isfinite(values) & (values >= 0), shares, values)


_MOST_IN_SAMPLE = 200


@dataclass(frozen=True, eq=False)
class _WithReference:
    """Prepared rows, and the dissimilarities of each to the sample in ascending order."""

    rows: Any
    reference: np.ndarray

    def __len__(self) -> int:
        return len(self.reference)

    def __getitem__(self, which: Any) -> "_WithReference":
        rows = self.rows[which] if isinstance(which, slice) else take(self.rows, which)
        return _WithReference(rows, self.reference[which])


def _check_base(base: Any) -> None:
    if not isinstance(base, Dissimilarity):
        raise TypeError(f"base must be a dissimilarity, but {base!r} was given.")


def _spread(n: int, most: int) -> np.ndarray:
    """Return up to `most` of the numbers below n, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
