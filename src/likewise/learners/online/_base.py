"""Base class of AROMA and OASIS: a bilinear form from triplets, labels, relevance or pairs."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise._execution import current_backend, validate_labeled, validate_rows
from likewise._files import fields
from likewise._validation import (
    FLOATS,
    Rows,
    check_bool,
    check_choice,
    check_number,
    check_run_parameters,
    check_whole_number,
)
from likewise.learners._initial_form import initial_form
from likewise.learners.linear_map import BilinearTransformer
from likewise.learners.online._beliefs import DiagonalState, OasisState, State
from likewise.learners.online._covariances import FactoredState, FullState
from likewise.learners.online._fitting import fit_grades, fit_labels, fit_stream
from likewise.learners.online._history import plot_history
from likewise.learners.online._rates import check_rate, forget_rate, is_known
from likewise.learners.online._training import (
    DrawnTriplets,
    FitRidge,
    UpdateRule,
    check_sides,
    check_stream,
    merge_learners,
    ridge_form,
    train,
)
from likewise.learners.validation._gate import NEW_ITEMS
from likewise.learners.validation._held_out import (
    mean_average_precision,
)
from likewise.similarities import Bilinear
from likewise.supervision import (
    LabelTriplets,
    TripletStream,
    check_relevance,
    check_triplet_rows,
    relevance_from_pairs,
    weighted_rows,
)

_TRIPLETS_PER_ROW = 10


class OnlineLearner(BilinearTransformer, BaseEstimator):
    """A bilinear form that is learned one triplet at a time.

    A subclass defines the parameters, the class of the state, and the update rule.
    """

    _file_fields: ClassVar[fields.Declaration] = {
        "state_": fields.Instance(
            (DiagonalState, FactoredState, FullState, OasisState),
            W=("features", "item features"),
        ),
        "n_triplets_seen_": fields.Number(),
        "n_updates_": fields.Number(),
        "history_": fields.Record(),
        "validation_": fields.Optional(fields.Record()),
        "checkpoint_": fields.Optional(fields.Record()),  # of a run in rounds on a cluster
    }
    _rate_name: ClassVar[str]
    _rates: ClassVar[tuple[float, ...]]  # that "auto" chooses from

    init: Any
    normalize: bool
    dtype: str
    n_triplets: int
    early_stopping: bool
    validation_fraction: float
    new_items: str
    negatives: str
    hard_negatives: float
    random_state: Any
    verbose: bool

    state_: State
    validation_: dict[str, Any]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labeled rows: triplets are drawn from them.

        With `early_stopping`, some rows are held out and ranked among themselves: see
        `validation_`. If the learned form clearly beats the start on them, it is learned again
        from all rows; else the start is kept, with a warning.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Weight of the triplets in which a row is the query, as in `fit_triplets`, with weights
            scaled to mean 1. A row of weight zero is left out, also of the validation, in which
            other weights do not count.
        """
        self._check_parameters(rate_is_chosen=self.early_stopping)
        X, y, rows, weights = self._check_labeled(X, y, sample_weight, reset=True)
        return fit_labels(self, X, y, rows, weights)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Continue learning from more labeled rows: ten triplets per row are drawn among them.

        Parameters as in `fit`. Nothing is held out.
        """
        self._check_parameters(rate_is_chosen=is_known(self))
        started = self._has_started()
        X, y, rows, weights = self._check_labeled(X, y, sample_weight, reset=not started)
        source = LabelTriplets(y, rows, rows)
        if not started:
            self._start(self._initial_form(X, X, lambda ridge: ridge.fit(X, y, sample_weight)))
        elif self.state_.W.shape != (X.shape[1], X.shape[1]):
            raise ValueError(
                f"X has {X.shape[1]} features, but the learned form compares "
                f"{self.state_.W.shape[0]} with {self.state_.W.shape[1]}."
            )
        rng = self._generator(self.n_triplets_seen_)
        n_triplets = min(_TRIPLETS_PER_ROW * len(rows), self.n_triplets)
        train(self, DrawnTriplets(source, n_triplets, rng, weights), X, X)
        return self

    def fit_relevance(
        self, relevance: Any, queries: Any, items: Any = None, weights: Any = None
    ) -> Self:
        """Learn from graded relevance, such as clicks: triplets are drawn from it.

        With `early_stopping`, some queries and some items are held out: see `validation_`. The
        share of the learned change that improves them is published if it clearly beats the start,
        and is then learned again from all judgments; else the start is kept, with a warning.

        Parameters
        ----------
        relevance : sparse matrix or array of shape (n_queries, n_items)
            Grades, higher for more relevant; entries that a sparse matrix does not store are not
            judged.
        queries : array or CSR of shape (n_queries, n_query_features)
        items : array or CSR of shape (n_items, n_item_features), optional
            The queries themselves by default.
        weights : sparse matrix or array of the shape of `relevance`, optional
            Weight of each judgment, such as `supervision.position_weights` of clicks.
        """
        self._check_parameters(rate_is_chosen=self.early_stopping)
        queries, items = check_sides(queries, items)
        grades = check_relevance(relevance, queries, items)
        return fit_grades(self, grades, queries, items, weights, self.negatives)

    def fit_pairs(
        self, pairs: Any, y: Any, queries: Any, items: Any = None, weights: Any = None
    ) -> Self:
        """Learn from similar and dissimilar pairs: triplets are drawn from them.

        A similar item is closer than the query's dissimilar items or, without any, than items that
        are not paired with the query. Queries with only dissimilar items are not used. Validation
        is as in `fit_relevance`.

        Parameters
        ----------
        pairs : int array of shape (n_pairs, 2)
            Row numbers (query, item).
        y : array of shape (n_pairs,)
            1 or True for similar; −1, 0 or False for dissimilar.
        queries, items : as in `fit_relevance`
        weights : array of shape (n_pairs,), optional
        """
        self._check_parameters(rate_is_chosen=self.early_stopping)
        queries, items = check_sides(queries, items)
        grades, of_pairs = relevance_from_pairs(pairs, y, weights, queries, items)
        return fit_grades(self, grades, queries, items, of_pairs, "judged")

    def fit_triplets(
        self,
        triplets: Any,
        queries: Any,
        items: Any = None,
        weights: Any = None,
        validate: bool = False,
    ) -> Self:
        """Learn from triplets, one at a time, in the given order.

        Parameters
        ----------
        triplets : int array of shape (n_triplets, 3), frame or path
            Row numbers (query, closer item, farther item); a frame with the columns ``query``,
            ``closer``, ``farther`` and optionally ``weight``; or a Parquet or CSV file of such a
            frame, which is read in blocks.
        queries : array or CSR of shape (n_queries, n_query_features)
        items : array or CSR of shape (n_items, n_item_features), optional
            The queries themselves by default.
        weights : array of shape (n_triplets,), optional
            A weight w replaces AROMA's r by r/w, and OASIS's C by wC.
        validate : bool, default=False
            Hold out queries and closer items, publish the share of the learned change that
            improves them, and keep the start unless it is clearly beaten. By default the published
            updates are followed exactly.
        """
        self._check_parameters(rate_is_chosen=validate)
        queries, items = check_sides(queries, items)
        stream = check_stream(triplets, queries, items, weights)
        if not validate:
            self._start(self._default_form(queries.shape[1], items.shape[1]))
            train(self, stream, queries, items)
            return self
        return fit_stream(self, stream, queries, items)

    def partial_fit_triplets(
        self, triplets: Any, queries: Any, items: Any = None, weights: Any = None
    ) -> Self:
        """Continue learning from more triplets; parameters as in `fit_triplets`.

        Calls on consecutive parts of a list give the same result as `fit_triplets` on the list.
        """
        self._check_parameters(rate_is_chosen=is_known(self))
        started = self._has_started()
        widths = self.state_.W.shape if started else (None, None)
        if items is None and widths[0] != widths[1]:
            raise ValueError(
                f"items must be given: the learned form compares {widths[0]} features with "
                f"{widths[1]}."
            )
        # Rows are not checked for NaN here: a few triplets must not cost a pass over all rows.
        queries, items = check_sides(queries, items, widths, finite=False)
        stream = check_stream(triplets, queries, items, weights)
        if isinstance(stream, TripletStream):
            check_triplet_rows(stream, queries, None if items is queries else items)
        if not started:
            self._start(self._default_form(queries.shape[1], items.shape[1]))
        train(self, stream, queries, items)
        return self

    def initialize(self, n_query_features: int, n_item_features: int) -> Self:
        """Set the initial state for these numbers of features, without any triplets."""
        self._check_parameters()
        self._start(self._default_form(n_query_features, n_item_features))
        return self

    @property
    def similarity_(self) -> Bilinear:
        """The current form; later training does not change it."""
        if not hasattr(self, "state_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet.")
        # Frozen, and copied once after training, which uses memory that its arrays do not own;
        # training copies an array that is frozen.
        if not self.state_.W.flags.owndata:
            self.state_.W = self.state_.W.copy()
        self.state_.W.flags.writeable = False
        return self._as_similarity(self.state_.W)

    def score(self, X: Any, y: Any) -> float:
        """Return the mean average precision of each row as a query among the others."""
        check_is_fitted(self, "state_")
        X = validate_rows(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        return mean_average_precision(self.similarity_, X, y)

    def plot_history(self, ax: Any = None) -> Any:
        """Plot the loss, and the held-out measure if there is one, against triplets seen."""
        check_is_fitted(self, "state_")
        return plot_history(self.history_, getattr(self, "validation_", None), ax)

    @classmethod
    def merge(cls, models: Sequence[Self], start: Self | None = None) -> Self:
        """Return one learner that combines several, each trained on its own triplets.

        Parameters
        ----------
        models : sequence of learners of this class
            All continued from the same start.
        start : learner, optional
            That start, if it was trained itself; it is counted once. By default the initial state.

        Returns
        -------
        A new learner with the parameters of the first.
        """
        return merge_learners(cls, list(models), start)

    def _state_class(self) -> type[State]:
        raise NotImplementedError

    def _update_rule(self) -> UpdateRule:
        raise NotImplementedError

    @classmethod
    def _from_file(cls, validation: Any = None, **parameters: Any) -> Self:
        """Return a learner with the parameters in a file; older files have `validation`."""
        return cls(**parameters)

    def _check_parameters(self, *, rate_is_chosen: bool = False) -> None:
        """Check the parameters; `rate_is_chosen` as in `check_rate`."""
        check_rate(self, is_chosen=rate_is_chosen)
        check_run_parameters(self)
        check_bool(self.normalize, "normalize")
        check_choice(self.dtype, "dtype", ("float32", "float64"))
        check_whole_number(self.n_triplets, "n_triplets")
        check_choice(self.new_items, "new_items", NEW_ITEMS)
        check_choice(self.negatives, "negatives", ("unjudged", "judged"))
        check_number(self.hard_negatives, "hard_negatives", minimum=0, maximum=1)
        fraction = self.validation_fraction
        check_number(fraction, "validation_fraction", minimum=0, exclusive=True, maximum=1)
        if self._starts_from_ridge() and current_backend() is not None:
            raise ValueError(
                "init 'ridge' cannot be fitted on a cluster: fit RidgeSimilarity outside run_on "
                "and give its similarity_ as init."
            )

    def _check_labeled(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray | None]:
        """Return rows and labels, the numbers of rows of positive weight, and all weights."""
        X, y = validate_labeled(
            self, X, y, accept_sparse="csr", dtype=FLOATS, order="C", reset=reset
        )
        rows, relative = weighted_rows(sample_weight, y)
        if relative is None:
            return X, y, rows, None
        weights = np.zeros(len(y))
        weights[rows] = relative
        return X, y, rows, weights

    def _has_started(self) -> bool:
        """Return whether there is a state; raise ValueError if it does not match the parameters."""
        if not hasattr(self, "state_"):
            return False
        if type(self.state_) is not self._state_class() or not self._has_precision():
            raise ValueError(
                f"parameters were changed after learning began with a {type(self.state_).__name__} "
                f"of {self.state_.W.dtype}: fit again."
            )
        return True

    def _has_precision(self) -> bool:
        """Return whether the state has the precision asked for, or double where that is needed."""
        found = self.state_.W.dtype
        return found == self.dtype or (
            found == np.float64 and isinstance(self.state_, FactoredState | FullState)
        )

    def _generator(self, position: int) -> np.random.Generator:
        """Return a generator seeded by `random_state` and the number of triplets seen."""
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return np.random.default_rng([seed, position])

    def _as_similarity(self, W: np.ndarray) -> Bilinear:
        return Bilinear(W, norm="cosine" if self.normalize else "none")

    def _starts_from_ridge(self) -> bool:
        return isinstance(self.init, str) and self.init == "ridge"

    def _check_size(self, n_query: int, n_item: int) -> None:
        """Refuse numbers of features for which there is no state."""

    def _default_form(self, n_query: int, n_item: int) -> np.ndarray:
        self._check_size(n_query, n_item)
        return initial_form(self.init, n_query, n_item, self.dtype, self.normalize)

    def _base_form(self, Q: Rows, P: Rows) -> np.ndarray:
        """Return the W that results are compared with; with ``init="ridge"``, the ridge's start."""
        self._check_size(Q.shape[1], P.shape[1])
        init = "auto" if self._starts_from_ridge() else self.init
        return initial_form(init, Q.shape[1], P.shape[1], self.dtype, self.normalize)

    def _initial_form(self, Q: Rows, P: Rows, fit_ridge: FitRidge) -> np.ndarray:
        """Return the initial W; with ``init="ridge"`` the form of a ridge that is fitted here."""
        self._check_size(Q.shape[1], P.shape[1])
        if self._starts_from_ridge():
            return ridge_form(self, fit_ridge)
        return self._default_form(Q.shape[1], P.shape[1])

    def _start(self, form: np.ndarray) -> None:
        """Reset to an initial W, which the state owns from then on."""
        self.state_ = self._state_class().fresh(form)
        self.n_features_in_ = form.shape[0]
        self.n_triplets_seen_ = 0
        self.n_updates_ = 0
        self.history_: list[dict[str, Any]] = []
        self.__dict__.pop("validation_", None)
        forget_rate(self)
