"""Rows as points in a plane: classical scaling of their scores, and maps that lie alike."""

import numpy as np


def plane_map(scores: np.ndarray) -> tuple[np.ndarray, float]:
    """Return points in the plane whose inner products are close to the centered scores.

    For −d² this is PCA of the mapped rows, up to a factor.

    Parameters
    ----------
    scores : array of shape (n, n)
        Scores of rows with each other; the mean of both orders is used.

    Returns
    -------
    points : ndarray of shape (n, 2)
    kept : float
        Share of the positive eigenvalues that the plane keeps; 0 where all rows are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.evaluation import plane_map
    >>> points, kept = plane_map(np.diag([1.0, 1.0, 1.0]))
    >>> points.shape, round(kept, 3)
    ((3, 2), 1.0)
    """
    symmetric = (scores + scores.T).astype(np.float64) / 2
    means = symmetric.mean(axis=0)
    values, vectors = np.linalg.eigh(symmetric - means - means[:, None] + means.mean())
    values = np.maximum(values[::-1], 0)
    if len(values) < 2 or not values[0] > 0:
        return np.zeros((len(values), 2)), 0.0
    return vectors[:, :-3:-1] * np.sqrt(values[:2]), float(values[:2].sum() / values.sum())


def align_map(points: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Rotate or reflect points to lie as close to `target` as possible, without scaling them."""
    from scipy.linalg import orthogonal_procrustes

    return np.asarray(points @ orthogonal_procrustes(points, target)[0])
