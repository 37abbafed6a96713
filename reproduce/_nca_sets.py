"""The sets on which NCA's and MLKR's settings are compared."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from likewise._validation import sample_rows
from reproduce._datasets import load

_MOST_ROWS = 6_000  # of a set, of which 4,000 are for training

Rows = tuple[np.ndarray, np.ndarray]


def _stored(name: str, n_components: int | None = None) -> Rows:
    """Return a set of the data folder, both parts together, or components of it."""
    data = load(name)
    X, y = data.X, data.y
    if data.X_test is not None:
        X, y = _stacked([X, data.X_test]), np.concatenate([y, data.y_test])
    return _some_rows(X, y, _MOST_ROWS, n_components)


def _training_part(name: str, n_rows: int, n_components: int | None = None) -> Rows:
    """Return rows of the training part of a set, or components of them."""
    data = load(name)
    return _some_rows(data.X, data.y, n_rows, n_components)


def _stacked(parts: list[Any]) -> Any:
    from scipy.sparse import issparse, vstack

    return vstack(parts).tocsr() if issparse(parts[0]) else np.concatenate(parts)


def _some_rows(X: Any, y: Any, n_rows: int, n_components: int | None) -> Rows:
    """Return some rows, or their components; of counts, those of their roots at unit length."""
    from scipy.sparse import issparse
    from sklearn.decomposition import PCA, TruncatedSVD
    from sklearn.preprocessing import normalize

    y = np.unique(y, return_inverse=True)[1]
    some = sample_rows(len(y), n_rows)
    X, y = X[some].astype(np.float64), y[some]
    if n_components is None:
        return X, y
    if issparse(X):
        roots = normalize(np.sqrt(X))
        return TruncatedSVD(n_components, random_state=0).fit_transform(roots), y
    return PCA(n_components, random_state=0).fit_transform(X), y


def _digits() -> Rows:
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def _synthetic(n_rows: int) -> Rows:
    """Return ten classes of two clusters each, drawn with another seed than in the benchmarks."""
    from sklearn.datasets import make_classification

    return make_classification(
        n_rows,
        50,
        n_informative=20,
        n_redundant=10,
        n_classes=10,
        n_clusters_per_class=2,
        random_state=1,
    )


def _surnames() -> Rows:
    """Return surnames as 50 components of their runs of one to three letters."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    data = load("surnames")
    some = sample_rows(len(data.y), _MOST_ROWS)
    runs = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3), min_df=5, sublinear_tf=True)
    X = runs.fit_transform([data.X[i] for i in some])
    return TruncatedSVD(50, random_state=0).fit_transform(X), np.asarray(data.y)[some]


def _column(name: str, column: int) -> Rows:
    """Return all columns of a set but one, which is to be predicted."""
    X = np.asarray(load(name).X, np.float64)
    X = X[sample_rows(len(X), _MOST_ROWS)]
    return np.delete(X, column, axis=1), X[:, column]


def _generated(name: str, *arguments: Any, **options: Any) -> Rows:
    """Return a set that scikit-learn has or generates, with another seed than in the benchmark."""
    from sklearn import datasets

    if name == "diabetes":
        return datasets.load_diabetes(return_X_y=True)
    return getattr(datasets, f"make_{name}")(*arguments, **options, random_state=1)


CLASS_SETS: dict[str, Callable[[], Rows]] = {
    **{
        name: partial(_stored, name)
        for name in (
            "balance",
            "breast",
            "cleveland",
            "credit",
            "diabetes",
            "german",
            "image",
            "ionosphere",
            "liver",
            "vehicle",
            "votes",
            "vowel",
        )
    },
    "orl": partial(_stored, "orl", 30),
    "splice": partial(_stored, "splice", 60),
    "caltech10_office_surf": partial(_stored, "caltech10_office_surf", 60),
    "news20_counts": partial(_stored, "news20_counts", 60),
    "surnames": _surnames,
}
LARGE_SETS: dict[str, Callable[[], Rows]] = {
    "digits": _digits,
    "isolet": partial(_training_part, "isolet", 1_560, 172),
    "image": CLASS_SETS["image"],
    "caltech10_office_surf": CLASS_SETS["caltech10_office_surf"],
    "splice": CLASS_SETS["splice"],
    "satimage": partial(_training_part, "satimage", 4_435),
    "synthetic, 5,250 rows": partial(_synthetic, 5_250),
    "surnames": _surnames,
    "usps": partial(_training_part, "usps", 7_291, 100),
    "news20_counts": partial(_training_part, "news20_counts", 11_314, 60),
    "mnist": partial(_training_part, "mnist", 15_000, 100),
    "letter": partial(_training_part, "letter", 16_000),
    "synthetic, 21,000 rows": partial(_synthetic, 21_000),
}
# Pixels, and components, whose variances say how much they matter.
AS_THEY_ARE = {
    "orl",
    "splice",
    "caltech10_office_surf",
    "news20_counts",
    "surnames",
    "digits",
    "isolet",
    "usps",
    "mnist",
}
# Columns of sets of classes, predicted from the others: real numbers with noise.
NUMBER_SETS: dict[str, Callable[[], Rows]] = {
    "cleveland, thalach": partial(_column, "cleveland", 7),
    "diabetes, glucose": partial(_column, "diabetes", 1),
    "echocardiogram, lvdd": partial(_column, "echocardiogram", 4),
    "german, duration": partial(_column, "german", 1),
    "hepatitis, albumin": partial(_column, "hepatitis", 16),
    "image, hue": partial(_column, "image", 18),
    "ionosphere, pulse 10": partial(_column, "ionosphere", 20),
    "letter, width": partial(_column, "letter", 2),
    "liver, drinks": partial(_column, "liver", 5),
    "vehicle, elongatedness": partial(_column, "vehicle", 7),
    "vowel, feature 2": partial(_column, "vowel", 2),
    "scikit-learn's diabetes": partial(_generated, "diabetes"),
    "friedman1, 600 rows": partial(_generated, "friedman1", 600, 20, noise=1.0),
    "friedman1, 6,000 rows": partial(_generated, "friedman1", 6_000, 20, noise=1.0),
    "friedman2": partial(_generated, "friedman2", 1_500, noise=100.0),
    "friedman3": partial(_generated, "friedman3", 1_500, noise=0.1),
    "sparse_uncorrelated": partial(_generated, "sparse_uncorrelated", 1_500, 20),
}
