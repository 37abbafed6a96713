"""SiLA: a similarity under which rows are nearer to their targets than to other classes."""

import zlib
from typing import Any, Literal, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from likewise._progress import LongWork, show_progress
from likewise._threads import for_each
from likewise._validation import Rows, check_choice, check_number, check_whole_number, is_sparse
from likewise.learners.sila._averaging import Form, Updates, VotedSum
from likewise.learners.sila._epochs import Choice, Run, hold_out
from likewise.learners.sila._perceptron import SortedRows, Visits, starting_matrix
from likewise.similarities import Bilinear, as_similarity
from likewise.supervision import target_neighbors

Norm = Literal["cosine", "dice", "jaccard", "none"]

_WIDEST = 16_384  # three matrices of that width take 6 GiB
_MULTIPLICATIONS_A_STEP = 50_000_000  # some hundredths of a second, between looks at Ctrl-C


class SiLA(BaseEstimator):
    """Normalised bilinear similarity, learned for nearest neighbours by a voted perceptron.

    s(x, y) = xᵀAy / N(x, y). Rows are visited one by one. Where the similarities of a row with its
    target neighbours (the nearest of its class under the base similarity) do not sum to more than
    those with its nearest rows of other classes, A is moved towards the former and away from the
    latter. What is used is the sum of all matrices met on the way, each by the number of visits it
    stood (Qamar, Gaussier, Chevallet and Lim, 2008).

    Parameters
    ----------
    form : {"square", "symmetric", "diagonal"}, default="square"
        What A may be.
    norm : {"cosine", "dice", "jaccard", "none"}, default="cosine"
        What N is, and the base similarity; see `Bilinear`. Dice is for values that are not
        negative, Jaccard for values in [0, 1].
    n_neighbors : int, default=3
        Targets, and rows of other classes, of each row.
    n_epochs : int, default=10
        How often every row is visited.
    init : {"zero", "base"}, default="zero"
        The first matrix: zero, or that of the base similarity.
    tail : int, optional
        Sum only the last so many matrices of the sequence.
    early_stopping : bool, default=False
        Choose the number of epochs and, unless it is given, the tail, by the accuracy of
        `n_neighbors` nearest neighbours on a part of the rows that is not learned from.
    validation_fraction : float, default=0.2
        The share of every class in that part.
    protocol : {"multiclass", "one_vs_rest"}, default="multiclass"
        One matrix for all classes, or one for each class against all others.
    shuffle : bool, default=False
        Visit the rows in another order in every epoch; else in the order given.
    random_state : int, RandomState or None
        For the order of visits and the validation part.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    similarity_ : Bilinear
        In the multiclass protocol.
    similarities_ : list of Bilinear
        In the one-vs-rest protocol, one for each class.
    classes_ : ndarray of shape (n_classes,)
    history_ : list of dict
        ``epoch``, ``mistakes``, ``scored`` (rows that could not be told from bounds) and
        ``seconds`` since the start; where they apply ``accuracy``, the best on the validation
        part, and ``class``.
    n_updates_ : int
        Mistakes in all epochs, and in one-vs-rest of all classes.
    n_epochs_, tail_ : int and int or None; in one-vs-rest lists
        Epochs and tail that the similarity was made of.
    state_ : dict or list of dict
        Where `partial_fit` goes on; not with `early_stopping`.
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

    def fit(self, X: Any, y: Any) -> "SiLA":
        """Learn the similarity from labelled rows.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        """
        self._check_parameters()
        X, y = self._check_rows(X, y, reset=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        held_out = np.zeros(len(y), dtype=bool)
        if self.early_stopping:
            held_out = hold_out(y, self.validation_fraction, seed)
        return self._train(X, y, held_out, seed, None)

    def partial_fit(self, X: Any, y: Any) -> "SiLA":
        """Go on for `n_epochs` more epochs, from where the last `fit` or `partial_fit` ended.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
            With a `tail`, which reaches back to earlier visits, the same rows as before.
        y : array of shape (n_rows,)
        """
        self._check_parameters()
        if self.early_stopping:
            raise ValueError(
                "early_stopping chooses among all epochs of a fit: partial_fit needs it to be "
                "False."
            )
        if not hasattr(self, "state_"):
            return self.fit(X, y)
        X, y = self._check_rows(X, y, reset=False)
        one_each = isinstance(self.state_, list)
        if one_each != (self.protocol == "one_vs_rest"):
            raise ValueError(f"protocol was changed to {self.protocol!r} after fit: fit again.")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has the class {unknown[0]!s}, which was not there at fit.")
        states: list[Any] = self.state_ if one_each else [self.state_]  # type: ignore[assignment]
        self._check_states(states, X, y)
        return self._train(X, y, np.zeros(len(y), dtype=bool), states[0]["seed"], states)

    def _check_parameters(self) -> None:
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

    def _check_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Rows, np.ndarray]:
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, order="C", reset=reset,
            ensure_min_samples=2,
        )  # fmt: skip
        check_classification_targets(y)
        present = np.unique(y)
        if len(present) < 2:
            raise ValueError(f"y has one class, {present[0]!s}; at least two classes are needed.")
        X = _base(self.norm).check_queries(X, "X")
        if self.form != "diagonal" and X.shape[1] > _WIDEST:
            raise ValueError(
                f"form {self.form!r} keeps matrices of n_features², and X has {X.shape[1]} "
                f"features: at most {_WIDEST} are taken. Use form 'diagonal', or fewer features."
            )
        return X, y

    def _check_states(self, states: list[dict[str, Any]], X: Rows, y: np.ndarray) -> None:
        """Refuse what would not go on with the sequence that is there."""
        n_features = X.shape[1]
        shape = (n_features,) if self.form == "diagonal" else (n_features, n_features)
        for state in states:
            if state["A"].shape != shape or state["partners"].shape[1] != 2 * self.n_neighbors:
                raise ValueError("form or n_neighbors was changed after fit: fit again.")
            if self.tail is None:
                continue
            if state["tail"] is None or state["tail"] < self.tail:
                raise ValueError(
                    f"tail was raised to {self.tail} after fit, and the earlier matrices are not "
                    "kept: fit again."
                )
            if state["checksum"] != _checksum(X, y):
                raise ValueError(
                    "tail reaches back to rows of an earlier call: partial_fit needs the same X "
                    "and y, or tail=None."
                )

    def _train(
        self, X: Rows, y: np.ndarray, held_out: np.ndarray, seed: int, states: list[Any] | None
    ) -> "SiLA":
        classes = np.unique(y) if states is None else self.classes_
        labels = np.searchsorted(classes, y)
        learned = np.flatnonzero(~held_out)
        part = X[learned] if self.early_stopping else X
        rows = SortedRows(part, labels[learned], self.norm)
        targets = _targets(part, y[learned], self.n_neighbors, self.norm)
        begun = 0 if states is None else states[0]["n_epochs"]
        runs = []
        for number, (group, reach, own) in enumerate(self._problems(rows, part, targets)):
            voted = self._start(rows, None if states is None else states[number])
            visits = Visits(rows, group, reach, own, voted)
            choice = None
            if self.early_stopping:
                binary = None if self.protocol == "multiclass" else number
                choice = Choice(self.norm, self.n_neighbors, X, labels, held_out, binary)
            runs.append(Run(visits, choice, begun))
        self._visit(runs, rows, begun, seed)
        self.classes_: np.ndarray = classes
        self._publish(runs, states is not None, {"seed": seed, "checksum": _checksum(X, y)})
        return self

    def _problems(self, rows: SortedRows, X: Rows, targets: np.ndarray) -> Any:
        """Yield groups, what is other to them, and targets: once, or for each class."""
        n_classes = len(rows.segments) - 1
        place = np.argsort(rows.original)
        sort = lambda found: np.where(found < 0, -1, place[found])[rows.original]  # noqa: E731
        except_own = [(0, c, c + 1, n_classes) for c in range(n_classes)]
        if self.protocol == "multiclass":
            yield rows.labels, np.array(except_own), sort(targets)
            return
        for c in range(n_classes):
            reach = np.array([(c, c + 1, 0, 0), except_own[c]])
            rest = np.sort(rows.original[rows.labels != c])
            own = targets.copy()
            own[rest] = _targets_among(X, rest, self.n_neighbors, self.norm)
            yield (rows.labels == c).astype(np.int64), reach, sort(own)

    def _start(self, rows: SortedRows, state: dict[str, Any] | None) -> VotedSum:
        form = self.form
        if state is None:
            A = starting_matrix(rows.X.shape[1], form, self.init, self.norm)
            none = Updates.none(self.n_neighbors)
            return VotedSum(rows.X, form, A, np.zeros_like(A), 0, 0, self.tail, none)
        recent = Updates(*(state[name] for name in ("rows", "partners", "weights", "visits")))
        counts = state["n_visits"], state["n_updates"]
        A, weighted = state["A"].copy(), state["weighted"].copy()
        return VotedSum(rows.X, form, A, weighted, *counts, self.tail, recent)

    def _visit(self, runs: list[Run], rows: SortedRows, begun: int, seed: int) -> None:
        """Run the epochs, all problems side by side, until they are done or Ctrl-C."""
        n = len(rows.labels)
        place = np.argsort(rows.original)
        size = n * n * rows.X.shape[1] if not is_sparse(rows.X) else n * rows.X.nnz
        at_once = max(1, _MULTIPLICATIONS_A_STEP // size)

        def order(epoch: int) -> np.ndarray:
            if not self.shuffle:
                return place
            return place[np.random.default_rng([seed, epoch]).permutation(n)]

        total = self.n_epochs
        with (
            show_progress(self.verbose),
            LongWork(
                "fitting SiLA", total=total, unit="epochs", partial_result="the epochs so far"
            ) as work,
        ):
            for _ in range(0, total, at_once):
                if work.interrupted:
                    break
                epochs = range(begun + work.done, begun + min(work.done + at_once, total))
                for_each(lambda run: run.go_on(epochs, order), runs)  # noqa: B023
                work.advance(len(epochs))

    def _publish(self, runs: list[Run], more: bool, about: dict[str, Any]) -> None:
        one_each = self.protocol == "one_vs_rest"
        found = [run.result() for run in runs]
        learned = [Bilinear(W, norm=self.norm) for W, _, _ in found]
        epochs, tails = [epoch for _, epoch, _ in found], [tail for _, _, tail in found]
        history = list(self.history_) if more else []
        for of_epoch in zip(*(run.history for run in runs), strict=True):
            for label, entry in zip(self.classes_, of_epoch, strict=False):
                name = {"class": label.item() if isinstance(label, np.generic) else label}
                history.append({**(name if one_each else {}), **entry})
        for stale in ("similarity_", "similarities_", "state_"):
            self.__dict__.pop(stale, None)
        if one_each:
            self.similarities_ = learned
        else:
            self.similarity_ = learned[0]
        self.n_epochs_ = epochs if one_each else epochs[0]
        self.tail_ = tails if one_each else tails[0]
        self.history_: list[dict[str, Any]] = history
        self.n_updates_ = sum(run.voted.n_updates for run in runs)
        if not self.early_stopping:
            states = [{**run.state(), **about} for run in runs]
            self.state_ = states if one_each else states[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.norm in ("dice", "jaccard")
        return tags


def _base(norm: str) -> Any:
    return as_similarity("dot" if norm == "none" else norm)


def _targets(X: Rows, y: np.ndarray, k: int, norm: str) -> np.ndarray:
    return target_neighbors(_base(norm), X, X, y, k)[0]


def _targets_among(X: Rows, members: np.ndarray, k: int, norm: str) -> np.ndarray:
    """Return the nearest rows of a set of rows to each other; −1 where there are fewer."""
    found = np.full((len(members), k), -1)
    n_found = min(k, len(members) - 1)
    if n_found:
        rows = X[members]
        matches = _base(norm).neighbors(rows, rows, n_found, exclude_self=True)
        found[:, :n_found] = members[matches.ids]
    return found


def _checksum(X: Rows, y: np.ndarray) -> int:
    """Return a number that tells whether rows and labels are the same as before."""
    parts = (X.data, X.indices, X.indptr) if is_sparse(X) else (X,)
    found = zlib.crc32("".join(map(str, y)).encode())
    for part in parts:
        found = zlib.crc32(np.ascontiguousarray(part).tobytes(), found)
    return found
