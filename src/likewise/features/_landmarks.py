"""Similarities to landmarks as features, beside the native features of rows."""

from contextlib import suppress
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise._execution import current_backend, use_backend, validate_rows
from likewise._files import check_place, fields, write_npy
from likewise._progress import LongWork, show_progress
from likewise._threads import limit_threads
from likewise._validation import (
    FLOATS,
    Rows,
    check_choice,
    check_labels,
    check_number,
    check_run_parameters,
    check_square,
    check_whole_number,
    is_sparse,
    n_rows,
    take,
    validate_data,
)
from likewise._warnings import warn
from likewise.metrics import sampling_error
from likewise.similarities import (
    Naive,
    Ranked,
    Similarity,
    as_objects,
    join_columns,
    set_input_tags,
    similarity_among,
    underlying_similarity,
)

_LANDMARKS_CHECKED = 50
_SELECT = ("random", "kmeans++", "per_class")
_UNLABELED = -1  # scikit-learn's convention


class LandmarkFeatures(TransformerMixin, BaseEstimator):
    """Map x to (x, K(x, x₁), …, K(x, x_d)): its native features and its similarities to landmarks.

    Landmarks are drawn from all rows given to `fit`, which needs no labels; a linear classifier on
    the result is then trained on the labeled rows (Balcan and Blum, 2006; Rwebangira and Blum,
    2009). K need not be symmetric, nor a kernel, and rows may be any objects.

    Parameters
    ----------
    similarity : {"ranked", "naive"}, str, Similarity or callable, default="ranked"
        K, with values in [−1, 1]. ``"ranked"`` is `likewise.Ranked` among the rows of `fit`,
        ``"naive"`` is 1/(1 + d); the rest is as in `likewise.as_similarity`. A function of two
        objects is K itself, larger for more similar ones.
    n_landmarks : int, default=200
        Number of landmarks; limited to the number of rows, with a warning.
    select : {"random", "kmeans++", "per_class"}, default="random"
        ``random``: uniformly. ``kmeans++``: with a probability proportional to the squared distance
        to the nearest landmark so far. ``per_class``: equally many labeled rows of each class.
    boolean : float or sequence of float, optional
        Instead of K, 1 for landmarks among this share of the rows of `fit` nearest to x, otherwise
        0. Each share has its own columns.
    keep_native : bool or "auto", default="auto"
        Whether the features include x itself; auto: if x is numeric.
    base : str, Similarity, callable or fitted learner, default="euclidean"
        The similarity underlying ``"ranked"`` and ``"naive"``, such as
        ``lw.LMNN().fit(X, y).similarity_`` or ``lw.from_distance(...)``.
    sample_size : int, optional
        Compute ranks among this number of rows, drawn at random; among all by default.
        `rank_error_` bounds the error.
    n_jobs : int, optional
        Number of threads; by default that of BLAS, and -1 for all cores. Results do not depend on
        it.
    random_state : int, RandomState or None
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    landmarks_ : array, CSR or list
        The landmarks: rows, or objects; column numbers of a precomputed matrix.
    landmark_rows_ : ndarray of shape (n_landmarks,)
        Their row numbers in `fit`.
    similarity_ : Similarity
        K; with `boolean` always a `Ranked`.
    rank_error_ : float
        Bound, with probability 0.95, on the error of a ranked K due to `sample_size`; 0 without.
    n_features_in_ : int
    n_features_out_ : int

    Examples
    --------
    >>> import likewise as lw
    >>> ring = lw.datasets.circle(1000, random_state=0)
    >>> features = lw.LandmarkFeatures(n_landmarks=50, random_state=0).fit(ring.X)
    >>> features.transform(ring.X[:3]).shape
    (3, 52)
    """

    _file_fields: ClassVar[fields.Declaration] = {
        "similarity_": fields.Instance(Similarity),
        "landmarks_": fields.Items("similarity_", "landmarks"),
        "landmark_rows_": fields.Array(fields.INTEGERS, "landmarks", minimum=0),
        "rank_error_": fields.Number(whole=False),
        "keeps_native_": fields.Choice(False, True),
        "n_features_out_": fields.Number(size=lambda sizes: _n_columns(sizes)),
    }

    def __init__(
        self,
        similarity: Any = "ranked",
        n_landmarks: int = 200,
        select: str = "random",
        boolean: Any = None,
        keep_native: Any = "auto",
        *,
        base: Any = "euclidean",
        sample_size: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.similarity = similarity
        self.n_landmarks = n_landmarks
        self.select = select
        self.boolean = boolean
        self.keep_native = keep_native
        self.base = base
        self.sample_size = sample_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the landmarks.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features), a frame, or a list of objects
            All available rows, labeled or not.
        y : array of shape (n_rows,), optional
            Only for ``select="per_class"``; −1 for unlabeled rows.
        """
        self._check_parameters()
        compared = self.compared_similarity()
        if y is not None and (backend := current_backend()) is not None:
            y = backend.labels(y, "y")
        rows = self.check_rows(X, compared, reset=True)
        keeps_native = self._is_native_kept(rows, compared)
        if compared.takes == "matrix":
            check_square(rows, "X")
        items = np.arange(n_rows(rows)) if compared.takes == "matrix" else rows
        random = check_random_state(self.random_state)
        with show_progress(self.verbose), limit_threads(self.n_jobs):
            chosen = self._choose(rows, items, y, compared, random)
            similarity, error = self._similarity_among(items, random)
            if not isinstance(similarity, Ranked | Naive):
                _warn_out_of_range(similarity, rows, items, chosen)
        self.landmarks_ = take(items, chosen)
        self.landmark_rows_ = chosen
        self.similarity_, self.rank_error_ = similarity, error
        self.keeps_native_ = keeps_native
        n_native = rows.shape[1] if keeps_native else 0
        self.n_features_out_ = n_native + len(chosen) * max(1, len(self._shares()))
        return self

    def transform(self, X: Any, out: Any = None) -> Rows:
        """Return the features of each row: CSR if `X` is sparse and kept, otherwise dense.

        Parameters
        ----------
        X : as in `fit`
        out : path, optional
            An .npy file to write; the features are returned as a memory-mapped array.
        """
        check_is_fitted(self)
        if out is not None and check_place(out).suffix != ".npy":
            raise ValueError(f"out must be an .npy file, but {out} was given.")
        backend = current_backend()
        if backend is not None and self.similarity_.takes == "rows":
            rows = validate_rows(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
            with show_progress(self.verbose):
                return backend.transform(transform_block, rows, self, self.n_features_out_, out)
        features = self._features(X)
        if out is None:
            return features
        write_npy(out, [features], features.shape[0])
        return np.load(out, mmap_mode="r")

    def _features(self, X: Any) -> Any:
        rows = self.check_rows(X, self.similarity_)
        with show_progress(self.verbose), limit_threads(self.n_jobs):
            similarities = self.landmark_scores(rows)
        if not self.keeps_native_:
            return similarities
        native = rows if is_sparse(rows) else np.asarray(rows, dtype=similarities.dtype)
        return join_columns(native, similarities)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns: those of X, then landmark0, landmark1 and so on."""
        check_is_fitted(self)
        n = len(self.landmark_rows_)
        shares = [f"<{share:g}" for share in self._shares()] or [""]
        names = [f"landmark{i}{share}" for share in shares for i in range(n)]
        if self.keeps_native_:
            n_native = self.n_features_out_ - len(names)
            if input_features is None:
                input_features = getattr(self, "feature_names_in_", None)
            native = (
                [f"x{i}" for i in range(n_native)] if input_features is None else input_features
            )
            if len(native) != n_native:
                raise ValueError(
                    f"input_features has {len(native)} names, but X has {n_native} columns."
                )
            names = [*native, *names]
        return np.array(names, dtype=object)

    def landmark_scores(self, rows: Any) -> np.ndarray:
        """Return K, or the booleans, of every row with every landmark."""
        shares = self._shares()
        if not shares:
            return self.similarity_.score(rows, self.landmarks_)
        assert isinstance(self.similarity_, Ranked)  # as `fit` ensures
        closer = self.similarity_.closer(rows, self.landmarks_)
        dtype = rows.dtype if self.similarity_.takes == "rows" else np.float64
        # Tolerance for rounding: 0.07 and 7/100 may differ, which must not admit one row more.
        return np.hstack([(closer < share - 1e-12).astype(dtype) for share in shares])

    def _shares(self) -> tuple[float, ...]:
        return () if self.boolean is None else tuple(np.atleast_1d(self.boolean).tolist())

    def _check_parameters(self) -> None:
        check_whole_number(self.n_landmarks, "n_landmarks")
        check_choice(self.select, "select", _SELECT)
        for share in self._shares():
            if check_number(share, "boolean", minimum=0, exclusive=True) >= 1:
                raise ValueError(f"boolean must be a share below 1, but {share} was given.")
        if not isinstance(self.keep_native, bool):
            check_choice(self.keep_native, "keep_native", ["auto"])
        if self.sample_size is not None:
            check_whole_number(self.sample_size, "sample_size")
        check_run_parameters(self)

    def compared_similarity(self) -> Similarity:
        """Return the similarity of two rows that K is based on."""
        return underlying_similarity(self.similarity, self.base)

    def check_rows(self, X: Any, compared: Similarity, *, reset: bool = False) -> Any:
        """Return rows in the form in which `compared` takes them; `reset` as in scikit-learn."""
        if compared.takes == "objects":
            return as_objects(X, "X")
        if self._is_remote(X, compared):
            return self._check_remote_rows(validate_rows(self, X))
        sparse = "csr" if compared.takes == "rows" else False
        rows = validate_data(self, X, accept_sparse=sparse, dtype=FLOATS, reset=reset)
        return compared.check_queries(rows, "X")

    def _ranks(self) -> bool:
        return self.boolean is not None or self.similarity == "ranked"

    def _is_remote(self, X: Any, compared: Similarity) -> bool:
        backend = current_backend()
        if backend is None or compared.takes != "rows" or not backend.is_remote(X):
            return False
        # A memory-mapped array is read like any other array where ranks need all of its rows.
        return not (isinstance(X, np.memmap) and self._ranks() and self.sample_size is None)

    def _check_remote_rows(self, rows: Any) -> Any:
        if self.select == "kmeans++":
            raise ValueError("select 'kmeans++' needs rows in memory: use 'random' or 'per_class'.")
        if self._ranks() and (self.sample_size is None or self.sample_size >= len(rows)):
            raise ValueError(
                f"sample_size must be given, and below {len(rows)}, where rows are not in memory: "
                "ranks are counted among this many of them."
            )
        return rows

    def _is_native_kept(self, rows: Any, compared: Similarity) -> bool:
        has_native = is_table(rows, compared)
        if self.keep_native is True and not has_native:
            raise ValueError(
                "keep_native is True, but X has no native features: it must be a table of numbers "
                "and not a precomputed matrix."
            )
        return has_native if self.keep_native == "auto" else bool(self.keep_native)

    def _choose(
        self, rows: Any, items: Any, y: Any, compared: Similarity, random: np.random.RandomState
    ) -> np.ndarray:
        n = n_rows(rows)
        wanted = self.n_landmarks
        if wanted > n:
            warn(
                f"n_landmarks is {wanted}, but X has only {n} rows: all of them are landmarks.",
            )
            wanted = n
        if self.select == "kmeans++":
            return _kmeans_plus_plus(rows, items, wanted, compared, random)
        if self.select == "per_class":
            if y is None:
                raise ValueError(
                    "select 'per_class' requires y to be passed, but the target y is None."
                )
            return _draw_per_class(check_labels(y, "y", rows, "X"), wanted, random)
        return random.permutation(n)[:wanted]

    def _similarity_among(
        self, items: Any, random: np.random.RandomState
    ) -> tuple[Similarity, float]:
        """Return K, and the bound on its error due to sampling."""
        n = n_rows(items)
        size = n if self.sample_size is None else min(self.sample_size, n)
        sample = items if size == n else take(items, np.sort(random.permutation(n)[:size]))
        similarity = similarity_among(self.similarity, sample, self.base)
        if self.boolean is not None and not isinstance(similarity, Ranked):
            similarity = Ranked(sample, similarity)
        is_sampled = isinstance(similarity, Ranked) and similarity is not self.similarity
        return similarity, 2 * sampling_error(size, n) if is_sampled else 0.0

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_out_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.select == "per_class"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        with suppress(TypeError, ValueError):  # `fit` reports the error
            set_input_tags(tags, self.compared_similarity())
        return tags


def _n_columns(sizes: fields.Sizes) -> int:
    n_native = sizes["features"] if sizes.values["keeps_native_"] else 0
    return n_native + sizes["landmarks"] * max(1, len(sizes.model._shares()))


def transform_block(X: Any, fitted: LandmarkFeatures) -> Rows:
    """Return the features of a block of rows, in this process."""
    with use_backend(None):
        return fitted.transform(X)


def is_table(rows: Any, compared: Similarity) -> bool:
    """Return whether checked rows have numbers as native features."""
    if compared.takes != "objects":
        return compared.takes == "rows"
    return isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.dtype.kind in "fiub"


def _kmeans_plus_plus(
    rows: Any, items: Any, wanted: int, compared: Similarity, random: np.random.RandomState
) -> np.ndarray:
    """Draw rows as k-means++ does: by the squared distance to the nearest row drawn before."""
    if not compared.has_distance:
        raise ValueError(
            f"select 'kmeans++' needs a distance, but {compared!r} has none: use 'random'."
        )
    n = n_rows(rows)
    chosen = [int(random.randint(n))]
    nearest = np.full(n, np.inf)
    with LongWork("choosing landmarks", total=wanted, unit="landmarks") as work:
        while len(chosen) < wanted:
            to_last = compared.distance(rows, take(items, np.array(chosen[-1:])))[:, 0]
            nearest = np.minimum(nearest, to_last.astype(np.float64) ** 2)
            nearest[chosen] = 0
            total = nearest.sum()
            if total > 0:
                drawn = int(np.searchsorted(nearest.cumsum(), random.uniform() * total, "right"))
                drawn = min(drawn, int(np.flatnonzero(nearest)[-1]))
            else:  # the remaining rows are duplicates of landmarks
                drawn = int(random.choice(np.setdiff1d(np.arange(n), chosen)))
            chosen.append(drawn)
            work.advance()
    return np.array(chosen)


def _draw_per_class(y: np.ndarray, wanted: int, random: np.random.RandomState) -> np.ndarray:
    """Draw equally many labeled rows of each class, as far as available."""
    labeled = is_labeled(y)
    if not labeled.any():
        raise ValueError("y has no labels, only -1; select 'per_class' needs some.")
    classes = np.unique(y[labeled])
    queues = [random.permutation(np.flatnonzero(labeled & (y == label))) for label in classes]
    # Round-robin: the first row of every class, the second of every class, and so on.
    turns = [queue[turn] for turn in range(max(map(len, queues))) for queue in queues
             if turn < len(queue)]  # fmt: skip
    if len(turns) < wanted:
        warn(
            f"n_landmarks is {wanted}, but only {len(turns)} rows have a label: all of them are "
            "landmarks.",
        )
    return np.array(turns[:wanted])


def is_labeled(y: np.ndarray) -> np.ndarray:
    """Return a mask of the labeled rows: those whose label is not −1."""
    if y.dtype.kind in "US":
        return np.ones(len(y), dtype=bool)
    return np.asarray(y != _UNLABELED)


def _warn_out_of_range(similarity: Similarity, rows: Any, items: Any, chosen: np.ndarray) -> None:
    """Warn of values outside [−1, 1], for which the theory does not hold."""
    few = chosen[:_LANDMARKS_CHECKED]
    scores = similarity.score(take(rows, few), take(items, few))
    if scores.min() < -1 - 1e-6 or scores.max() > 1 + 1e-6:
        warn(
            f"similarity gave values from {scores.min():.4g} to {scores.max():.4g}, but landmarks "
            "need values in [-1, 1]: use 'ranked' or 'naive' with base=..., or scale it.",
        )
