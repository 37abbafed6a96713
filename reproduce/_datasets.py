"""The data sets of the papers: read from the local folder, or else downloaded.

``python -m reproduce`` looks into the folder that ``LIKEWISE_DATA`` names, then downloads through
scikit-learn, from OpenML, into scikit-learn's own cache.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from string import ascii_uppercase
from typing import NamedTuple

import numpy as np

from likewise import datasets
from likewise.datasets import Dataset
from likewise.exceptions import DatasetUnavailableError

DIGITS = tuple("0123456789")
LETTERS = tuple(ascii_uppercase)
VOWELS = ("hid", "hId", "hEd", "hAd", "hYd", "had", "hOd", "hod", "hUd", "hud", "hed")
SEGMENTS = ("brickface", "sky", "foliage", "cement", "window", "path", "grass")
_IMAGE_SHAPES = {"mnist": (28, 28), "usps": (16, 16)}


class Description(NamedTuple):
    """Size and origin of a set; those that are not of OpenML or scikit-learn have no download."""

    n_samples: int
    n_features: int | None
    n_classes: int
    text: str


SETS = {
    # Small sets of the papers, most of them from UCI.
    "iris_uci": Description(
        150, 4, 3, "iris with the two misprinted rows of UCI's file; OpenML iris"
    ),
    "breast": Description(683, 9, 2, "breast cancer of Wisconsin, original, complete rows; UCI"),
    "cleveland": Description(303, 13, 2, "heart disease, Cleveland, missing cells filled; UCI"),
    "credit": Description(653, 46, 2, "credit approval (crx), one-hot, complete rows; UCI"),
    "diabetes": Description(768, 8, 2, "diabetes among the Pima; UCI, OpenML diabetes"),
    "echocardiogram": Description(
        131, 7, 2, "alive after a heart attack, missing cells filled; UCI"
    ),
    "german": Description(1000, 24, 2, "German credit, numeric; UCI"),
    "hayes_roth": Description(160, 4, 3, "Hayes-Roth, nominal codes; UCI"),
    "hepatitis": Description(155, 19, 2, "hepatitis, missing cells filled; UCI"),
    "image": Description(2310, 19, 7, "image segmentation; UCI, OpenML segment"),
    "ionosphere": Description(
        351, 34, 2, "radar returns from the ionosphere; UCI, OpenML ionosphere"
    ),
    "liver": Description(345, 6, 2, "liver disorders, BUPA; UCI"),
    "monk1": Description(556, 6, 2, "MONK's problem 1, nominal codes, split 124 + 432; UCI"),
    "monk2": Description(601, 6, 2, "MONK's problem 2, nominal codes, split 169 + 432; UCI"),
    "monk3": Description(554, 6, 2, "MONK's problem 3, nominal codes, split 122 + 432; UCI"),
    "satimage": Description(6435, 36, 6, "Landsat pixels, split 4435 + 2000; UCI Statlog"),
    "vehicle": Description(846, 18, 4, "vehicle silhouettes; UCI Statlog, OpenML vehicle"),
    "votes": Description(435, 16, 2, "votes of congressmen, 1984, unknown is 0.5; UCI"),
    "vowel": Description(990, 10, 11, "English vowels, split 528 + 462; UCI, OpenML vowel"),
    # Larger ones: letters, digits, faces, speech.
    "letter": Description(20000, 16, 26, "printed letters, split 16000 + 4000; UCI, OpenML letter"),
    "isolet": Description(7797, 617, 26, "spoken letters, split 6238 + 1559; UCI, OpenML isolet"),
    "mnist": Description(
        70000, 784, 10, "handwritten digits, split 60000 + 10000; OpenML mnist_784"
    ),
    "usps": Description(9298, 256, 10, "digits on envelopes, split 7291 + 2007; OpenML USPS"),
    "orl": Description(
        400, 10304, 40, "faces of 40 people, 112 x 92; Olivetti Research Laboratory"
    ),
    # Texts, and features of texts or images.
    "news20": Description(
        18846, None, 20, "20 newsgroups by date, split 11314 + 7532; scikit-learn"
    ),
    "news20_counts": Description(18846, 20000, 20, "counts of 20000 words in news20, 11314 + 7532"),
    "caltech10_office_surf": Description(2533, 800, 10, "visual words, ten classes of Caltech-256"),
    "surnames": Description(20050, None, 18, "surnames and their language"),
    # Semi-supervised sets of Chapelle, Schölkopf & Zien, with their labeled rows.
    "ssl_digit1": Description(1500, 241, 2, "semi-supervised benchmark, Digit1"),
    "ssl_usps": Description(1500, 241, 2, "semi-supervised benchmark, USPS"),
    "ssl_text": Description(1500, 11960, 2, "semi-supervised benchmark, Text"),
    # Strings and series, for distances.
    "promoters": Description(106, 228, 2, "promoter gene sequences, one-hot and as strings; UCI"),
    "splice": Description(3190, 240, 3, "splice junctions, one-hot and as strings; UCI"),
    "ts_arrowhead": Description(211, 251, 3, "series: arrowheads, split 36 + 175; UCR"),
    "ts_coffee": Description(56, 286, 2, "series: coffee spectra, split 28 + 28; UCR"),
    "ts_gunpoint": Description(200, 150, 2, "series: gun or point, split 50 + 150; UCR"),
    "ts_italypowerdemand": Description(1096, 24, 2, "series: power demand, split 67 + 1029; UCR"),
    "ts_japanesevowels": Description(
        640, 12, 9, "series of unequal length: speakers, 270 + 370; UCR"
    ),
}


@dataclass(frozen=True)
class Recipe:
    """A set of OpenML, and how it is converted.

    Attributes
    ----------
    openml_name, version
        Together they identify one set.
    labels
        OpenML's labels in the order of our numbers.
    target_names
        Our names of the labels where they are not OpenML's.
    test_counts
        Rows of each class in the test part, at the end of the table. A table with other counts
        there is in another order, and gets no split.
    columns
        Prefix of the columns to keep.
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


def load(name: str) -> Dataset:
    """Open a data set as `likewise.datasets.load` does; download it where the folder lacks it."""
    try:
        return datasets.load(name)
    except DatasetUnavailableError as absent:
        if name == "news20":
            source, download = "scikit-learn", download_news20
        elif name in RECIPES:
            recipe = RECIPES[name]
            source = f"OpenML as {recipe.openml_name} version {recipe.version}"
            download = _downloader(name)
        else:
            raise
        return _download(download, source, absent)


def _downloader(name: str) -> Callable[[], Dataset]:
    return lambda: download_openml(name)


def _download(
    download: Callable[[], Dataset], source: str, absent: DatasetUnavailableError
) -> Dataset:
    try:
        with warnings.catch_warnings():
            # scikit-learn warns before it retries; the error reports the failure once.
            warnings.filterwarnings("ignore", "A network error occurred|Retry downloading")
            return download()
    except (OSError, HTTPException) as error:
        raise DatasetUnavailableError(
            f"{absent} The download from {source} failed ({type(error).__name__}: {error})."
        ) from error


def download_openml(name: str) -> Dataset:
    """Return a set from OpenML, or from scikit-learn's cache of it."""
    from sklearn.datasets import fetch_openml

    recipe = RECIPES[name]
    bunch = fetch_openml(
        recipe.openml_name,
        version=recipe.version,
        as_frame=False,
        parser=_parser(),
        # pandas 3.1 does not read labels that look like numbers as categories, and scikit-learn up
        # to 1.9.1 fails on them (its pull request 34902): let pandas infer their type.
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
        extra={"image_shape": np.array(_IMAGE_SHAPES[name])} if name in _IMAGE_SHAPES else {},
    )


def download_news20() -> Dataset:
    """Return the newsgroups from scikit-learn, or from its cache."""
    from sklearn.datasets import fetch_20newsgroups

    parts = {}
    for part in ("train", "test"):
        bunch = fetch_20newsgroups(subset=part, shuffle=False, n_retries=1, delay=0.5)
        # scikit-learn shuffles the posts; other releases order them by group and number.
        post_numbers = [int(Path(filename).name) for filename in bunch.filenames]
        order = np.lexsort((post_numbers, bunch.target))
        texts = [keep_from_and_subject(bunch.data[i]) for i in order]
        parts[part] = texts, bunch.target[order].astype(np.int64), tuple(bunch.target_names)
    X, y, groups = parts["train"]
    X_test, y_test, _ = parts["test"]
    return Dataset("news20", X, y, None, groups, X_test, y_test)


def keep_from_and_subject(post: str) -> str:
    """Return a post with no header but From and Subject.

    The others reveal the group, and the release that papers use has only these two.
    """
    head, _, body = post.partition("\n\n")
    lines = head.split("\n")
    kept = [line for field in ("From:", "Subject:") for line in lines if line.startswith(field)]
    return "\n".join([*kept, "", body])


def _parser() -> str:
    """Return the faster parser where pandas, which it needs, is installed."""
    return "pandas" if find_spec("pandas") else "liac-arff"


def _scaled(table: np.ndarray, kept: list[int], span: tuple[float, float]) -> np.ndarray:
    """Return the kept columns as float32, copying large tables as rarely as possible."""
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
    described = SETS[name]
    if X.shape != (described.n_samples, described.n_features):
        raise ValueError(
            f"{recipe.openml_name} version {recipe.version} of OpenML came with "
            f"{X.shape[0]} x {X.shape[1]} values, where "
            f"{described.n_samples} x {described.n_features} were expected; empty scikit-learn's "
            "cache of it and try again."
        )


def n_test_rows(y: np.ndarray, test_counts: tuple[int, ...] | None) -> int:
    """Return the number of test rows at the end of a table; 0 where the counts do not match."""
    n_test = sum(test_counts or ())
    if not n_test:
        return 0
    counts = np.bincount(y[-n_test:], minlength=len(test_counts or ()))
    return n_test if tuple(counts) == test_counts else 0
