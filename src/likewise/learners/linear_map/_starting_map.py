"""Initial linear maps."""

from typing import Any

import numpy as np

from likewise._validation import check_choice

INITS = ("identity", "pca", "lda")


def check_n_components(n_components: int | None, n_features: int) -> None:
    """Raise ValueError if the map would have more rows than features."""
    if n_components is not None and n_components > n_features:
        raise ValueError(f"n_components is {n_components}, but X has only {n_features} features.")


def starting_map(X: np.ndarray, y: np.ndarray | None, init: Any, n_components: int | None) -> Any:
    """Return a map of shape (n_components, n_features).

    Parameters
    ----------
    X : (n_rows, n_features) array
    y : (n_rows,) array of labels, or None where there are none
    init : {"identity", "pca", "lda"} or array
        The axes, the principal components, the linear discriminants, or a given map.
    n_components : int, optional
        By default the number of features; with "lda" the number of classes minus one.
    """
    n_features = X.shape[1]
    if not isinstance(init, str):
        return _given_map(init, n_components, n_features)
    check_choice(init, "init", INITS, ["an array"])
    if init == "lda":
        return _discriminants(X, y, n_components)
    size = n_features if n_components is None else n_components
    if init == "identity":
        return np.eye(size, n_features)
    from sklearn.decomposition import PCA

    if size > min(X.shape):
        raise ValueError(
            f"init 'pca' finds at most {min(X.shape)} components in {X.shape[0]} rows of "
            f"{n_features} features, but n_components is {size}."
        )
    return PCA(size, svd_solver="full").fit(X).components_.astype(np.float64)


def _given_map(init: Any, n_components: int | None, n_features: int) -> np.ndarray:
    L = np.array(init, dtype=np.float64)
    if L.ndim != 2 or L.shape[1] != n_features or n_components not in (None, L.shape[0]):
        raise ValueError(
            f"init must be an array of shape ({n_components or 'n_components'}, {n_features}), but "
            f"has shape {L.shape}."
        )
    if not np.isfinite(L).all():
        raise ValueError("init holds NaN or infinity; it must be finite.")
    if not L.any():
        raise ValueError("init must not be zero everywhere: the gradient is zero there.")
    return L


def _discriminants(X: np.ndarray, y: np.ndarray | None, n_components: int | None) -> np.ndarray:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    if y is None:
        raise ValueError("init 'lda' needs labels; use 'identity' or 'pca'.")
    maximum = min(X.shape[1], len(np.unique(y)) - 1)
    if n_components is not None and n_components > maximum:
        raise ValueError(
            f"init 'lda' gives at most {maximum} components, but n_components is {n_components}."
        )
    scalings = LinearDiscriminantAnalysis().fit(X, y).scalings_.T
    return scalings[: n_components or maximum].astype(np.float64)
