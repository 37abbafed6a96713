"""LMNN: errors of nearest neighbors before and after, tuned and not, beside its rivals and SVMs.

"Tuned" methods have k (and c, or the C and the kernel of an SVM) chosen on a validation part of
the training rows, as in the paper: 30 % of them, at most 5,000 rows in all. "Training" methods are
leave-one-out errors of training rows.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from likewise._validation import sample_rows
from likewise.classifiers import SimilarityClassifier
from likewise.evaluation import Table
from likewise.exceptions import DatasetUnavailableError
from likewise.learners import ITML, LMNN, MCML, MMC, NCA, POLA, RCA
from likewise.metrics import majority_votes
from likewise.similarities import as_similarity
from reproduce._frame import Row
from reproduce._images import image_rows
from reproduce._lmnn_settings import SETTINGS, Setting, Split, images

PAPER = (
    "Weinberger, Blitzer and Saul: Distance Metric Learning for Large Margin Nearest Neighbor "
    "Classification (2005); errors in %"
)

_K = 3
_KS, _CS = (3, 1, 5, 7), (1.0, 0.1, 10.0)  # of equal ones the first is chosen
_SVM_CS = (10.0, 1.0, 100.0)
_MOST_ROWS_TO_TUNE = 5_000
_MOST_ROWS_OF_MCML = 10_000
_PICTURES_SHOWN = 6

NEIGHBORS = (
    "Euclid", "Euclid tuned", "LMNN", "LMNN tuned", "LMNN energy", "LMNN energy tuned",
)  # fmt: skip
TRAINING = ("Euclid training", "LMNN training", "LMNN tuned training")
RIVALS = ("RCA", "LDA", "NCA", "ITML", "MMC", "POLA", "MCML")
SVMS = ("SVM", "SVM linear", "SVM tuned", "SVM polynomial")

_pictures: dict[str, Any] = {}


class Errors(NamedTuple):
    """The errors of a method in % on every split, and what was chosen."""

    values: list[float]
    chosen: str = ""


def rows(only: str = "") -> Iterator[Row]:
    """Yield errors; `only` is part of a setting's name, of a method's, or of "setting: method"."""
    for setting in SETTINGS:
        methods = [m for m in _METHODS if only.lower() in f"{setting.name}: {m}".lower()]
        if not methods:
            continue
        try:
            splits = list(setting.splits())
        except DatasetUnavailableError as error:
            yield Row(setting.name, "all", None, None, note=str(error))
            continue
        fits = Fits(setting, splits)
        for method in methods:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # small classes, steps of linear SVMs
                errors = _METHODS[method](fits)
            if errors is None:
                continue
            n_splits = f"{len(splits)} splits" if len(splits) > 1 else "1 split"
            notes = (f"{n_splits} of {len(splits[0][0])} rows", errors.chosen, setting.note)
            yield Row(
                setting.name,
                method,
                setting.published.get(method),
                float(np.mean(errors.values)),
                float(np.std(errors.values)) if len(splits) > 1 else None,
                "; ".join(filter(None, notes)),
            )
        if setting.image_shape is not None and "untuned" in vars(fits):
            _pictures[setting.name] = _changed_neighbors(setting, splits[0], fits.untuned[0])


def tables(rows: list[Row]) -> Iterator[Table]:
    """Yield a column for each method: nearest neighbors, training errors, rivals and SVMs."""
    for methods in (NEIGHBORS, TRAINING, RIVALS, SVMS):
        lines = []
        for name in dict.fromkeys(row.setting for row in rows):
            of_set = {row.method: row for row in rows if row.setting == name}
            if any(method in of_set for method in methods):
                lines.append((name, *(_cell(of_set.get(method)) for method in methods)))
        yield Table(("set", *methods), lines)
    notes: dict[str, list[str]] = {}
    for row in rows:
        notes.setdefault(row.setting, [])
        notes[row.setting] += [n for n in row.note.split("; ") if n not in notes[row.setting]]
    yield Table(("set", "splits, choices and differences"),
                [(name, "; ".join(lines)) for name, lines in notes.items()])  # fmt: skip


def _cell(row: Row | None) -> str:
    """Return an error, its deviation over splits, and in brackets the published one."""
    if row is None or row.ours is None:
        return "–"
    deviation = "" if row.deviation is None else f" ± {row.deviation:.1f}"
    published = "" if row.published is None else f" [{row.published:.1f}]"
    return f"{row.ours:.2f}{deviation}{published}"


def figures(rows: list[Row]) -> Iterable[tuple[str, Any]]:
    """Yield the errors of nearest neighbors as bars, and images whose neighbors changed."""
    from matplotlib.figure import Figure

    methods = (*NEIGHBORS, "NCA", "SVM tuned")
    measured = [row for row in rows if row.ours is not None and row.method in methods]
    settings = list(dict.fromkeys(row.setting for row in measured))
    methods = tuple(method for method in methods if any(row.method == method for row in measured))
    figure = Figure(figsize=(12, 4), layout="constrained")
    ax = figure.subplots()
    for number, method in enumerate(methods):
        of_method = {row.setting: row for row in measured if row.method == method}
        places = [i for i, name in enumerate(settings) if name in of_method]
        ax.bar(
            [place + 0.8 * (number / len(methods) - 0.5) for place in places],
            [of_method[settings[place]].ours or 0.0 for place in places],
            0.8 / len(methods),
            yerr=[of_method[settings[place]].deviation or 0.0 for place in places],
            label=method,
        )
    ax.set_xticks(range(len(settings)), settings, rotation=30, ha="right", fontsize=8)
    ax.set(ylabel="test error, %", title="k = 3 and c = 1, or tuned")
    ax.legend(fontsize=8)
    yield "errors", figure
    yield from _pictures.items()


class Chosen(NamedTuple):
    """Parameters that a validation part chose, and the model with them of all training rows."""

    k: int
    c: float
    model: LMNN


class Fits:
    """What the methods of a setting share: its splits, and LMNN on each of them."""

    def __init__(self, setting: Setting, splits: list[Split]) -> None:
        self.setting, self.splits = setting, splits

    @cached_property
    def untuned(self) -> list[LMNN]:
        """LMNN with k = 3 and the c of the setting."""
        return [LMNN(_K, c=self.setting.c).fit(X, y) for X, y, *_ in self.splits]

    @cached_property
    def tuned(self) -> list[dict[str, Chosen]]:
        """For each split and rule, LMNN with k and c by validation."""
        return [_tuned_lmnn(split) for split in self.splits]


def _tuned_lmnn(split: Split) -> dict[str, Chosen]:
    inner = validation_split(split)
    errors: dict[str, dict[tuple[int, float], float]] = {"majority": {}, "energy": {}}
    for k, c in product(_KS, _CS):
        similarity = LMNN(k, c=c).fit(*inner[:2]).similarity_
        for rule, of_rule in errors.items():
            of_rule[k, c] = nearest_error(similarity, inner, k, rule=rule, c=c)
    best = {rule: min(of_rule, key=lambda at: of_rule[at]) for rule, of_rule in errors.items()}
    models = {at: LMNN(at[0], c=at[1]).fit(*split[:2]) for at in set(best.values())}
    return {rule: Chosen(*at, models[at]) for rule, at in best.items()}


def validation_split(split: Split) -> Split:
    """Return a training and a validation part, 70 and 30 %, of at most 5,000 training rows."""
    from sklearn.model_selection import train_test_split

    labels = np.unique(split[1], return_inverse=True)[1]
    rows = sample_rows(len(labels), _MOST_ROWS_TO_TUNE, labels=labels)
    training, held_out = train_test_split(
        rows, test_size=0.3, stratify=labels[rows], random_state=0
    )
    return split[0][training], split[1][training], split[0][held_out], split[1][held_out]


def nearest_error(similarity: Any, split: Split, k: int = _K, **options: Any) -> float:
    """Return the error of nearest neighbors in %."""
    X, y, X_test, y_test = split
    fitted = SimilarityClassifier(similarity=similarity, n_neighbors=k, **options).fit(X, y)
    return 100 * float(np.mean(fitted.predict(X_test) != y_test))


def leave_one_out_error(similarity: Any, split: Split, k: int = _K) -> float:
    """Return the share of training rows, in %, that their nearest others predict wrongly."""
    X, y = split[:2]
    classes, labels = np.unique(y, return_inverse=True)
    fitted = SimilarityClassifier(similarity=similarity, n_neighbors=k).fit(X, y)
    votes = majority_votes(labels[fitted.kneighbors().ids], len(classes))
    return 100 * float(np.mean(votes.argmax(axis=1) != labels))


def _plain(fits: Fits) -> Errors:
    return Errors([nearest_error("euclidean", split) for split in fits.splits])


def _plain_tuned(fits: Fits) -> Errors:
    ks = []
    for split in fits.splits:
        inner = validation_split(split)
        ks.append(min(_KS, key=lambda k: nearest_error("euclidean", inner, k)))
    errors = [nearest_error("euclidean", s, k) for s, k in zip(fits.splits, ks, strict=True)]
    return Errors(errors, _choice("Euclid", [f"k={k}" for k in ks]))


def _lmnn(fits: Fits, rule: str) -> Errors:
    return Errors([
        nearest_error(model.similarity_, split, rule=rule, c=fits.setting.c)
        for model, split in zip(fits.untuned, fits.splits, strict=True)
    ])  # fmt: skip


def _lmnn_tuned(fits: Fits, rule: str) -> Errors:
    chosen = [of_split[rule] for of_split in fits.tuned]
    errors = [
        nearest_error(each.model.similarity_, split, each.k, rule=rule, c=each.c)
        for each, split in zip(chosen, fits.splits, strict=True)
    ]
    name = "LMNN" if rule == "majority" else "energy"
    return Errors(errors, _choice(name, [f"k={each.k} c={each.c:g}" for each in chosen]))


def _choice(name: str, texts: list[str]) -> str:
    """Return how often each choice was made, the most frequent first."""
    counts = sorted(((texts.count(text), text) for text in set(texts)), reverse=True)
    if len(texts) == 1:
        return f"{name} {texts[0]}"
    return f"{name} " + ", ".join(f"{text} ({n}×)" for n, text in counts[:3])


def _training(fits: Fits, similarities: Iterable[Any], ks: Iterable[int]) -> Errors:
    each = zip(similarities, fits.splits, ks, strict=True)
    return Errors([leave_one_out_error(similarity, split, k) for similarity, split, k in each])


def _untuned_training(fits: Fits) -> Errors:
    models = (model.similarity_ for model in fits.untuned)
    return _training(fits, models, [_K] * len(fits.splits))


def _tuned_training(fits: Fits) -> Errors:
    chosen = [of_split["majority"] for of_split in fits.tuned]
    models = (each.model.similarity_ for each in chosen)
    return _training(fits, models, [each.k for each in chosen])


def _rival(learn: Callable[[np.ndarray, np.ndarray], Any]) -> Callable[[Fits], Errors]:
    def errors(fits: Fits) -> Errors:
        return Errors(
            [nearest_error(as_similarity(learn(*split[:2])), split) for split in fits.splits]
        )

    return errors


def _lda(X: np.ndarray, y: np.ndarray) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis().fit(X, y)


def _mcml(fits: Fits) -> Errors | None:
    if len(fits.splits[0][0]) > _MOST_ROWS_OF_MCML:
        return None
    return _rival(lambda X, y: MCML().fit(X, y))(fits)


def svm_error(split: Split, kernel: str, C: float) -> float:
    """Return the error of an SVM in %, of rows whose mean squared length is 1.

    The linear one is that of Crammer and Singer, as in the paper.
    """
    from sklearn.svm import SVC, LinearSVC

    X, y, X_test, y_test = split
    scale = np.sqrt(np.mean(np.einsum("ij,ij->i", X, X)))
    if kernel == "linear":
        model: Any = LinearSVC(C=C, multi_class="crammer_singer", random_state=0)
    else:
        model = SVC(C=C, kernel=kernel, degree=4, coef0=1.0, cache_size=2000)
    return 100 * float(np.mean(model.fit(X / scale, y).predict(X_test / scale) != y_test))


def _svm(fits: Fits) -> Errors:
    return Errors([svm_error(split, "rbf", 10.0) for split in fits.splits])


def _svm_tuned(fits: Fits, kernels: tuple[str, ...]) -> Errors | None:
    """Return the errors of the kernel and C with the smallest validation error; not on MNIST."""
    if _is_mnist(fits):
        return None
    chosen = []
    for split in fits.splits:
        inner = validation_split(split)
        chosen.append(min(product(kernels, _SVM_CS), key=lambda at: svm_error(inner, *at)))
    errors = [svm_error(split, *at) for split, at in zip(fits.splits, chosen, strict=True)]
    texts = [f"{kernel} C={C:g}" for kernel, C in chosen]
    return Errors(errors, _choice("SVM", texts))


def _svm_polynomial(fits: Fits) -> Errors | None:
    """Return the errors of the polynomial of degree four, which the paper has on MNIST alone."""
    if not _is_mnist(fits):
        return None
    return Errors([svm_error(split, "poly", 10.0) for split in fits.splits], "polynomial C=10")


def _is_mnist(fits: Fits) -> bool:
    return fits.setting.name.startswith("MNIST")


_METHODS: dict[str, Callable[[Fits], Errors | None]] = {
    "Euclid": _plain,
    "Euclid tuned": _plain_tuned,
    "LMNN": lambda fits: _lmnn(fits, "majority"),
    "LMNN tuned": lambda fits: _lmnn_tuned(fits, "majority"),
    "LMNN energy": lambda fits: _lmnn(fits, "energy"),
    "LMNN energy tuned": lambda fits: _lmnn_tuned(fits, "energy"),
    "Euclid training": lambda fits: _training(
        fits, ["euclidean"] * len(fits.splits), [_K] * len(fits.splits)
    ),
    "LMNN training": _untuned_training,
    "LMNN tuned training": _tuned_training,
    "RCA": _rival(lambda X, y: RCA().fit(X, y)),
    "LDA": _rival(_lda),
    "NCA": _rival(lambda X, y: NCA(random_state=0).fit(X, y)),
    "ITML": _rival(lambda X, y: ITML(random_state=0).fit(X, y)),
    "MMC": _rival(lambda X, y: MMC(random_state=0).fit(X, y)),
    "POLA": _rival(lambda X, y: POLA(random_state=0).fit(X, y)),
    "MCML": _mcml,
    "SVM": _svm,
    "SVM linear": lambda fits: _svm_tuned(fits, ("linear",)),
    "SVM tuned": lambda fits: _svm_tuned(fits, ("rbf", "linear")),
    "SVM polynomial": _svm_polynomial,
}


def _changed_neighbors(setting: Setting, split: Split, fitted: LMNN) -> Any:
    """Return a figure of test images whose nearest neighbor changed to their own class."""
    X, y, X_test, y_test = split
    before = as_similarity("euclidean").neighbors(X_test, X, 1).ids[:, 0]
    after = fitted.similarity_.neighbors(X_test, X, 1).ids[:, 0]
    mended = np.flatnonzero((y[before] != y_test) & (y[after] == y_test))[:_PICTURES_SHOWN]
    train_images, test_images = images(setting)
    shape = setting.image_shape
    assert shape is not None
    columns = [
        ("test", test_images[mended].reshape(-1, *shape)),
        ("nearest before", train_images[before[mended]].reshape(-1, *shape)),
        ("nearest after", train_images[after[mended]].reshape(-1, *shape)),
    ]
    return image_rows(columns, f"{setting.name}: neighbors that LMNN corrected")
