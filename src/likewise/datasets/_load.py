"""One door to every labelled set."""

from collections.abc import Callable
from functools import partial

from likewise._validation import check_choice
from likewise.datasets._balance import balance
from likewise.datasets._bundled import BUNDLED, load_bundled
from likewise.datasets._catalogue import names
from likewise.datasets._fetched import fetch
from likewise.datasets._records import Dataset
from likewise.datasets._synthetic import blobs_and_line, circle

_MADE: dict[str, Callable[[], Dataset]] = {
    "balance": balance,
    # By name they are always the same; the functions draw others.
    "circle": partial(circle, random_state=0),
    "blobs_and_line": partial(blobs_and_line, random_state=0),
}


def load(name: str) -> Dataset:
    """Open a labelled data set by name.

    Parameters
    ----------
    name : str
        One of `names()`. What is fetched is first looked for in the folder that the environment
        variable ``LIKEWISE_DATA`` names, then in scikit-learn's cache, then downloaded.

    Returns
    -------
    Dataset
        With `X` and `y`, and `X_test` and `y_test` where the set has a fixed split. A few sets
        depend on their source: `letter` from OpenML is in another order and comes without its
        split, and an ``isolet.npz`` may hold fewer speakers than OpenML's 7797 rows.

    Raises
    ------
    ValueError
        For a name that is not known, and for a file in the folder that cannot be read.
    DatasetUnavailableError
        Where the set is neither in the folder nor to be downloaded; the message says what to do.

    Examples
    --------
    >>> from likewise.datasets import load
    >>> wine = load("wine")
    >>> wine.X.shape, wine.target_names
    ((178, 13), ('class_0', 'class_1', 'class_2'))
    """
    if isinstance(name, str) and name in names("retrieval"):
        raise ValueError(f"{name} is a collection to search in: load_retrieval({name!r}) opens it.")
    check_choice(name, "name", names())
    if name in BUNDLED:
        return load_bundled(name)
    return _MADE[name]() if name in _MADE else fetch(name)
