"""NCA and MLKR: their defaults beside other settings, and NCA beside LMNN, by cross-validation.

The sets are not those on which the defaults were chosen (iris, wine, breast_cancer, digits, isolet,
satimage, usps, letter, MNIST; diabetes of scikit-learn and its synthetic regression sets).
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from likewise._validation import sample_rows
from likewise.classifiers import SimilarityClassifier
from likewise.evaluation import Table
from likewise.exceptions import DatasetUnavailableError
from likewise.learners import LMNN, MLKR, NCA
from reproduce._datasets import load
from reproduce._frame import Row

PAPER = (
    "Goldberger, Roweis, Hinton and Salakhutdinov: Neighbourhood Components Analysis (2005); "
    "errors of three neighbors in %, and for numbers 100 (1 - R²), by cross-validation"
)

_K = 3
_SPLITS = 3
_MOST_ROWS = 6_000  # and 4,000 for training: twice the references of a step
_FEW_ROWS = 1_000  # up to so many are fitted at once, and all of them are references
_DEFAULT = "default"

Learn = Callable[[int], Any]  # from the number of training rows to an unfitted learner


def _nca(**parameters: Any) -> Learn:
    return lambda n_rows: NCA(random_state=0, **parameters)


def _nca_alpha(numerator: float) -> Learn:
    return lambda n_rows: NCA(alpha=numerator / n_rows, random_state=0)


def _mlkr(**parameters: Any) -> Learn:
    return lambda n_rows: MLKR(random_state=0, **parameters)


def _mlkr_alpha(numerator: float) -> Learn:
    return lambda n_rows: MLKR(alpha=numerator / n_rows, random_state=0)


CLASSIFIERS: dict[str, Learn | None] = {
    "Euclid": None,
    "LMNN": lambda n_rows: LMNN(_K, tol=0.01),
    _DEFAULT: _nca(),
    "alpha 0": _nca(alpha=0.0),
    "alpha 8/n": _nca_alpha(8.0),
    "alpha 0.01": _nca(alpha=0.01),
    "512 references": _nca(n_references=512),
    "all references": _nca(n_references=None),
    "init lda": _nca(init="lda"),
    "accuracy": _nca(objective="accuracy"),
}
REGRESSORS: dict[str, Learn | None] = {
    "Euclid": None,
    _DEFAULT: _mlkr(),
    "alpha 0": _mlkr(alpha=0.0),
    "alpha 2/n": _mlkr_alpha(2.0),
    "alpha 50/n": _mlkr_alpha(50.0),
}
CLASSES, NUMBERS = "classes", "numbers"


class Measured(NamedTuple):
    """Errors of each split, and the mean CPU seconds of a fit."""

    errors: np.ndarray
    seconds: float


def rows(only: str = "") -> Iterator[Row]:
    """Yield errors on the sets whose names have `only` in them; for all sets also their means."""
    from joblib import Parallel, delayed

    for kind, sets, learners in (
        (CLASSES, CLASS_SETS, CLASSIFIERS),
        (NUMBERS, NUMBER_SETS, REGRESSORS),
    ):
        found: dict[str, dict[str, Measured]] = {}
        for name, read in sets.items():
            if only.lower() not in name.lower():
                continue
            try:
                X, y = read()
            except DatasetUnavailableError as error:
                yield Row(name, "all", None, None, note=str(error))
                continue
            few = len(X) * (_SPLITS - 1) / _SPLITS <= _FEW_ROWS
            distinct = [m for m in learners if not (few and m.endswith("references"))]
            measured = Parallel(n_jobs=-1)(delayed(_measured)(X, y, m, kind) for m in distinct)
            by_learner = dict(zip(distinct, measured, strict=True))
            found[name] = {m: by_learner.get(m, by_learner[_DEFAULT]) for m in learners}
            for method, (errors, seconds) in found[name].items():
                note = f"{kind}; {X.shape[0]} × {X.shape[1]}; {seconds:.2f} s a fit"
                yield Row(name, method, None, errors.mean(), errors.std(), note)
        if not only:
            yield from _over_sets(kind, found)


def tables(rows: list[Row]) -> Iterator[Table]:
    """Yield for classes and for numbers the errors, a column a setting, and their comparison."""
    for kind, learners in ((CLASSES, CLASSIFIERS), (NUMBERS, REGRESSORS)):
        yield _wide([row for row in rows if row.note.startswith(kind)], list(learners))
        yield Table(
            ("setting", "mean error", "seconds of a fit", "compared with the default"),
            [
                (row.method, f"{row.ours:.2f}", *row.note.split(" s; "))
                for row in rows
                if row.setting == _all_sets(kind)
            ],
        )


def _all_sets(kind: str) -> str:
    return f"all sets, {kind}"


def _wide(rows: list[Row], methods: list[str]) -> Table:
    lines = []
    for name in dict.fromkeys(row.setting for row in rows):
        of_set = {row.method: row for row in rows if row.setting == name}
        shown = [f"{of_set[m].ours:.1f}" if m in of_set else "–" for m in methods]
        lines.append((name, *shown))
    return Table(("set", *methods), lines)


def figures(rows: list[Row]) -> Iterable[tuple[str, Any]]:
    """Yield the errors of NCA against those of LMNN, a point a set."""
    from matplotlib.figure import Figure

    errors: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.note.startswith(CLASSES) and row.ours is not None:
            errors.setdefault(row.setting, {})[row.method] = row.ours
    if not errors:
        return
    figure = Figure(figsize=(6, 6), layout="constrained")
    ax = figure.subplots()
    for name, of_set in errors.items():
        ax.plot(of_set["LMNN"], of_set[_DEFAULT], "o", color="C0")
        ax.annotate(name, (of_set["LMNN"], of_set[_DEFAULT]), fontsize=7)
    limits = (0, max(ax.get_xlim()[1], ax.get_ylim()[1]))
    ax.plot(limits, limits, color="gray", linewidth=0.5)
    ax.set(xlabel="error after LMNN, %", ylabel="error after NCA, %", title="three neighbors")
    yield "NCA and LMNN", figure


def _over_sets(kind: str, found: dict[str, dict[str, Measured]]) -> Iterator[Row]:
    """Yield the mean error of each setting, and on how many sets it differs from the default."""
    for method in next(iter(found.values())):
        better, worse = [], []
        for name, of_set in found.items():
            gaps = of_set[method].errors - of_set[_DEFAULT].errors
            # over two standard errors of the difference in the same splits
            if abs(gaps.mean()) > 2 * gaps.std(ddof=1) / np.sqrt(len(gaps)):
                (better if gaps.mean() < 0 else worse).append(name)
        error = float(np.mean([of_set[method].errors.mean() for of_set in found.values()]))
        seconds = float(np.mean([of_set[method].seconds for of_set in found.values()]))
        compared = "; ".join(
            f"{word} on {len(names)}: {', '.join(names)}"
            for word, names in (("better", better), ("worse", worse))
            if names
        )
        yield Row(_all_sets(kind), method, None, error, None, f"{seconds:.2f} s; {compared}")


def _measured(X: np.ndarray, y: np.ndarray, method: str, kind: str) -> Measured:
    from sklearn.model_selection import KFold, StratifiedKFold

    learn = (CLASSIFIERS if kind == CLASSES else REGRESSORS)[method]
    folds = StratifiedKFold if kind == CLASSES else KFold
    errors, seconds = [], []
    for train, test in folds(_SPLITS, shuffle=True, random_state=0).split(X, y):
        parts = _scaled(X[train], X[test])
        learner = None if learn is None else learn(len(train))
        started = process_time()
        if learner is not None:
            learner.fit(parts[0], y[train])
        seconds.append(process_time() - started)
        measure = _class_error if kind == CLASSES else _number_error
        errors.append(100 * measure(learner, parts[0], y[train], parts[1], y[test]))
    return Measured(np.array(errors), float(np.mean(seconds)))


def _scaled(X: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(X)
    return scaler.transform(X), scaler.transform(X_test)


def _class_error(learner: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> float:
    similarity = "euclidean" if learner is None else learner.similarity_
    fitted = SimilarityClassifier(similarity=similarity, n_neighbors=_K).fit(X, y)
    return float(np.mean(fitted.predict(X_test) != y_test))


def _number_error(learner: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> float:
    from sklearn.neighbors import KNeighborsRegressor

    fitted = KNeighborsRegressor(10).fit(X, y) if learner is None else learner
    return float(np.mean((fitted.predict(X_test) - y_test) ** 2) / np.var(y_test))


def _stored(name: str, n_components: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return a set of the data folder, both parts together, or components of its square roots."""
    from scipy.sparse import issparse, vstack
    from sklearn.decomposition import TruncatedSVD

    data = load(name)
    X, y = data.X, np.unique(data.y, return_inverse=True)[1]
    if data.X_test is not None:
        X = vstack([X, data.X_test]) if issparse(X) else np.concatenate([X, data.X_test])
        y = np.unique(np.concatenate([data.y, data.y_test]), return_inverse=True)[1]
    some = sample_rows(len(y), _MOST_ROWS)
    X, y = X.tocsr()[some] if issparse(X) else X[some].astype(np.float64), y[some]
    if n_components is None:
        return X, y
    roots = np.sqrt(X.astype(np.float64))
    return np.asarray(TruncatedSVD(n_components, random_state=0).fit_transform(roots)), y


def _surnames() -> tuple[np.ndarray, np.ndarray]:
    """Return surnames as 50 components of their runs of one to three letters."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    data = load("surnames")
    some = sample_rows(len(data.y), _MOST_ROWS)
    runs = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3), min_df=5, sublinear_tf=True)
    X = runs.fit_transform([data.X[i] for i in some])
    return TruncatedSVD(50, random_state=0).fit_transform(X), np.asarray(data.y)[some]


def _column(name: str, column: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all columns of a set but one, which is to be predicted."""
    X = np.asarray(load(name).X, np.float64)
    return np.delete(X, column, axis=1), X[:, column]


CLASS_SETS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
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
# A column of a set of classes, predicted from the others: real numbers with noise.
NUMBER_SETS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "cleveland: thalach": partial(_column, "cleveland", 7),
    "diabetes: glucose": partial(_column, "diabetes", 1),
    "echocardiogram: lvdd": partial(_column, "echocardiogram", 4),
    "german: duration": partial(_column, "german", 1),
    "hepatitis: albumin": partial(_column, "hepatitis", 16),
    "image: hue": partial(_column, "image", 18),
    "ionosphere: pulse 10": partial(_column, "ionosphere", 20),
    "liver: drinks": partial(_column, "liver", 5),
    "vehicle: elongatedness": partial(_column, "vehicle", 7),
    "vowel: feature 2": partial(_column, "vowel", 2),
}
