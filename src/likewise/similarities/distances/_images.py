"""Images by distances that know what a pixel's neighbours are."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from likewise import kernels
from likewise._validation import Rows, check_number, check_rows, is_sparse
from likewise.similarities.distances._base import Dissimilarity, NamePair

_N_TANGENTS = 7
_IMAGES_AT_A_TIME = 512
_NO_TANGENT = 1e-10  # share of an image's strongest tangent below which a direction is rounding


@dataclass(frozen=True, eq=False)
class ImageDistance(Dissimilarity):
    """Euclid in which near pixels count as nearly the same: √((x − y)ᵀ G (x − y)).

    G is a Gaussian of the distance between pixels, g = exp(−‖P − P′‖² / 2σ²) / 2πσ² (Wang, Zhang
    and Feng, 2005); it is small for strokes that are a little displaced.

    Parameters
    ----------
    shape : (height, width), optional
        Of the images that the rows hold; square by default.
    sigma : float, default=1.0
        In pixels.
    """

    shape: tuple[int, int] | None = None
    sigma: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.sigma, "sigma", minimum=0, exclusive=True)

    @property
    def takes(self) -> Literal["rows"]:
        """Rows of pixels."""
        return "rows"

    def check(self, X: Any, name: str = "X") -> Rows:
        """Return dense rows of pixels."""
        return _check_pixels(X, name, self.shape)

    def prepare(self, X: Any) -> np.ndarray:
        """Return images after G^½, under which Euclid is this distance."""
        height, width = _shape_of(X.shape[1], self.shape)
        images = X.reshape(len(X), height, width).astype(np.float64)
        down, across = (_root_of_gaussian(size, self.sigma) for size in (height, width))
        blurred: np.ndarray = down @ images @ across
        return blurred.reshape(len(X), -1)

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Ask scipy for Euclid."""
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(left, right))


@dataclass(frozen=True, eq=False)
class TangentDistance(Dissimilarity):
    """Distance between images when each may be shifted, scaled, turned, sheared and thickened.

    The seven deformations are linear near an image: its tangents. The distance is that of the two
    tangent planes, two-sided (Simard, Le Cun and Denker, 1993).

    Parameters
    ----------
    shape : (height, width), optional
        Of the images that the rows hold; square by default.
    smoothing : float, default=0.7
        Width, in pixels, of the Gaussian by which images are smoothed before they are compared and
        their tangents taken.
    stiffness : float, default=0.01
        What a unit of deformation costs; small and above 0.
    """

    shape: tuple[int, int] | None = None
    smoothing: float = 0.7
    stiffness: float = 0.01

    def __post_init__(self) -> None:
        check_number(self.smoothing, "smoothing", minimum=0)
        check_number(self.stiffness, "stiffness", minimum=0, exclusive=True)

    @property
    def takes(self) -> Literal["rows"]:
        """Rows of pixels."""
        return "rows"

    def check(self, X: Any, name: str = "X") -> Rows:
        """Return dense rows of pixels."""
        return _check_pixels(X, name, self.shape)

    def prepare(self, X: Any) -> np.ndarray:
        """Return each image, smoothed, with its orthonormal tangents: (n, 1 + 7, n_pixels)."""
        shape = _shape_of(X.shape[1], self.shape)
        prepared = np.empty((len(X), 1 + _N_TANGENTS, X.shape[1]))
        for start in range(0, len(X), _IMAGES_AT_A_TIME):
            part = slice(start, start + _IMAGES_AT_A_TIME)
            images = X[part].reshape(-1, *shape).astype(np.float64)
            prepared[part] = _with_tangents(images, self.smoothing)
        return prepared

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Multiply all with all, and solve a small system for each pair."""
        n_pixels = left.shape[2]
        products = left.reshape(-1, n_pixels) @ right.reshape(-1, n_pixels).T
        own = [np.einsum("ikf,if->ik", side[:, 1:], side[:, 0]) for side in (left, right)]
        out = np.empty((len(left), len(right)))
        kernels.tangent_distances(
            products, left[:, 0], right[:, 0], own[0], own[1], self.stiffness, out
        )
        return out


def _with_tangents(images: np.ndarray, smoothing: float) -> np.ndarray:
    from scipy.ndimage import gaussian_filter

    height, width = images.shape[1:]
    smooth = gaussian_filter(images, (0, smoothing, smoothing), mode="constant")
    padded = np.pad(smooth, ((0, 0), (1, 1), (1, 1)))
    dy = (padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]) / 2
    dx = (padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]) / 2
    y, x = np.mgrid[:height, :width]
    y, x = y - (height - 1) / 2, x - (width - 1) / 2
    tangents = np.stack(
        [
            dx,  # shift across
            dy,  # shift down
            x * dx + y * dy,  # scale
            y * dx - x * dy,  # turn
            x * dx - y * dy,  # stretch one axis, shrink the other
            y * dx + x * dy,  # the same along the diagonals
            dx**2 + dy**2,  # thicken
        ],
        axis=1,
    ).reshape(len(images), _N_TANGENTS, -1)
    return np.concatenate([smooth.reshape(len(images), 1, -1), _orthonormal(tangents)], axis=1)


def _orthonormal(tangents: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of each image's tangents; zeros where they are fewer."""
    lengths = np.sqrt(np.einsum("ikf,ikf->ik", tangents, tangents))[:, :, None]
    unit = np.divide(tangents, lengths, out=np.zeros_like(tangents), where=lengths > 0)
    strengths, axes = np.linalg.eigh(unit @ unit.transpose(0, 2, 1))
    kept = strengths > _NO_TANGENT * np.maximum(strengths[:, -1:], 1e-300)
    scale = np.where(kept, 1 / np.sqrt(np.where(kept, strengths, 1.0)), 0.0)
    return np.asarray((axes * scale[:, None, :]).transpose(0, 2, 1) @ unit)


def _root_of_gaussian(size: int, sigma: float) -> np.ndarray:
    """Return K^½ of K = exp(−(i − j)² / 2σ²) / √2πσ; G is its product down and across."""
    apart = np.subtract.outer(np.arange(size), np.arange(size))
    gaussian = np.exp(-(apart**2) / (2 * sigma**2)) / (math.sqrt(2 * math.pi) * sigma)
    strengths, axes = np.linalg.eigh(gaussian)
    root: np.ndarray = (axes * np.sqrt(np.maximum(strengths, 0.0))) @ axes.T
    return root


def _check_pixels(X: Any, name: str, shape: tuple[int, int] | None) -> Rows:
    if is_sparse(X):
        raise TypeError(f"{name} is sparse, but images are dense rows: {name}.toarray().")
    rows = check_rows(X, name)
    _shape_of(rows.shape[1], shape, name)
    return rows


def _shape_of(n_pixels: int, shape: tuple[int, int] | None, name: str = "X") -> tuple[int, int]:
    side = math.isqrt(n_pixels)
    height, width = (side, side) if shape is None else shape
    if height * width != n_pixels:
        wanted = "a square image" if shape is None else f"an image of {height} × {width}"
        raise ValueError(
            f"{name} has {n_pixels} columns, which are not the pixels of {wanted}: give the "
            "distance the shape of the images."
        )
    return int(height), int(width)
