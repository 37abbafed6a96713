"""Data sets: bundled with scikit-learn, generated, or read from a local folder.

`load` opens a labeled set by name, `load_retrieval` a collection of documents and queries; `names`
and `catalogue` list them without opening any.

The folder is the one that the environment variable ``LIKEWISE_DATA`` names; its sets are
``<name>.npz`` or, for texts, ``<name>.jsonl.gz`` (``iris.npz`` is `iris_uci`). Bundled and
generated sets never come from the folder, so that they are the same everywhere. ``reproduce``
beside the package downloads the sets of the papers.

Notes
-----
The arrays of an ``.npz`` file in the folder; nothing in it is ever unpickled:

===================================  ===========================================================
``X``, ``y``                         a table and its labels; integers, or strings
``data, indices, indptr, shape``     instead of ``X``: a sparse table in CSR form
``frames``, ``offsets``              instead of ``X``: series i is frames[offsets[i]:offsets[i+1]]
``X_test``, ``y_test``               the test part of a fixed split (or ``frames_test``, ...)
``n_train``                          or the split as a number: the first rows train
``is_train``                         or the split as a boolean for each row
``feature_names``, ``target_names``  names of the columns (or ``vocab``) and of the labels 0, 1, ...
anything else                        is kept in ``Dataset.extra``
===================================  ===========================================================
"""

from likewise.datasets._folder import read_arrays
from likewise.datasets._generated import balance, blobs_and_line, circle
from likewise.datasets._layout import dataset_from_arrays
from likewise.datasets._load import CatalogueRow, catalogue, load, names
from likewise.datasets._records import Dataset, Retrieval
from likewise.datasets._retrieval import load_retrieval

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
