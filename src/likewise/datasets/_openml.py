"""Downloads from OpenML, put into the same form as the files in the folder."""

from dataclasses import dataclass
from importlib.util import find_spec
from string import ascii_uppercase

import numpy as np

from likewise.datasets._catalogue import find_row
from likewise.datasets._records import Dataset

DIGITS = tuple("0123456789")
LETTERS = tuple(ascii_uppercase)
VOWELS = ("hid", "hId", "hEd", "hAd", "hYd", "had", "hOd", "hod", "hUd", "hud", "hed")
SEGMENTS = ("brickface", "sky", "foliage", "cement", "window", "path", "grass")


@dataclass(frozen=True)
class Recipe:
    """Which set of OpenML it is, and what to do to it.

    Attributes
    ----------
    openml_name, version
        The two together name one set for good.
    labels
        OpenML's labels in the order in which we number them.
    target_names
        Our names of the labels where they are not OpenML's.
    test_counts
        Rows of each class in the test part, which is the end of the table. Where a table's end
        counts otherwise, its rows are in another order and the split is lost: no split is given.
    columns
        What the names of the columns to keep begin with.
    span
        The values that become 0 and 1.
    """

    openml_name: str
    version: int
    labels: tuple[str, ...]
    target_names: tuple[str, ...] | None = None
    test_counts: tuple[int, ...] | None = None
    columns: str = ""
    span: tuple[float, float] = (0.0, 1.0)


RECIPES = {
    "iris_uci": Recipe("iris", 1, ("Iris-setosa", "Iris-versicolor", "Iris-virginica")),
    "diabetes": Recipe("diabetes", 1, ("tested_negative", "tested_positive")),
    "image": Recipe("segment", 1, SEGMENTS),
    "ionosphere": Recipe("ionosphere", 1, ("b", "g")),
    "vehicle": Recipe("vehicle", 1, ("opel", "saab", "bus", "van")),
    # Version 2 lacks the column that said Train or Test and begins with two more, who spoke;
    # the last seven of the fifteen speakers test.
    "vowel": Recipe("vowel", 2, VOWELS, test_counts=(42,) * 11, columns="Feature"),
    # OpenML's rows are in the order of Weka's file, not of UCI's, whose last 4000 test.
    "letter": Recipe("letter", 1, LETTERS),
    "isolet": Recipe(
        "isolet",
        1,
        labels=tuple(str(number) for number in range(1, 27)),
        target_names=LETTERS,
        test_counts=tuple(59 if letter == "M" else 60 for letter in LETTERS),
    ),
    "mnist": Recipe(
        "mnist_784",
        1,
        DIGITS,
        test_counts=(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
    ),
    "usps": Recipe(
        "usps",
        2,
        labels=tuple(str(number) for number in range(1, 11)),
        target_names=DIGITS,
        test_counts=(359, 264, 198, 166, 200, 160, 170, 147, 166, 177),
        span=(-1.0, 1.0),
    ),
}


def download(name: str) -> Dataset:
    """Return a set from OpenML, or from scikit-learn's cache of it."""
    from sklearn.datasets import fetch_openml

    recipe = RECIPES[name]
    bunch = fetch_openml(
        recipe.openml_name,
        version=recipe.version,
        as_frame=False,
        parser=_parser(),
        # Labels that look like numbers are no categories to pandas 3.1, and scikit-learn up to
        # 1.9.1 stumbles over them (its pull request 34902): let pandas read them as what they are.
        read_csv_kwargs={"dtype": None},
        n_retries=1,
        delay=0.5,
    )
    kept = [i for i, column in enumerate(bunch.feature_names) if column.startswith(recipe.columns)]
    X = _scaled(np.asarray(bunch.data), kept, recipe.span)
    y = _numbered(bunch.target, recipe)
    _check_size(name, recipe, X)
    n_test = n_test_rows(y, recipe.test_counts)
    n_train = len(y) - n_test
    return Dataset(
        name=name,
        X=X[:n_train],
        y=y[:n_train],
        feature_names=tuple(bunch.feature_names[i] for i in kept),
        target_names=recipe.target_names or recipe.labels,
        X_test=X[n_train:] if n_test else None,
        y_test=y[n_train:] if n_test else None,
    )


def _parser() -> str:
    """Return the faster parser where pandas, which it needs, is installed."""
    return "pandas" if find_spec("pandas") else "liac-arff"


def _scaled(table: np.ndarray, kept: list[int], span: tuple[float, float]) -> np.ndarray:
    """Return the columns to keep as float32, copying large tables no more often than needed."""
    if len(kept) < table.shape[1]:
        table = table[:, kept]
    low, high = span
    if (low, high) != (0.0, 1.0):
        table = (table.astype(np.float64) - low) / (high - low)
    return table.astype(np.float32)


def _numbered(target: np.ndarray, recipe: Recipe) -> np.ndarray:
    """Return the labels as numbers, in the recipe's order."""
    numbers = {label: number for number, label in enumerate(recipe.labels)}
    labels = [str(label).strip("'\"") for label in target]
    unknown = sorted(set(labels) - set(numbers))
    if unknown:
        raise ValueError(
            f"{recipe.openml_name} version {recipe.version} of OpenML has the label "
            f"{unknown[0]!r}, where only {', '.join(recipe.labels)} were expected."
        )
    return np.array([numbers[label] for label in labels], dtype=np.int64)


def _check_size(name: str, recipe: Recipe, X: np.ndarray) -> None:
    row = find_row(name)
    if X.shape != (row.n_samples, row.n_features):
        raise ValueError(
            f"{recipe.openml_name} version {recipe.version} of OpenML came with "
            f"{X.shape[0]} x {X.shape[1]} values, where {row.n_samples} x {row.n_features} were "
            f"expected; empty scikit-learn's cache of it and try again."
        )


def n_test_rows(y: np.ndarray, test_counts: tuple[int, ...] | None) -> int:
    """Return how many rows at the end of a table are the test part; 0 where that is not so."""
    n_test = sum(test_counts or ())
    if not n_test:
        return 0
    counts = np.bincount(y[-n_test:], minlength=len(test_counts or ()))
    return n_test if tuple(counts) == test_counts else 0
