"""Compare estimators on the same splits, and test which differences are significant."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from likewise._progress import LongWork, show_progress
from likewise._validation import check_same_length, take
from likewise.evaluation._significance import corrected_p_value, p_value_text
from likewise.evaluation._table import Table
from likewise.exceptions import require_extra


@dataclass(frozen=True, eq=False)
class Comparison:
    """Cross-validated scores of several estimators on the same splits.

    Attributes
    ----------
    scores : mapping of str to ndarray of shape (n_splits,)
        In the order of the estimators.
    fit_seconds, predict_seconds : mapping of str to ndarray of shape (n_splits,)
    test_share : ndarray of shape (n_splits,)
        Number of test rows per training row.
    scoring : str
    """

    scores: Mapping[str, np.ndarray]
    fit_seconds: Mapping[str, np.ndarray]
    predict_seconds: Mapping[str, np.ndarray]
    test_share: np.ndarray
    scoring: str

    @property
    def best(self) -> str:
        """The name with the highest mean score."""
        return max(self.scores, key=lambda name: self.scores[name].mean())

    def p_value(self, name: str) -> float:
        """Return the p-value of the difference to the best estimator."""
        return self.p_value_between(self.best, name)

    def p_value_between(self, first: str, second: str) -> float:
        """Return the p-value of the difference between two estimators.

        By `corrected_p_value`; NaN where one split, or the same difference in every split, leaves
        no test.
        """
        differences = self.scores[first] - self.scores[second]
        return corrected_p_value(differences, float(self.test_share.mean()))

    def table(self) -> Table:
        """Return a row for each estimator, best first."""
        rows = []
        for name in sorted(self.scores, key=lambda name: -self.scores[name].mean()):
            values = self.scores[name]
            rows.append(
                (
                    name,
                    f"{values.mean():.4f}",
                    _deviation_text(values),
                    "best" if name == self.best else p_value_text(self.p_value(name)),
                    f"{self.fit_seconds[name].mean():.3g}",
                    f"{self.predict_seconds[name].mean():.3g}",
                )
            )
        heads = ("", self.scoring, "deviation", "p against best", "fit s", "predict s")
        return Table(heads, rows)

    def __repr__(self) -> str:
        best = self.best
        return (
            f"Comparison({len(self.scores)} estimators, {len(self.test_share)} splits, "
            f"best={best!r} at {self.scores[best].mean():.4f})"
        )

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def plot(self, ax: Any = None) -> Any:
        """Draw the score of every split, the means and their deviations; return the axes."""
        pyplot = require_extra("matplotlib.pyplot", "plots", "a plot")
        ax = pyplot.subplots(figsize=(6, 1 + 0.4 * len(self.scores)))[1] if ax is None else ax
        names = sorted(self.scores, key=lambda name: self.scores[name].mean())
        for height, name in enumerate(names):
            values = self.scores[name]
            ax.plot(values, np.full(len(values), height), "o", color="0.6", markersize=3)
            ax.errorbar(
                values.mean(), height, xerr=_deviation(values), fmt="D", color="C0", capsize=3
            )
        ax.set_yticks(range(len(names)), names)
        ax.set_xlabel(f"{self.scoring}, {len(self.test_share)} splits")
        return ax


def compare(
    estimators: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    scoring: str = "accuracy",
    random_state: int | None = 0,
    verbose: bool = False,
) -> Comparison:
    """Cross-validate several estimators on the same splits.

    Ctrl-C ends the work early; splits that all estimators have finished are kept.

    Parameters
    ----------
    estimators : mapping of str to estimator
    X, y : training rows and labels
    cv : int or splitter, default=5
        An int for that many stratified, shuffled splits.
    scoring : str, default="accuracy"
        Name of a scorer of scikit-learn.
    random_state : int or None, default=0
        Seed of the shuffle.
    verbose : bool, default=False
        Show progress.

    Returns
    -------
    Comparison
        Prints as a table, renders in notebooks, and plots.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("balance")
    >>> report = lw.compare(
    ...     {
    ...         "euclidean": lw.SimilarityClassifier(n_neighbors=15),
    ...         "cosine": lw.SimilarityClassifier(similarity="cosine", n_neighbors=15),
    ...     },
    ...     data.X,
    ...     data.y,
    ... )
    >>> report.best
    'cosine'
    """
    from sklearn.base import clone
    from sklearn.metrics import get_scorer
    from sklearn.model_selection import StratifiedKFold, check_cv
    from sklearn.utils import indexable

    if not isinstance(estimators, Mapping) or not estimators:
        raise TypeError(
            "estimators must be a mapping of names to at least one estimator, but "
            f"{estimators!r} was given."
        )
    for name, estimator in estimators.items():
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise TypeError(
                f"estimators[{name!r}] must be an estimator, but {estimator!r} was given."
            )
    if not isinstance(scoring, str):
        raise TypeError(f"scoring must be the name of a scorer, but {scoring!r} was given.")
    scorer = get_scorer(scoring)
    check_same_length(X, "X", y, "y")
    X, y = indexable(X, y)
    if isinstance(cv, int):
        cv = StratifiedKFold(cv, shuffle=True, random_state=random_state)
    splits = list(check_cv(cv, y, classifier=True).split(X, y))
    if not splits:
        raise ValueError("cv gives no splits; at least one is needed.")

    finished: list[dict[str, tuple[float, float, float]]] = []
    total = len(splits) * len(estimators)
    with (
        show_progress(verbose),
        LongWork(
            "comparing", total=total, unit="fits", partial_result="the finished splits"
        ) as work,
    ):
        for train, test in splits:
            scored = {}
            for name, estimator in estimators.items():
                scored[name] = _score(clone(estimator), scorer, X, y, train, test)
                work.advance()
                if work.interrupted:
                    break
            if work.interrupted:
                break
            finished.append(scored)
        if not finished:
            raise KeyboardInterrupt("interrupted before the first split was finished")
    columns = {name: np.array([scored[name] for scored in finished]).T for name in estimators}
    return Comparison(
        scores={name: column[0] for name, column in columns.items()},
        fit_seconds={name: column[1] for name, column in columns.items()},
        predict_seconds={name: column[2] for name, column in columns.items()},
        test_share=np.array([len(test) / len(train) for train, test in splits[: len(finished)]]),
        scoring=scoring,
    )


def _deviation(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _deviation_text(values: np.ndarray) -> str:
    return f"{_deviation(values):.4f}" if len(values) > 1 else "–"


def _score(
    estimator: Any, scorer: Any, X: Any, y: Any, train: np.ndarray, test: np.ndarray
) -> tuple[float, float, float]:
    """Return the score, and the seconds of fitting and predicting."""
    from sklearn.utils import get_tags

    X_train, X_test = take(X, train), take(X, test)
    if get_tags(estimator).input_tags.pairwise:  # a column for each training row
        X_train, X_test = np.asarray(X_train)[:, train], np.asarray(X_test)[:, train]
    y_train, y_test = take(y, train), take(y, test)
    started = perf_counter()
    fitted = estimator.fit(X_train, y_train)
    between = perf_counter()
    score = scorer(fitted, X_test, y_test)
    return float(score), between - started, perf_counter() - between
