"""
Supervised maps in two dimensions
=================================

Principal components ignore the classes; NCA with two components separates them. Rows that were not
used for fitting are drawn as crosses: only they show whether the map holds.
"""

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

import likewise as lw

digits = lw.datasets.load("digits")
train, test = slice(0, 900), slice(900, None)

figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for axis, model in zip(axes, (PCA(2), lw.NCA(n_components=2, random_state=0)), strict=True):
    flat = model.fit(digits.X[train], digits.y[train]).transform(digits.X)
    for rows, marker in ((train, "."), (test, "x")):
        axis.scatter(*flat[rows].T, c=digits.y[rows], cmap="tab10", marker=marker, s=12)
    clf = lw.SimilarityClassifier(n_neighbors=5).fit(flat[train], digits.y[train])
    accuracy = clf.score(flat[test], digits.y[test])
    axis.set(title=f"{type(model).__name__}: {accuracy:.2f} of test rows", xticks=[], yticks=[])
