"""What there is, without loading any of it."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from likewise._validation import check_choice

Kind: TypeAlias = Literal["bundled", "by rule", "synthetic", "fetched"]
Task: TypeAlias = Literal["classification", "retrieval"]


@dataclass(frozen=True)
class CatalogueRow:
    """One data set in the catalogue.

    Attributes
    ----------
    name : str
        What to give to `load`, or to `load_retrieval`.
    n_samples : int
        Number of samples, training and test together; of documents in a retrieval collection.
    n_features : int or None
        Number of columns, or of channels of a series; None for text and strings.
    n_classes : int or None
        Number of classes; None for a retrieval collection.
    kind : {"bundled", "by rule", "synthetic", "fetched"}
        Whether it comes with scikit-learn, is made here, or is fetched.
    description : str
        One line: what it is and where it comes from.
    """

    name: str
    n_samples: int
    n_features: int | None
    n_classes: int | None
    kind: Kind
    description: str


def catalogue(task: Task = "classification") -> list[CatalogueRow]:
    """Return a row for each data set there is.

    Parameters
    ----------
    task : {"classification", "retrieval"}, default="classification"
        Whether to list what `load` opens, or what `load_retrieval` opens.

    Returns
    -------
    list of CatalogueRow

    Examples
    --------
    >>> from likewise.datasets import catalogue
    >>> row = catalogue()[0]
    >>> row.name, row.n_samples, row.n_features, row.n_classes, row.kind
    ('iris', 150, 4, 3, 'bundled')
    """
    return list(_ROWS[check_choice(task, "task", _ROWS)])


def names(task: Task = "classification") -> list[str]:
    """Return the name of each data set there is.

    Parameters
    ----------
    task : {"classification", "retrieval"}, default="classification"
        Whether to list what `load` opens, or what `load_retrieval` opens.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from likewise.datasets import names
    >>> names()[:4]
    ['iris', 'wine', 'breast_cancer', 'digits']
    >>> names("retrieval")
    ['cranfield', 'scifact', 'scifact_minilm']
    """
    return [row.name for row in catalogue(task)]


def find_row(name: str) -> CatalogueRow:
    """Return the row of a labelled set."""
    return next(row for row in _ROWS["classification"] if row.name == name)


def _bundled(name: str, n: int, d: int, classes: int, what: str) -> CatalogueRow:
    return CatalogueRow(name, n, d, classes, "bundled", f"{what}; scikit-learn")


def _fetched(name: str, n: int, d: int | None, classes: int | None, what: str) -> CatalogueRow:
    return CatalogueRow(name, n, d, classes, "fetched", what)


def _folder(name: str, n: int, d: int | None, classes: int | None, what: str) -> CatalogueRow:
    return _fetched(name, n, d, classes, f"{what}; folder only")


_CLASSIFICATION = (
    _bundled("iris", 150, 4, 3, "three species of iris, Fisher's measurements"),
    _bundled("wine", 178, 13, 3, "chemical analysis of wines of three growers"),
    _bundled("breast_cancer", 569, 30, 2, "breast cancer of Wisconsin, diagnostic"),
    _bundled("digits", 1797, 64, 10, "handwritten digits, 8 x 8"),
    CatalogueRow("balance", 625, 4, 3, "by rule", "which way a scale tips; the rule of UCI's set"),
    CatalogueRow("circle", 1000, 2, 2, "synthetic", "inside or outside a disc; Rwebangira & Blum"),
    CatalogueRow(
        "blobs_and_line", 1000, 20, 2, "synthetic", "half linear, half blobs; Rwebangira & Blum"
    ),
    # Small sets of the papers, most of them from UCI.
    _fetched("iris_uci", 150, 4, 3, "iris with the two misprinted rows of UCI's file; OpenML iris"),
    _folder("breast", 683, 9, 2, "breast cancer of Wisconsin, original, complete rows; UCI"),
    _folder("cleveland", 303, 13, 2, "heart disease, Cleveland, missing cells filled; UCI"),
    _folder("credit", 653, 46, 2, "credit approval (crx), one-hot, complete rows; UCI"),
    _fetched("diabetes", 768, 8, 2, "diabetes among the Pima; UCI, OpenML diabetes"),
    _folder("echocardiogram", 131, 7, 2, "alive after a heart attack, missing cells filled; UCI"),
    _folder("german", 1000, 24, 2, "German credit, numeric; UCI"),
    _folder("hayes_roth", 160, 4, 3, "Hayes-Roth, nominal codes; UCI"),
    _folder("hepatitis", 155, 19, 2, "hepatitis, missing cells filled; UCI"),
    _fetched("image", 2310, 19, 7, "image segmentation; UCI, OpenML segment"),
    _fetched("ionosphere", 351, 34, 2, "radar returns from the ionosphere; UCI, OpenML ionosphere"),
    _folder("liver", 345, 6, 2, "liver disorders, BUPA; UCI"),
    _folder("monk1", 556, 6, 2, "MONK's problem 1, nominal codes, split 124 + 432; UCI"),
    _folder("monk2", 601, 6, 2, "MONK's problem 2, nominal codes, split 169 + 432; UCI"),
    _folder("monk3", 554, 6, 2, "MONK's problem 3, nominal codes, split 122 + 432; UCI"),
    _folder("satimage", 6435, 36, 6, "Landsat pixels, split 4435 + 2000; UCI Statlog"),
    _fetched("vehicle", 846, 18, 4, "vehicle silhouettes; UCI Statlog, OpenML vehicle"),
    _folder("votes", 435, 16, 2, "votes of congressmen, 1984, unknown is 0.5; UCI"),
    _fetched("vowel", 990, 10, 11, "English vowels, split 528 + 462; UCI, OpenML vowel"),
    # Larger ones: letters, digits, faces, speech.
    _fetched("letter", 20000, 16, 26, "printed letters, split 16000 + 4000; UCI, OpenML letter"),
    _fetched("isolet", 7797, 617, 26, "spoken letters, split 6238 + 1559; UCI, OpenML isolet"),
    _fetched("mnist", 70000, 784, 10, "handwritten digits, split 60000 + 10000; OpenML mnist_784"),
    _fetched("usps", 9298, 256, 10, "digits on envelopes, split 7291 + 2007; OpenML USPS"),
    _folder("orl", 400, 10304, 40, "faces of 40 people, 112 x 92; Olivetti Research Laboratory"),
    # Text, and what was made from text or pictures.
    _fetched("news20", 18846, None, 20, "20 newsgroups by date, split 11314 + 7532; scikit-learn"),
    _folder("news20_counts", 18846, 20000, 20, "counts of 20000 words in news20, 11314 + 7532"),
    _folder("caltech10_office_surf", 2533, 800, 10, "visual words, ten classes of Caltech-256"),
    _folder("surnames", 20050, None, 18, "surnames and their language"),
    # Semi-supervised sets of Chapelle, Schölkopf & Zien, with their labelled rows.
    _folder("ssl_digit1", 1500, 241, 2, "semi-supervised benchmark, Digit1"),
    _folder("ssl_usps", 1500, 241, 2, "semi-supervised benchmark, USPS"),
    _folder("ssl_text", 1500, 11960, 2, "semi-supervised benchmark, Text"),
    # Strings and series, for dissimilarities.
    _folder("promoters", 106, 228, 2, "promoter gene sequences, one-hot and as strings; UCI"),
    _folder("splice", 3190, 240, 3, "splice junctions, one-hot and as strings; UCI"),
    _folder("ts_arrowhead", 211, 251, 3, "series: arrowheads, split 36 + 175; UCR"),
    _folder("ts_coffee", 56, 286, 2, "series: coffee spectra, split 28 + 28; UCR"),
    _folder("ts_gunpoint", 200, 150, 2, "series: gun or point, split 50 + 150; UCR"),
    _folder("ts_italypowerdemand", 1096, 24, 2, "series: power demand, split 67 + 1029; UCR"),
    _folder("ts_japanesevowels", 640, 12, 9, "series of unequal length: speakers, 270 + 370; UCR"),
)

_RETRIEVAL = (
    _folder("cranfield", 1400, None, None, "aeronautics abstracts, 225 queries; Cranfield"),
    _folder("scifact", 5183, None, None, "science abstracts, 1109 claims; SciFact as in BEIR"),
    _folder("scifact_minilm", 5183, 384, None, "scifact as all-MiniLM-L6-v2 vectors"),
)

_ROWS = {"classification": _CLASSIFICATION, "retrieval": _RETRIEVAL}
