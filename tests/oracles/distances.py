"""Dissimilarities as they are printed, in plain NumPy and Python."""

from fractions import Fraction

import numpy as np


def tangent(x, y, tangents_x, tangents_y, stiffness):
    """√ min over a, b of |x + Aa − y − Bb|² + σ(|a|² + |b|²), with A, B orthonormal columns."""
    design = np.hstack([tangents_x.T, -tangents_y.T])
    ridge = np.sqrt(stiffness) * np.eye(design.shape[1])
    target = np.concatenate([y - x, np.zeros(design.shape[1])])
    solution = np.linalg.lstsq(np.vstack([design, ridge]), target, rcond=None)[0]
    residual = np.vstack([design, ridge]) @ solution - target
    return np.sqrt(residual @ residual)


def deform(image, kind, amount):
    """Return an image moved by hand, by a deformation of its coordinates: spline interpolation."""
    from scipy.ndimage import map_coordinates

    height, width = image.shape
    y, x = np.mgrid[:height, :width].astype(float)
    y, x = y - (height - 1) / 2, x - (width - 1) / 2
    moves = {
        "shift": (0 * x, 0 * x + 1),
        "scale": (y, x),
        "turn": (-x, y),
        "stretch": (-y, x),
        "diagonal": (x, y),
    }
    dy, dx = moves[kind]
    at = [y + amount * dy + (height - 1) / 2, x + amount * dx + (width - 1) / 2]
    return map_coordinates(image, at, order=3, mode="constant")


def image(x, y, shape, sigma):
    """√((x − y)ᵀ G (x − y)) with g = exp(−|P − P′|² / 2σ²) / 2πσ²."""
    places = np.stack(np.indices(shape), axis=-1).reshape(-1, 2)
    apart = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    G = np.exp(-apart / (2 * sigma**2)) / (2 * np.pi * sigma**2)
    return np.sqrt((x - y) @ G @ (x - y))


def fuzzy_image(x, y, peak):
    """Max over α of min(α, share of pixels with |x − y| ≥ α), with α from a pixel's or a share."""
    gaps = np.abs(x - y) / peak
    levels = np.concatenate([gaps, np.arange(len(gaps) + 1) / len(gaps)])
    return max(min(level, np.mean(gaps >= level)) for level in levels)


def dtw(a, b, window=None):
    """√ of the least sum of squared differences along a monotone alignment, within |i − j| ≤ w."""
    longer = max(len(a), len(b))
    width = longer if window is None else window
    if isinstance(window, float):
        width = int(Fraction(str(window)) * longer)
    width = max(width, abs(len(a) - len(b)))
    cost = np.full((len(a) + 1, len(b) + 1), np.inf)
    cost[0, 0] = 0
    for i in range(len(a)):
        for j in range(len(b)):
            if abs(i - j) > width:
                continue
            step = np.sum((np.asarray(a[i]) - np.asarray(b[j])) ** 2)
            cost[i + 1, j + 1] = step + min(cost[i, j], cost[i, j + 1], cost[i + 1, j])
    return np.sqrt(cost[-1, -1])


def levenshtein(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def lcs(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            best = max(table[i, j + 1], table[i + 1, j])
            table[i + 1, j + 1] = table[i, j] + 1 if x == y else best
    return max(len(a), len(b)) - table[-1, -1]


def smith_waterman(a, b, match, mismatch, gap):
    """1 − s(a, b) / √(s(a, a) s(b, b)), s the best local alignment."""

    def score(a, b):
        H = np.zeros((len(a) + 1, len(b) + 1))
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                step = match if x == y else -mismatch
                H[i + 1, j + 1] = max(0, H[i, j] + step, H[i, j + 1] - gap, H[i + 1, j] - gap)
        return H.max()

    return 1 - score(a, b) / np.sqrt(score(a, a) * score(b, b))


def emd_on_a_line(a, b):
    """Σ of what must cross each border between cells, of histograms of mass 1."""
    return np.abs(np.cumsum(np.asarray(a) / np.sum(a) - np.asarray(b) / np.sum(b)))[:-1].sum()


def ranks(to_sample, values):
    """Share of a sample that is nearer, ties half, for one row."""
    to_sample = np.asarray(to_sample)
    return [np.mean((to_sample < v) + (to_sample == v) / 2) for v in values]
