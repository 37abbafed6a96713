"""SiLA: similarity learning for nearest neighbors by a voted perceptron."""

from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise._files import fields
from likewise._progress import LongWork, show_progress
from likewise._threads import for_each
from likewise._validation import (
    Rows,
    check_choice,
    check_class_targets,
    check_classes,
    check_number,
    check_run_parameters,
    check_whole_number,
    is_sparse,
    validate_data,
)
from likewise.learners.linear_map import BilinearTransformer
from likewise.learners.sila._averaging import (
    BestAverage,
    Form,
    Norm,
    Updates,
    VotedSum,
    validation_mask,
)
from likewise.learners.sila._margin import SiLAMargin, margin_of
from likewise.learners.sila._perceptron import (
    Perceptron,
    SortedRows,
    TrainingRun,
    initial_matrix,
)
from likewise.learners.sila._problems import base_similarity, own_targets, problems
from likewise.learners.sila._state import STATE, TAIL, check_states, checksum
from likewise.similarities import Bilinear
from likewise.supervision import weighted_rows

_VALIDATION_RULES = ("majority", "symmetric", "symmetric_mean")
_MAX_FEATURES = 16_384  # three matrices of that width take 6 GiB
_MULTIPLICATIONS_PER_STEP = 50_000_000  # some hundredths of a second between checks for Ctrl-C

# Fitted attributes in a file.
_FORM = fields.Instance(Bilinear, n_query_features="features", n_item_features="features")


class SiLA(BilinearTransformer, BaseEstimator):
    """Normalized bilinear similarity, learned for nearest neighbors by a voted perceptron.

    s(x, y) = xᵀAy / N(x, y). Rows are visited one by one. If the similarities of a row to its
    target neighbors (the nearest of its class under the base similarity) do not sum to more than
    those to its nearest rows of other classes, the row is a mistake, and A is updated toward the
    targets and away from the others. The learned matrix is the sum of all matrices of the sequence,
    each weighted by the number of visits it lasted (Qamar, Gaussier, Chevallet and Lim, 2008).

    Parameters
    ----------
    form : {"square", "symmetric", "diagonal"}, default="square"
        Form of A.
    norm : {"cosine", "dice", "jaccard", "none"}, default="cosine"
        The normalization N and the base similarity; see `Bilinear`. Dice needs non-negative
        values, Jaccard values in [0, 1].
    n_neighbors : int, default=3
        Number of targets, and of rows of other classes, of each row.
    n_epochs : int, default=10
        Number of visits of every row.
    init : {"zero", "base"}, default="zero"
        The first matrix: zero, or the matrix of the base similarity.
    tail : int, optional
        Sum only the last `tail` matrices of the sequence.
    early_stopping : bool, default=False
        Choose the number of epochs and, unless given, the tail by the accuracy of `n_neighbors`
        nearest neighbors on validation rows, under `validation_rule`. The candidates are the first
        16 epochs, then 8 between successive powers of two, and tails that start at any of them.
    validation_fraction : float, default=0.2
        Share of the rows in the validation set, stratified by class.
    protocol : {"multiclass", "one_vs_rest"}, default="multiclass"
        One matrix for all classes, or one per class against all others.
    shuffle : bool, default=False
        Visit the rows in a new random order in every epoch; else in the given order.
    random_state : int, RandomState or None
        Seed of the order of visits and of the validation split.
    verbose : bool, default=False
        Show progress.
    validation_rule : {"auto", "majority", "symmetric", "symmetric_mean"}, default="auto"
        Rule that predicts the validation rows, as in `SimilarityClassifier`. "auto" is the rule of
        the classifier that fits this learner if it is one of these, else "majority".

    Attributes
    ----------
    similarity_ : Bilinear
        In the multiclass protocol.
    similarities_ : list of Bilinear
        In the one-vs-rest protocol, one per class.
    classes_ : ndarray of shape (n_classes,)
    history_ : list of dict
        ``epoch``, ``mistakes``, ``scored`` (rows whose margin bound did not suffice) and
        ``seconds`` since the start; with `early_stopping` also ``accuracy``, the best so far on
        the validation set, and in one-vs-rest ``class``.
    n_updates_ : int
        Number of mistakes in all epochs; in one-vs-rest, of all classes.
    n_epochs_, tail_ : int and int or None; in one-vs-rest lists
        Epochs and tail of the learned similarity.
    state_ : dict or list of dict
        State that `partial_fit` continues from; not with `early_stopping`.
    n_features_in_ : int

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("balance")
    >>> sila = lw.SiLA(form="symmetric").fit(data.X, data.y)
    >>> sila.similarity_
    Bilinear(W=4×4 float64, norm='cosine')
    >>> clf = lw.SimilarityClassifier(learner=sila, n_neighbors=3).fit(data.X[::2], data.y[::2])
    >>> bool(clf.score(data.X[1::2], data.y[1::2]) > 0.9)
    True
    """

    _file_fields: ClassVar[fields.Declaration] = {
        "classes_": fields.Labels("classes"),
        "similarity_": fields.Optional(_FORM),
        "similarities_": fields.Optional(fields.ListOf(_FORM, "classes")),
        "n_epochs_": fields.Either(fields.Number(), fields.ListOf(fields.Number(), "classes")),
        "tail_": fields.Either(TAIL, fields.ListOf(TAIL, "classes")),
        "history_": fields.Record(),
        "n_updates_": fields.Number(),
        "state_": fields.Optional(fields.Either(STATE, fields.ListOf(STATE, "classes"))),
    }

    def __init__(
        self,
        form: Form = "square",
        norm: Norm = "cosine",
        n_neighbors: int = 3,
        n_epochs: int = 10,
        *,
        init: Literal["zero", "base"] = "zero",
        tail: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        protocol: Literal["multiclass", "one_vs_rest"] = "multiclass",
        shuffle: bool = False,
        random_state: Any = None,
        verbose: bool = False,
        validation_rule: Literal["auto", "majority", "symmetric", "symmetric_mean"] = "auto",
    ) -> None:
        self.form = form
        self.norm = norm
        self.n_neighbors = n_neighbors
        self.n_epochs = n_epochs
        self.init = init
        self.tail = tail
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.protocol = protocol
        self.shuffle = shuffle
        self.random_state = random_state
        self.verbose = verbose
        self.validation_rule = validation_rule

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the similarity from labeled rows.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Factor of the updates of A by a row's mistakes, relative to the largest weight. A row of
            weight zero is left out. Targets, nearest rows of other classes, visits and validation
            do not depend on other weights.
        """
        self._check_parameters()
        X, y, weights = self._check_rows(X, y, sample_weight, reset=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        held_out = np.zeros(len(y), dtype=bool)
        if self.early_stopping:
            held_out = validation_mask(y, self.validation_fraction, seed)
        return self._train(X, y, weights, held_out, seed, states=None)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Continue the last `fit` or `partial_fit` for `n_epochs` more epochs.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
            With a `tail`, which includes earlier visits, the same rows as before.
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            As in `fit`.
        """
        self._check_parameters()
        if self.early_stopping:
            raise ValueError(
                "early_stopping chooses among all epochs of a fit: partial_fit needs "
                "early_stopping=False."
            )
        if not hasattr(self, "state_"):
            return self.fit(X, y, sample_weight)
        X, y, weights = self._check_rows(X, y, sample_weight, reset=False)
        one_vs_rest = isinstance(self.state_, list)
        if one_vs_rest != (self.protocol == "one_vs_rest"):
            raise ValueError(f"protocol was changed to {self.protocol!r} after fit: fit again.")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has the class {unknown[0]!s}, which was not in y at fit.")
        states: list[Any] = self.state_ if one_vs_rest else [self.state_]  # type: ignore[assignment]
        check_states(states, X, y, self.form, self.n_neighbors, self.tail)
        held_out = np.zeros(len(y), dtype=bool)
        return self._train(X, y, weights, held_out, states[0]["seed"], states)

    def margin(self, X: Any, y: Any) -> SiLAMargin | list[SiLAMargin]:
        """Return the margins of labeled rows under the learned matrix, and the paper's bounds.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
        y : array of shape (n_rows,)

        Returns
        -------
        SiLAMargin
            ``margins`` and ``deviation(gamma)`` (D_A,γ) of Definitions 1 and 2, ``margin`` (γ),
            ``radius`` (R), ``mistake_bound(gamma)`` of Theorem 2 and ``error_bound(gamma)`` of
            Theorem 3; in one-vs-rest, a list with one for each class. The bounds hold for rows of
            equal weight and ``init="zero"``.
        """
        check_is_fitted(self)
        X, y, _ = self._check_rows(X, y, None, reset=False)
        if hasattr(self, "similarity_"):
            return self._margin(self.similarity_, X, y)
        return [
            self._margin(similarity, X, y == label)
            for label, similarity in zip(self.classes_, self.similarities_, strict=True)
        ]

    def _margin(self, similarity: Bilinear, X: Rows, y: np.ndarray) -> SiLAMargin:
        targets = own_targets(X, y, self.n_neighbors, self.norm)
        return margin_of(similarity, self.form, X, y, targets)

    def _check_parameters(self) -> None:
        check_run_parameters(self)
        check_choice(self.validation_rule, "validation_rule", ("auto", *_VALIDATION_RULES))
        check_choice(self.form, "form", get_args(Form))
        check_choice(self.norm, "norm", get_args(Norm))
        check_choice(self.init, "init", ("zero", "base"))
        check_choice(self.protocol, "protocol", ("multiclass", "one_vs_rest"))
        check_whole_number(self.n_neighbors, "n_neighbors")
        check_whole_number(self.n_epochs, "n_epochs")
        if self.tail is not None:
            check_whole_number(self.tail, "tail")
        check_number(self.validation_fraction, "validation_fraction", minimum=0, exclusive=True)
        if self.validation_fraction >= 1:
            raise ValueError(
                f"validation_fraction must be below 1, but {self.validation_fraction} was given."
            )

    def _check_rows(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Rows, np.ndarray, np.ndarray]:
        """Return the rows of positive weight, their labels, and their weights of maximum 1."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, order="C", reset=reset,
            ensure_min_samples=2,
        )  # fmt: skip
        check_class_targets(y, self)
        rows, weights = weighted_rows(sample_weight, y)
        if len(rows) < len(y):
            X, y = X[rows], y[rows]
        check_classes(y)
        X = base_similarity(self.norm).check_queries(X, "X")
        if self.form != "diagonal" and X.shape[1] > _MAX_FEATURES:
            raise ValueError(
                f"form {self.form!r} needs n_features² matrices, and X has {X.shape[1]} "
                f"features; the limit is {_MAX_FEATURES}. Use form 'diagonal' or fewer features."
            )
        return X, y, np.ones(len(y)) if weights is None else weights / weights.max()

    def _train(
        self,
        X: Rows,
        y: np.ndarray,
        weights: np.ndarray,
        held_out: np.ndarray,
        seed: int,
        states: list[Any] | None,
    ) -> Self:
        classes = np.unique(y) if states is None else self.classes_
        labels = np.searchsorted(classes, y)
        training = np.flatnonzero(~held_out)
        X_train = X[training] if self.early_stopping else X
        rows = SortedRows(X_train, labels[training], self.norm)
        row_weights = weights[training][rows.original]
        of_rows = X_train, y[training], self.n_neighbors, self.norm, self.protocol
        first_epoch = 0 if states is None else states[0]["n_epochs"]
        runs = []
        for number, problem in enumerate(problems(rows, *of_rows)):
            voted = self._initial_sum(rows, None if states is None else states[number])
            best = None
            if self.early_stopping:
                positive = None if self.protocol == "multiclass" else number
                rule = "majority" if self.validation_rule == "auto" else self.validation_rule
                best = BestAverage(self.norm, self.n_neighbors, rule, X, labels, held_out, positive)
            perceptron = Perceptron(rows, *problem, row_weights, voted)
            runs.append(TrainingRun(perceptron, best, first_epoch))
        self._run_epochs(runs, rows, first_epoch, seed)
        self.classes_: np.ndarray = classes
        self._publish(runs, states is not None, {"seed": seed, "checksum": checksum(X, y)})
        return self

    def _initial_sum(self, rows: SortedRows, state: dict[str, Any] | None) -> VotedSum:
        form = self.form
        if state is None:
            A = initial_matrix(rows.X.shape[1], form, self.init, self.norm)
            recent = Updates.empty(self.n_neighbors)
            return VotedSum(rows.X, form, A, np.zeros_like(A), 0, 0, self.tail, recent)
        recent = Updates(*(state[name] for name in ("rows", "partners", "weights", "visits")))
        counts = state["n_visits"], state["n_updates"]
        A, weighted = state["A"].copy(), state["weighted"].copy()
        return VotedSum(rows.X, form, A, weighted, *counts, self.tail, recent)

    def _run_epochs(
        self, runs: list[TrainingRun], rows: SortedRows, first_epoch: int, seed: int
    ) -> None:
        """Run the epochs of all problems in parallel, until Ctrl-C."""
        n = len(rows.labels)
        position = np.argsort(rows.original)
        n_multiplications = n * n * rows.X.shape[1] if not is_sparse(rows.X) else n * rows.X.nnz
        epochs_per_step = max(1, _MULTIPLICATIONS_PER_STEP // n_multiplications)

        def order(epoch: int) -> np.ndarray:
            if not self.shuffle:
                return position
            return position[np.random.default_rng([seed, epoch]).permutation(n)]

        total = self.n_epochs
        with (
            show_progress(self.verbose),
            LongWork(
                "fitting SiLA", total=total, unit="epochs", partial_result="the epochs so far"
            ) as work,
        ):
            for _ in range(0, total, epochs_per_step):
                if work.interrupted:
                    break
                done = work.done
                epochs = range(first_epoch + done, first_epoch + min(done + epochs_per_step, total))
                for_each(lambda run: run.advance(epochs, order), runs)  # noqa: B023
                work.advance(len(epochs))

    def _publish(self, runs: list[TrainingRun], continued: bool, data: dict[str, Any]) -> None:
        one_vs_rest = self.protocol == "one_vs_rest"
        matrices, epochs, tails = zip(*(run.result() for run in runs), strict=True)
        similarities = [Bilinear(W, norm=self.norm) for W in matrices]
        history = list(self.history_) if continued else []
        for entries in zip(*(run.history for run in runs), strict=True):
            for label, entry in zip(self.classes_, entries, strict=False):
                name = {"class": label.item() if isinstance(label, np.generic) else label}
                history.append({**(name if one_vs_rest else {}), **entry})
        for stale in ("similarity_", "similarities_", "state_"):
            self.__dict__.pop(stale, None)
        if one_vs_rest:
            self.similarities_ = similarities
        else:
            self.similarity_ = similarities[0]
        self.n_epochs_ = list(epochs) if one_vs_rest else epochs[0]
        self.tail_ = list(tails) if one_vs_rest else tails[0]
        self.history_: list[dict[str, Any]] = history
        self.n_updates_ = sum(run.voted.n_updates for run in runs)
        if not self.early_stopping:
            states = [{**run.state(), **data} for run in runs]
            self.state_ = states if one_vs_rest else states[0]

    def _check_transform(self) -> bool:
        if self.norm not in ("none", "cosine") or self.protocol != "multiclass":
            raise AttributeError(
                "transform needs norm 'none' or 'cosine' and protocol 'multiclass', but they are "
                f"{self.norm!r} and {self.protocol!r}."
            )
        return super()._check_transform()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.norm in ("dice", "jaccard")
        return tags
