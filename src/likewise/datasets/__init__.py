"""Data sets: bundled, made by a rule or at random, or fetched when they are first asked for.

`load` opens a labelled set by name, `load_retrieval` a collection of documents and queries;
`names` and `catalogue` say what there is without loading any of it.

A fetched set is first looked for in the folder that the environment variable ``LIKEWISE_DATA``
names, as ``<name>.npz`` (``iris.npz`` for `iris_uci`), and only then downloaded, through
scikit-learn, into scikit-learn's own cache. Sets that scikit-learn bundles, and those made by a
rule, never look into the folder, so that they are the same everywhere.

Notes
-----
What an ``.npz`` file in the folder may hold; nothing in it is ever unpickled:

===================================  ===========================================================
``X``, ``y``                         a table and its labels; integers, or strings
``data, indices, indptr, shape``     instead of ``X``: a sparse table in CSR form
``frames``, ``offsets``              instead of ``X``: series i is frames[offsets[i]:offsets[i+1]]
``X_test``, ``y_test``               the test part of a fixed split (or ``frames_test``, ...)
``n_train``                          or the split as a number: the first so many rows train
``is_train``                         or the split as a boolean for each row
``feature_names``, ``target_names``  names of the columns (or ``vocab``) and of the labels 0, 1, ...
anything else                        is handed on in ``Dataset.extra``
===================================  ===========================================================
"""

from likewise.datasets._balance import balance
from likewise.datasets._catalogue import CatalogueRow, catalogue, names
from likewise.datasets._folder import read_arrays
from likewise.datasets._layout import dataset_from_arrays
from likewise.datasets._load import load
from likewise.datasets._records import Dataset, Retrieval
from likewise.datasets._retrieval import load_retrieval
from likewise.datasets._synthetic import blobs_and_line, circle

__all__ = [
    "CatalogueRow",
    "Dataset",
    "Retrieval",
    "balance",
    "blobs_and_line",
    "catalogue",
    "circle",
    "dataset_from_arrays",
    "load",
    "load_retrieval",
    "names",
    "read_arrays",
]
