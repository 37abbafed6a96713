"""Distances between images that take the neighborhood of each pixel into account."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise import kernels
from likewise._threads import slices
from likewise._validation import Rows, check_number, check_rows, is_sparse
from likewise.similarities._blocks import Distance, NamePair

_N_TANGENTS = 7
_IMAGES_AT_A_TIME = 512
_MIN_STRENGTH = 1e-10  # relative strength below which a tangent is a rounding error


@dataclass(frozen=True, eq=False)
class _ImageRows(Distance):
    """A distance between images in dense rows of pixels."""

    takes = "rows"

    def check_queries(self, Q: Any, name: str = "Q") -> Rows:
        """Return dense rows of pixels."""
        if is_sparse(Q):
            raise TypeError(f"{name} is sparse, but images are dense rows: {name}.toarray().")
        return check_rows(Q, name)


@dataclass(frozen=True, eq=False)
class _PixelDistance(_ImageRows):
    """A distance that needs the shape of the images."""

    shape: tuple[int, int] | None = None

    def check_queries(self, Q: Any, name: str = "Q") -> Rows:
        """Return dense rows of pixels of images of this shape."""
        rows = super().check_queries(Q, name)
        self._image_shape(rows.shape[1], name)
        return rows

    def _image_shape(self, n_pixels: int, name: str = "X") -> tuple[int, int]:
        side = math.isqrt(n_pixels)
        height, width = (side, side) if self.shape is None else self.shape
        if height * width != n_pixels:
            kind = "a square image" if self.shape is None else f"an image of {height} × {width}"
            raise ValueError(
                f"{name} has {n_pixels} columns, which are not the pixels of {kind}: pass the "
                "shape of the images to the distance."
            )
        return int(height), int(width)


@dataclass(frozen=True, eq=False)
class ImageDistance(_PixelDistance):
    """Euclidean distance in which nearby pixels are correlated: √((x − y)ᵀ G (x − y)).

    G is a Gaussian of the distance between pixels, g = exp(−‖P − P′‖² / 2σ²) / 2πσ² (Wang, Zhang
    and Feng, 2005). The distance is small for strokes that are slightly displaced.

    Parameters
    ----------
    shape : (height, width), optional
        Shape of the images in the rows; square by default.
    sigma : float, default=1.0
        Width of the Gaussian in pixels.
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.sigma, "sigma", minimum=0, exclusive=True)

    def prepare(self, X: Any) -> np.ndarray:
        """Map images by G^½, after which the distance is Euclidean."""
        height, width = self._image_shape(X.shape[1])
        images = X.reshape(len(X), height, width).astype(np.float64)
        down, across = (_gaussian_root(size, self.sigma) for size in (height, width))
        blurred: np.ndarray = down @ images @ across
        return blurred.reshape(len(X), -1)

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Return Euclidean distances of mapped images."""
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(left, right))


@dataclass(frozen=True, eq=False)
class FuzzyImageDistance(_ImageRows):
    """Sugeno integral of the differences of pixels: max over α of min(α, share of pixels ≥ α).

    The share is that of the pixels that differ by at least α, as a fraction of `peak`. Two images
    are at distance α if a share α of their pixels differs by α or more: a few pixels that differ a
    lot, or many that differ a little, have little effect. It is a metric (Ky Fan's), from 0 to 1.

    Parameters
    ----------
    peak : float, default=1.0
        The largest value of a pixel, such as 255: differences are divided by it.

    Notes
    -----
    This is our interpretation of the fuzzy image metric of Li, Chen and Chi (2002): the integral by
    which they define it, with the uniform measure of pixels.
    """

    peak: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.peak, "peak", minimum=0, exclusive=True)

    def prepare(self, X: Any) -> np.ndarray:
        """Divide pixels by the largest value."""
        return np.asarray(X, dtype=np.float64) / self.peak

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Integrate the differences of each pair."""
        out, width = np.empty((len(left), len(right))), left.shape[1]
        kernels.sugeno_distances(left, right, np.arange(width + 2) / width, out)
        return out


@dataclass(frozen=True, eq=False)
class TangentDistance(_PixelDistance):
    """Distance between images that may each be shifted, scaled, rotated, sheared and thickened.

    Near an image the seven deformations are linear: its tangents. The two-sided distance is that
    between the two tangent planes (Simard, Le Cun and Denker, 1993).

    Parameters
    ----------
    shape : (height, width), optional
        Shape of the images in the rows; square by default.
    smoothing : float, default=0.7
        Width in pixels of the Gaussian that smooths images before they are compared and their
        tangents are computed.
    stiffness : float, default=0.01
        Cost of a unit of deformation; small and above 0.
    """

    smoothing: float = 0.7
    stiffness: float = 0.01

    def __post_init__(self) -> None:
        check_number(self.smoothing, "smoothing", minimum=0)
        check_number(self.stiffness, "stiffness", minimum=0, exclusive=True)

    def prepare(self, X: Any) -> np.ndarray:
        """Return smoothed images with their orthonormal tangents: (n, 1 + 7, n_pixels)."""
        shape = self._image_shape(X.shape[1])
        prepared = np.empty((len(X), 1 + _N_TANGENTS, X.shape[1]))
        for part in slices(len(X), _IMAGES_AT_A_TIME):
            images = X[part].reshape(-1, *shape).astype(np.float64)
            prepared[part] = _with_tangents(images, self.smoothing)
        return prepared

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Multiply all images and tangents, and solve a small system for each pair."""
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
            y * dx - x * dy,  # rotate
            x * dx - y * dy,  # stretch one axis, shrink the other
            y * dx + x * dy,  # the same along the diagonals
            dx**2 + dy**2,  # thicken
        ],
        axis=1,
    ).reshape(len(images), _N_TANGENTS, -1)
    return np.concatenate([smooth.reshape(len(images), 1, -1), _orthonormal(tangents)], axis=1)


def _orthonormal(tangents: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of each image's tangents, padded with zeros."""
    lengths = np.sqrt(np.einsum("ikf,ikf->ik", tangents, tangents))[:, :, None]
    unit = np.divide(tangents, lengths, out=np.zeros_like(tangents), where=lengths > 0)
    strengths, axes = np.linalg.eigh(unit @ unit.transpose(0, 2, 1))
    kept = strengths > _MIN_STRENGTH * np.maximum(strengths[:, -1:], 1e-300)
    scale = np.where(kept, 1 / np.sqrt(np.where(kept, strengths, 1.0)), 0.0)
    return np.asarray((axes * scale[:, None, :]).transpose(0, 2, 1) @ unit)


def _gaussian_root(size: int, sigma: float) -> np.ndarray:
    """Return K^½ of K = exp(−(i − j)² / 2σ²) / √2πσ; G is the product of both axes' K."""
    offsets = np.subtract.outer(np.arange(size), np.arange(size))
    gaussian = np.exp(-(offsets**2) / (2 * sigma**2)) / (math.sqrt(2 * math.pi) * sigma)
    strengths, axes = np.linalg.eigh(gaussian)
    root: np.ndarray = (axes * np.sqrt(np.maximum(strengths, 0.0))) @ axes.T
    return root
