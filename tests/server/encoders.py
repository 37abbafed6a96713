"""Encoders by name, as an operator would have them in a package."""

from zlib import crc32

import numpy as np

WIDTH = 32


def words(texts):
    """Return a bag of words of each text, with the words hashed."""
    rows = np.zeros((len(texts), WIDTH))
    for row, text in zip(rows, texts, strict=True):
        for word in text.lower().split():
            row[crc32(word.encode()) % WIDTH] += 1
    return rows


class Noisy:
    """The same bags, with other last digits in every call."""

    def __init__(self):
        self._rng = np.random.default_rng(0)

    def __call__(self, texts):
        rows = words(texts)
        return rows + 1e-6 * self._rng.normal(size=rows.shape)


noisy = Noisy()


def scaled(texts):
    return 3 * words(texts)


def one_row(texts):
    return words(texts)[0]


def too_few(texts):
    return words(texts)[:-1] if len(texts) > 1 else np.zeros((2, WIDTH))


def missing(texts):
    return np.full((len(texts), WIDTH), np.nan)


def none(texts):
    return None


def failing(texts):
    raise RuntimeError("a secret path")


class Changing:
    """An encoder that is fine until it is told otherwise."""

    width = WIDTH

    def __call__(self, texts):
        return np.resize(words(texts), (len(texts), self.width))


changing = Changing()
not_callable = 3
