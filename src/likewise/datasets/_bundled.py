"""The classification sets that come with scikit-learn."""

import numpy as np

from likewise.datasets._records import Dataset

BUNDLED = ("iris", "wine", "breast_cancer", "digits")


def load_bundled(name: str) -> Dataset:
    """Return one of scikit-learn's own sets, whatever ``LIKEWISE_DATA`` says."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    pictures = {"image_shape": np.array([8, 8])} if name == "digits" else {}
    return Dataset(
        name=name,
        X=bunch.data,
        y=bunch.target.astype(np.int64),
        feature_names=tuple(map(str, bunch.feature_names)),
        target_names=tuple(map(str, bunch.target_names)),
        extra=pictures,
    )
