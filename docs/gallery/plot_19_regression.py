"""
A distance for numbers: MLKR
============================

Metric learning for kernel regression learns which columns matter for a number. Here two of ten
columns do.
"""

import matplotlib.pyplot as plt
import numpy as np

import likewise as lw

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 10))
y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=600)
train, test = slice(0, 400), slice(400, None)

plain = lw.SimilarityRegressor(n_neighbors=10).fit(X[train], y[train])
learned = lw.SimilarityRegressor(lw.MLKR(random_state=0), weights="kernel").fit(X[train], y[train])

figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for axis, (name, model) in zip(axes, (("euclidean", plain), ("MLKR", learned)), strict=False):
    axis.plot(y[test], model.predict(X[test]), ".")
    axis.axline((0, 0), slope=1, color="gray", linewidth=0.8)
    axis.set(
        title=f"{name}: R² {model.score(X[test], y[test]):.2f}", xlabel="y", ylabel="predicted"
    )
L = learned.similarity_.L
axes[2].bar(range(10), np.linalg.norm(L, axis=0))
axes[2].set(title="length of the columns of L", xlabel="column")
