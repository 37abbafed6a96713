"""NCA and MLKR: their defaults beside other settings, and NCA beside LMNN, by cross-validation.

The sets of the first table are not those on which the defaults were chosen (iris, wine,
breast_cancer, digits, isolet, satimage, usps, letter, MNIST; diabetes of scikit-learn and its
synthetic regression sets). The number of references matters only with more than 1,000 rows: its
table has the training parts of larger sets, and no row of a test part.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from likewise.classifiers import SimilarityClassifier
from likewise.evaluation import Table
from likewise.exceptions import DatasetUnavailableError
from likewise.learners import LMNN, MLKR, NCA
from likewise.learners.nca import regression_bandwidth
from likewise.similarities import Mahalanobis
from reproduce._frame import Row
from reproduce._nca_sets import AS_THEY_ARE, CLASS_SETS, LARGE_SETS, NUMBER_SETS, Rows

PAPER = (
    "Goldberger, Roweis, Hinton and Salakhutdinov: Neighbourhood Components Analysis (2005); "
    "errors of three neighbors in %, and for numbers 100 (1 - R²), by cross-validation"
)

_K = 3
_SPLITS = 3
_FEW_ROWS = 1_000  # up to so many are fitted at once, and all of them are references
_DEFAULT = "default"

Learn = Callable[[np.ndarray, np.ndarray], Any]  # from training rows to an unfitted learner


def _nca(**parameters: Any) -> Learn:
    return lambda X, y: NCA(random_state=0, **parameters)


def _nca_alpha(numerator: float) -> Learn:
    return lambda X, y: NCA(alpha=numerator / len(X), random_state=0)


def _mlkr(**parameters: Any) -> Learn:
    return lambda X, y: MLKR(random_state=0, **parameters)


def _mlkr_alpha(numerator: float) -> Learn:
    return lambda X, y: MLKR(alpha=numerator / len(X), random_state=0)


def _mlkr_scale(factor: float) -> Learn:
    """Start at a multiple of the best scale of the identity."""

    def learn(X: np.ndarray, y: np.ndarray) -> MLKR:
        bandwidth = regression_bandwidth(Mahalanobis(1.0), X, X, y, np.ones(len(X)))
        learner = MLKR(warm_start=True, random_state=0)
        learner.components_ = factor / np.sqrt(bandwidth) * np.eye(X.shape[1])
        return learner

    return learn


CLASSIFIERS: dict[str, Learn | None] = {
    "Euclid": None,
    "LMNN": lambda X, y: LMNN(_K, tol=0.01),
    _DEFAULT: _nca(),
    "alpha 0": _nca(alpha=0.0),
    "alpha 8/n": _nca_alpha(8.0),
    "alpha 0.01": _nca(alpha=0.01),
    "init lda": _nca(init="lda"),
    "accuracy": _nca(objective="accuracy"),
}
REFERENCES: dict[str, Learn | None] = {
    "Euclid": None,
    "256": _nca(n_references=256),
    "512": _nca(n_references=512),
    "1,024": _nca(n_references=1024),
    _DEFAULT: _nca(),
    "4,096": _nca(n_references=4096),
    "all": _nca(n_references=None),
}
REGRESSORS: dict[str, Learn | None] = {
    "Euclid": None,
    _DEFAULT: _mlkr(),
    "alpha 0": _mlkr(alpha=0.0),
    "alpha 2/n": _mlkr_alpha(2.0),
    "alpha 50/n": _mlkr_alpha(50.0),
    "half the scale": _mlkr_scale(0.5),
    "twice the scale": _mlkr_scale(2.0),
    "512 references": _mlkr(n_references=512),
    "all references": _mlkr(n_references=None),
}
CLASSES, SAMPLES, NUMBERS = "classes", "references", "numbers"


class Measured(NamedTuple):
    """Errors of each split, the mean CPU seconds of a fit, and the size of the set."""

    errors: np.ndarray
    seconds: float
    size: str


def rows(only: str = "") -> Iterator[Row]:
    """Yield errors on the sets whose names have `only` in them, after their kind and a colon."""
    from joblib import Parallel, delayed

    for kind, (sets, learners) in _kinds().items():
        for name, read in sets.items():
            setting = f"{kind}: {name}"
            if only.lower() not in setting.lower():
                continue
            try:
                X, y = read()
            except DatasetUnavailableError as error:
                yield Row(setting, "all", None, None, note=str(error))
                continue
            few = len(X) * (_SPLITS - 1) / _SPLITS <= _FEW_ROWS
            distinct = [m for m in learners if not (few and m.endswith("references"))]
            scaled = name not in AS_THEY_ARE
            measured = Parallel(n_jobs=-1)(
                delayed(_measured)(X, y, m, kind, scaled) for m in distinct
            )
            by_learner = dict(zip(distinct, measured, strict=True))
            for method in learners:
                errors, seconds, size = by_learner.get(method, by_learner[_DEFAULT])
                splits = " ".join(f"{error:.4g}" for error in errors)
                note = f"{size}; {seconds:.3g} s a fit; errors {splits}"
                yield Row(setting, method, None, errors.mean(), errors.std(), note)


def _kinds() -> dict[str, tuple[dict[str, Callable[[], Rows]], dict[str, Learn | None]]]:
    """Return the sets and the settings of each table."""
    return {
        CLASSES: (CLASS_SETS, CLASSIFIERS),
        SAMPLES: (LARGE_SETS, REFERENCES),
        NUMBERS: (NUMBER_SETS, REGRESSORS),
    }


def tables(rows: list[Row]) -> Iterator[Table]:
    """Yield for each kind of sets the errors, a column a setting, and their comparison."""
    for kind, (_, learners) in _kinds().items():
        complete = _complete(rows, kind)
        yield Table(
            (kind, "rows × columns", *learners),
            [
                (name, of_set[_DEFAULT].size, *(f"{of_set[m].errors.mean():.1f}" for m in learners))
                for name, of_set in complete.items()
            ],
        )
        yield Table(
            ("setting", "mean error", "seconds of a fit", "better than the default", "worse"),
            [_over_sets(m, complete) for m in learners if complete],
        )


def _complete(rows: list[Row], kind: str) -> dict[str, dict[str, Measured]]:
    """Return what was measured on the sets of a kind that have all settings."""
    found: dict[str, dict[str, Measured]] = {}
    for row in rows:
        if row.setting.startswith(f"{kind}: ") and row.ours is not None:
            of_set = found.setdefault(row.setting.removeprefix(f"{kind}: "), {})
            of_set[row.method] = _from_note(row.note)
    settings = set(_kinds()[kind][1])
    return {name: of_set for name, of_set in found.items() if set(of_set) >= settings}


def _from_note(note: str) -> Measured:
    size, seconds, errors = re.fullmatch(r"(.*); (.*) s a fit; errors (.*)", note).groups()
    return Measured(np.array(errors.split(), dtype=np.float64), float(seconds), size)


def _over_sets(method: str, found: dict[str, dict[str, Measured]]) -> tuple[str, ...]:
    """Return the mean error of a setting, and on which sets it differs from the default."""
    differing: dict[bool, list[str]] = {True: [], False: []}
    for name, of_set in found.items():
        gaps = of_set[method].errors - of_set[_DEFAULT].errors
        # over two standard errors of the difference in the same splits
        if abs(gaps.mean()) > 2 * gaps.std(ddof=1) / np.sqrt(len(gaps)):
            differing[bool(gaps.mean() < 0)].append(name)
    error = np.mean([of_set[method].errors.mean() for of_set in found.values()])
    seconds = np.mean([of_set[method].seconds for of_set in found.values()])
    better, worse = (
        f"{len(names)}: {', '.join(names)}" if names else "0"
        for names in (differing[True], differing[False])
    )
    return method, f"{error:.2f}", f"{seconds:.2f}", better, worse


def figures(rows: list[Row]) -> Iterable[tuple[str, Any]]:
    """Yield the errors of NCA against those of LMNN, and against parameters."""
    from matplotlib.figure import Figure

    found = {kind: _complete(rows, kind) for kind in _kinds()}
    if found[CLASSES]:
        figure = Figure(figsize=(6, 6), layout="constrained")
        ax = figure.subplots()
        for name, of_set in found[CLASSES].items():
            place = of_set["LMNN"].errors.mean(), of_set[_DEFAULT].errors.mean()
            ax.plot(*place, "o", color="C0")
            ax.annotate(name, place, fontsize=7)
        limits = (0, max(ax.get_xlim()[1], ax.get_ylim()[1]))
        ax.plot(limits, limits, color="gray", linewidth=0.5)
        ax.set(xlabel="error after LMNN, %", ylabel="error after NCA, %", title="three neighbors")
        yield "lmnn", figure
    if any(found.values()):
        figure = Figure(figsize=(11, 3.5), layout="constrained")
        for ax, (title, (kind, settings)) in zip(
            figure.subplots(1, len(_CURVES), sharey=True), _CURVES.items(), strict=True
        ):
            _draw_curves(ax, found[kind], settings)
            ax.set_title(title, fontsize=9)
        figure.supylabel("error, relative to the default", fontsize=9)
        yield "parameters", figure


# Settings in the order of a parameter, and how they are labeled.
_CURVES = {
    "NCA, alpha": (CLASSES, {"alpha 0": "0", _DEFAULT: "2/n", "alpha 8/n": "8/n"}),
    "NCA, n_references": (
        SAMPLES,
        {"256": "256", "512": "512", "1,024": "1,024", _DEFAULT: "2,048", "all": "all"},
    ),
    "MLKR, alpha": (
        NUMBERS,
        {"alpha 0": "0", "alpha 2/n": "2/n", _DEFAULT: "10/n", "alpha 50/n": "50/n"},
    ),
}


def _draw_curves(ax: Any, found: dict[str, dict[str, Measured]], settings: dict[str, str]) -> None:
    """Draw errors over a parameter, a line a set, and their geometric mean."""
    curves = [
        [of_set[s].errors.mean() / of_set[_DEFAULT].errors.mean() for s in settings]
        for of_set in found.values()
        if of_set[_DEFAULT].errors.mean() > 0
    ]
    for curve in curves:
        ax.plot(curve, color="gray", linewidth=0.5)
    if curves:
        ax.plot(np.exp(np.mean(np.log(np.maximum(curves, 1e-3)), axis=0)), color="C0", linewidth=2)
    ax.set_yscale("log")
    ax.set_yticks([0.5, 0.7, 1, 1.4, 2], ["0.5", "0.7", "1", "1.4", "2"])
    ax.minorticks_off()
    ax.set_ylim(0.5, 2)
    ax.set_xticks(range(len(settings)), list(settings.values()))


def _measured(X: np.ndarray, y: np.ndarray, method: str, kind: str, scaled: bool) -> Measured:
    from sklearn.model_selection import KFold, StratifiedKFold

    learn = _kinds()[kind][1][method]
    folds = KFold if kind == NUMBERS else StratifiedKFold
    errors, seconds = [], []
    for train, test in folds(_SPLITS, shuffle=True, random_state=0).split(X, y):
        parts = _scaled(X[train], X[test]) if scaled else (X[train], X[test])
        learner = None if learn is None else learn(parts[0], y[train])
        started = process_time()
        if learner is not None:
            learner.fit(parts[0], y[train])
        seconds.append(process_time() - started)
        measure = _number_error if kind == NUMBERS else _class_error
        errors.append(100 * measure(learner, parts[0], y[train], parts[1], y[test]))
    size = f"{X.shape[0]:,} × {X.shape[1]}"
    return Measured(np.array(errors), float(np.mean(seconds)), size)


def _scaled(X: np.ndarray, X_test: np.ndarray) -> Rows:
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
