"""Measures by which families are compared, and the default for a target."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from likewise._validation import check_choice

_MAJORITY = 0.5  # share of the largest class, and its size beside the smallest, above which ...
_IMBALANCE = 3.0  # ... accuracy rewards a constant prediction


@dataclass(frozen=True)
class Scoring:
    """A measure of predictions on test rows.

    Attributes
    ----------
    name : str
        Its name on the command line.
    title : str
        Its name in tables and sentences.
    measure : callable
        Function of the predictions and the true targets.
    needs : {"predictions", "scores", "probabilities"}
        Scores need only rank the rows by class.
    is_share : bool
        Whether it is shown in percent.
    form : str
        Format of values that are not shown in percent.
    lower_is_better : bool
    """

    name: str
    title: str
    measure: Callable[["Predicted", np.ndarray], float]
    needs: Literal["predictions", "scores", "probabilities"] = "predictions"
    is_share: bool = False
    form: str = ".3f"
    lower_is_better: bool = False

    @property
    def sign(self) -> int:
        """The factor that makes higher values better."""
        return -1 if self.lower_is_better else 1

    def number(self, value: float) -> str:
        """Return a value for a sentence, in percent where that is usual."""
        return f"{100 * value:.1f}\u00a0%" if self.is_share else self._formatted(value)

    def text(self, mean: float, deviation: float | None) -> str:
        """Return a mean and its deviation for a sentence."""
        if deviation is None:
            return self.number(mean)
        if self.is_share:
            return f"{100 * mean:.1f}\u00a0±\u00a0{100 * deviation:.1f}\u00a0%"
        return f"{self._formatted(mean)}\u00a0±\u00a0{self._formatted(deviation)}"

    def cell(self, value: float) -> str:
        """Return a value for a table."""
        return self._formatted(value, ".4f" if self.form == ".3f" else self.form)

    def _formatted(self, value: float, form: str | None = None) -> str:
        text = f"{value:{form or self.form}}"
        return text.removeprefix("-") if float(text) == 0 else text  # zero is never negative


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions for test rows: classes or numbers, and where needed the scores of classes."""

    values: np.ndarray
    scores: np.ndarray | None = None  # of shape (n_rows, n_classes)
    classes: np.ndarray | None = None


def predict(fitted: Any, X: Any, scoring: Scoring, classes: np.ndarray | None) -> Predicted:
    """Return what `scoring` needs of a fitted estimator's predictions."""
    values = fitted.predict(X)
    if scoring.needs == "predictions":
        return Predicted(values)
    assert classes is not None  # only classes have scores
    if hasattr(fitted, "predict_proba"):
        known = fitted.predict_proba(X)
    else:
        known = fitted.decision_function(X)
        known = np.stack([-known, known], axis=1) if known.ndim == 1 else known
    # A class without a training row has the lowest score.
    scores = np.full((len(values), len(classes)), min(0.0, known.min()))
    scores[:, np.searchsorted(classes, fitted.classes_)] = known
    return Predicted(values, scores, classes)


def _accuracy(predicted: Predicted, truth: np.ndarray) -> float:
    return float(np.mean(predicted.values == truth))


def recalls(predicted: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Return the share of the rows of each class that is predicted as that class."""
    return {
        str(name): float(np.mean(predicted[truth == name] == name)) for name in np.unique(truth)
    }


def _balanced_accuracy(predicted: Predicted, truth: np.ndarray) -> float:
    return float(np.mean(list(recalls(predicted.values, truth).values())))


def _f1_macro(predicted: Predicted, truth: np.ndarray) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(truth, predicted.values, average="macro", zero_division=0))


def _roc_auc(predicted: Predicted, truth: np.ndarray) -> float:
    """Return the area under the curve of each class against the others, averaged over classes."""
    from sklearn.metrics import roc_auc_score

    assert predicted.scores is not None
    assert predicted.classes is not None
    areas = [
        roc_auc_score(truth == name, predicted.scores[:, column])
        for column, name in enumerate(predicted.classes)
        if 0 < np.count_nonzero(truth == name) < len(truth)
    ]
    return float(np.mean(areas)) if areas else 0.5


def _log_loss(predicted: Predicted, truth: np.ndarray) -> float:
    from sklearn.metrics import log_loss

    assert predicted.scores is not None
    shares = predicted.scores / predicted.scores.sum(axis=1, keepdims=True)
    return float(log_loss(truth, shares, labels=predicted.classes))


def _r2(predicted: Predicted, truth: np.ndarray) -> float:
    from sklearn.metrics import r2_score

    return float(r2_score(truth, predicted.values))


def _mean_absolute_error(predicted: Predicted, truth: np.ndarray) -> float:
    return float(np.mean(np.abs(predicted.values - truth)))


SCORINGS: dict[str, Scoring] = {
    scoring.name: scoring
    for scoring in (
        Scoring("accuracy", "accuracy", _accuracy, is_share=True),
        Scoring("balanced_accuracy", "balanced accuracy", _balanced_accuracy, is_share=True),
        Scoring("f1_macro", "macro F1", _f1_macro, is_share=True),
        Scoring("roc_auc", "ROC AUC", _roc_auc, needs="scores"),
        Scoring("log_loss", "log loss", _log_loss, needs="probabilities", lower_is_better=True),
    )
}
REGRESSION_SCORINGS: dict[str, Scoring] = {
    "r2": Scoring("r2", "R²", _r2),
    "mean_absolute_error": Scoring(
        "mean_absolute_error",
        "mean absolute error",
        _mean_absolute_error,
        form=".4g",
        lower_is_better=True,
    ),
}


def choose_scoring(target: np.ndarray, name: str | None) -> tuple[Scoring, str]:
    """Return the scoring of this name, or the default for the target; and the reason.

    R² for numbers. For classes accuracy; balanced accuracy where one class has more than half of
    the rows and at least three times as many as the smallest, because predicting only the largest
    class is then accurate.
    """
    is_numeric = target.dtype.kind == "f"
    if name is not None:
        known = REGRESSION_SCORINGS if is_numeric else SCORINGS
        return known[check_choice(name, "scoring", known)], ""
    if is_numeric:
        return REGRESSION_SCORINGS["r2"], (
            f"Scored by R²: the target is numeric, with {len(np.unique(target))} different values "
            f"in {len(target)} rows."
        )
    counts = np.unique(target, return_counts=True)[1]
    largest, smallest = counts.max(), counts.min()
    shares = f"classes have {_percent(smallest, target)} to {_percent(largest, target)} of the rows"
    if _percent(smallest, target) == _percent(largest, target):
        shares = f"each class has {_percent(largest, target)} of the rows"
    if largest > _MAJORITY * len(target) and largest >= _IMBALANCE * smallest:
        return SCORINGS["balanced_accuracy"], (
            f"Scored by balanced accuracy, the mean recall of the classes, because {shares}."
        )
    return SCORINGS["accuracy"], f"Scored by accuracy: {shares}."


def _percent(count: int, labels: np.ndarray) -> str:
    share = 100 * count / len(labels)
    return f"{share:.0f}\u00a0%" if share >= 1 else f"{share:.1g}\u00a0%"
