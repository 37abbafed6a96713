"""Deskew images of handwriting, and draw rows of images."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def deskew(images: np.ndarray) -> np.ndarray:
    """Shear each image until its strokes are upright, and center it.

    The slant is that of the second moments of the ink: x is shifted by cov(x, y)/var(y) for each
    row of distance from the center of mass. Bilinear interpolation; ink outside the image is lost.

    Parameters
    ----------
    images : (n_images, height, width) array

    Returns
    -------
    float32 array of the same shape
    """
    from scipy.ndimage import affine_transform

    height, width = images.shape[1:]
    rows, columns = np.mgrid[:height, :width]
    straight = np.empty(images.shape, np.float32)
    for number, image in enumerate(images):
        ink = image.astype(np.float64)
        total = ink.sum()
        if total == 0:
            straight[number] = image
            continue
        middle = np.array([(rows * ink).sum(), (columns * ink).sum()]) / total
        down, right = rows - middle[0], columns - middle[1]
        slant = (down * right * ink).sum() / max((down**2 * ink).sum(), 1e-9)
        shear = np.array([[1.0, 0.0], [slant, 1.0]])
        offset = middle - shear @ np.array([(height - 1) / 2, (width - 1) / 2])
        straight[number] = affine_transform(ink, shear, offset=offset, order=1)
    return straight


def image_rows(columns: Sequence[tuple[str, np.ndarray]], title: str) -> Any:
    """Return a figure with a column of images for each (head, images)."""
    from matplotlib.figure import Figure

    n_rows = len(columns[0][1])
    figure = Figure(figsize=(1.6 * len(columns), 1.3 * n_rows + 0.7), layout="constrained")
    axes = figure.subplots(n_rows, len(columns), squeeze=False)
    for place, (head, images) in enumerate(columns):
        axes[0, place].set_title(head, fontsize=9)
        for ax, image in zip(axes[:, place], images, strict=True):
            ax.imshow(image, cmap="gray")
            ax.set_axis_off()
    figure.suptitle(title, fontsize=10)
    return figure
