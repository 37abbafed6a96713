"""From a plain estimator to its namesake here."""

from typing import Any

from sklearn.base import clone

from likewise.distributed._classify import SimilarityClassifier
from likewise.distributed._client import HasClient
from likewise.distributed._landmarks import LandmarkFeatures
from likewise.distributed._lmnn import LMNN
from likewise.distributed._online import AROMA, OASIS

_NAMESAKES: dict[type, type[HasClient]] = {
    kind._PLAIN: kind for kind in (AROMA, LMNN, OASIS, LandmarkFeatures, SimilarityClassifier)
}


def spread(estimator: Any, client: Any, **settings: Any) -> Any:
    """Return an estimator, not fitted, that does the same on a cluster.

    Parameters
    ----------
    estimator : AROMA, OASIS, LMNN, LandmarkFeatures or SimilarityClassifier
    client : distributed.Client or address of a scheduler
    **settings
        What else the namesake takes, such as `n_rounds`.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.distributed.spread(lw.AROMA(r=0.1), "tcp://scheduler:8786", n_rounds=10)
    AROMA(client='tcp://scheduler:8786', n_rounds=10, r=0.1)
    """
    kind = _NAMESAKES.get(type(estimator))
    if kind is None:
        raise TypeError(
            f"estimator must be one of {', '.join(sorted(k.__name__ for k in _NAMESAKES))}, but "
            f"{estimator!r} was given."
        )
    given = clone(estimator).get_params(deep=False)
    return kind(**{**given, "client": client, **settings})


def can_be_spread(estimator: Any) -> bool:
    """Tell whether there is a namesake."""
    return type(estimator) in _NAMESAKES
