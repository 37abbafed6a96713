"""
Series by dynamic time warping
==============================

Two kinds of series whose bumps come early or late, and whose lengths differ. Dynamic time warping
(DTW) stretches time until two series match; a window limits how far.
"""

import matplotlib.pyplot as plt
import numpy as np

import likewise as lw

rng = np.random.default_rng(0)


def series(label):
    """Return one bump or two at a random time."""
    length = rng.integers(50, 70)
    time = np.arange(length) - rng.integers(15, length - 15)
    one, two = np.exp(-((time / 4) ** 2)), np.exp(-((abs(time) - 7) ** 2) / 6)
    return (one if label == 0 else two) + 0.15 * rng.normal(size=length)


labels = np.arange(120) % 2
curves = [series(label) for label in labels]
train, test = curves[:60], curves[60:]

figure, axes = plt.subplots(1, 2, figsize=(8, 2.6), sharey=True, layout="constrained")
for curve, label in zip(curves[:8], labels, strict=False):
    axes[label].plot(curve, alpha=0.8)
axes[0].set_title("one bump")
axes[1].set_title("two bumps")

# %%
# A small window forbids the large shifts that this task needs; on other data it helps, and it is
# faster.
for name, distance in {
    "dtw": "dtw",
    "dtw, window of 5 %": lw.distances.SeriesDistance(window=0.05),
}.items():
    clf = lw.SimilarityClassifier(similarity=distance, n_neighbors=1)
    clf.fit(train, labels[:60])
    print(f"{name:20} {clf.score(test, labels[60:]):.3f}")
