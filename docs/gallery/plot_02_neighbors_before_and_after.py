"""
Neighbors before and after learning
===================================

Every image shows two digits, and only the left one has a label. Euclidean distance compares both;
LMNN learns from the labels to ignore the right half. The task is made for learning: on the single
digits of this data set, LMNN and NCA with 300, 600 or 1,000 training rows had as many wrong
neighbors as Euclidean distance or more.
"""

import matplotlib.pyplot as plt
import numpy as np

import likewise as lw

digits = lw.datasets.load("digits")
others = np.random.default_rng(0).permutation(len(digits.X))
images = np.concatenate([digits.X.reshape(-1, 8, 8), digits.X[others].reshape(-1, 8, 8)], axis=2)
rows = images.reshape(len(images), -1)
train, test = slice(0, 900), slice(900, None)
X, y, Q, labels = rows[train], digits.y[train], rows[test], digits.y[test]
learned = lw.LMNN(tol=1e-2).fit(X, y).similarity_

before = lw.as_similarity("euclidean").neighbors(Q, X, k=1).ids[:, 0].astype(int)
after = learned.neighbors(Q, X, k=1).ids[:, 0].astype(int)
wrong_before, wrong_after = y[before] != labels, y[after] != labels
print(f"wrong neighbors: {wrong_before.sum()} before, {wrong_after.sum()} after, of {len(Q)}")

# %%
# The first test images whose neighbor was corrected.
shown = np.flatnonzero(wrong_before & ~wrong_after)[:5]
figure, axes = plt.subplots(3, len(shown), figsize=(8, 3.2), layout="constrained")
for column, row in enumerate(shown):
    for axis, image in zip(axes[:, column], (Q[row], X[before[row]], X[after[row]]), strict=True):
        axis.imshow(image.reshape(8, 16), cmap="gray_r")
        axis.set(xticks=[], yticks=[])
for axis, name in zip(axes[:, 0], ("query", "before", "after"), strict=True):
    axis.set_ylabel(name)

# %%
# The length of each column of the map L says how much a pixel counts.
figure, axis = plt.subplots(figsize=(5, 2.6), layout="constrained")
drawn = axis.imshow(np.linalg.norm(learned.L, axis=0).reshape(8, 16))
axis.set(xticks=[], yticks=[], title="weight of each pixel")
figure.colorbar(drawn)
