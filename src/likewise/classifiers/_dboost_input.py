"""Parameters and rows of `DBoost`, checked before any work starts, and its validation splits."""

from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import column_or_1d

from likewise._validation import (
    FLOATS,
    check_choice,
    check_class_targets,
    check_number,
    check_run_parameters,
    check_same_length,
    check_square,
    check_targets_given,
    check_whole_number,
    validate_data,
)
from likewise.classifiers._boosting import BoostingOptions
from likewise.classifiers._calibration import KINDS, N_SPLITS
from likewise.classifiers._ensemble_training import TrainingOptions
from likewise.classifiers._stopping import Split, stratified_splits
from likewise.similarities import Similarity


def check_parameters(model: Any) -> TrainingOptions:
    """Return the options of a `DBoost`, or refuse them."""
    check_whole_number(model.n_rounds, "n_rounds")
    check_whole_number(model.n_pairs, "n_pairs")
    if model.n_prototypes is not None:
        check_whole_number(model.n_prototypes, "n_prototypes", minimum=2)
    check_choice(model.threshold, "threshold", ("free", "zero"))
    check_choice(model.search, "search", ("auto", "exact", "histogram"))
    check_whole_number(model.max_depth, "max_depth")
    check_choice(model.calibrate, "calibrate", KINDS)
    is_vote = check_choice(model.rule, "rule", ("boost", "vote")) == "vote"
    if is_vote:
        _check_vote(model)
    if not isinstance(model.early_stopping, bool | np.bool_):
        check_whole_number(model.early_stopping, "early_stopping", minimum=2)
        _check_refit(model)
    fraction = check_number(model.validation_fraction, "validation_fraction", minimum=0)
    if not 0 < fraction < 1:
        raise ValueError(f"validation_fraction must be between 0 and 1, but {fraction} was given.")
    rate = check_number(model.learning_rate, "learning_rate", minimum=0, exclusive=True)
    check_run_parameters(model)
    boosting = BoostingOptions(
        model.n_pairs, model.n_prototypes, model.threshold, model.search, model.max_depth, rate
    )
    stops = bool(model.early_stopping)
    return TrainingOptions(
        n_rounds=model.n_rounds,
        boosting=None if is_vote else boosting,
        stops=stops,
        refits=bool(model.refit) or not stops,
        calibrate=model.calibrate,
    )


def check_training(model: Any, X: Any, y: Any, base: Similarity) -> tuple[Any, np.ndarray]:
    """Return training rows, or a square matrix, and their labels."""
    X = check_rows(model, X, base, reset=True)
    check_targets_given(y, model)
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_same_length(X, "X", y, "y")
    check_class_targets(y, model)
    if base.takes == "matrix":
        check_square(X, "X")
    else:
        base.check_items(X, "X")
    return base.check_queries(X, "X"), y


def check_rows(model: Any, X: Any, base: Similarity, *, reset: bool = False) -> Any:
    """Return rows in the form in which `base` takes them; `reset` as in scikit-learn."""
    if base.takes == "objects":
        return X
    if base.takes == "rows":
        return validate_data(model, X, accept_sparse="csr", dtype=FLOATS, reset=reset)
    # the similarity checks the values of a matrix: for prediction, only those of some columns
    return validate_data(model, X, dtype=FLOATS, reset=reset, ensure_all_finite=False)


def validation_splits(model: Any, labels: np.ndarray) -> list[Split]:
    """Return the splits for early stopping or, without it, for calibration; [] for neither."""
    parts, argument = model.early_stopping, "early_stopping"
    if isinstance(parts, np.bool_):
        parts = bool(parts)
    if parts is False:
        if model.calibrate == "none":
            return []
        parts, argument = N_SPLITS, "calibrate"
    seed = check_random_state(model.random_state).randint(2**31 - 1)
    return stratified_splits(labels, parts, model.validation_fraction, seed, argument)


def _check_vote(model: Any) -> None:
    for name, default in (("early_stopping", False), ("calibrate", "none")):
        if getattr(model, name) != default:
            raise ValueError(
                f"rule 'vote' needs {name}={default!r}, but {getattr(model, name)!r} was given."
            )
    if model.n_prototypes is not None:
        raise ValueError(
            f"rule 'vote' needs n_prototypes=None, but {model.n_prototypes!r} was given: "
            "n_rounds limits the pairs."
        )


def _check_refit(model: Any) -> None:
    if not model.refit and model.n_prototypes is not None:
        raise ValueError(
            "n_prototypes limits the prototypes of one ensemble, but refit=False keeps one "
            "ensemble per split: use only one of the two."
        )
