"""
Class imbalance and weights of rows
===================================

One class in ten is rare. With ``sample_weight`` its rows count as much as all others together:
more of them are found, and more of the others are mistaken for them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay, balanced_accuracy_score
from sklearn.utils.class_weight import compute_sample_weight

import likewise as lw

rng = np.random.default_rng(0)
y = (rng.random(1200) < 0.1).astype(int)
X = rng.normal(size=(1200, 6))
X[:, 0] += 1.5 * y
train, test = slice(0, 600), slice(600, None)

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
weights = {"unweighted": None, "balanced": compute_sample_weight("balanced", y[train])}
for axis, (name, weight) in zip(axes, weights.items(), strict=True):
    clf = lw.SimilarityClassifier(learner=lw.LMNN(tol=1e-2), n_neighbors=9)
    predicted = clf.fit(X[train], y[train], sample_weight=weight).predict(X[test])
    score = balanced_accuracy_score(y[test], predicted)
    ConfusionMatrixDisplay.from_predictions(y[test], predicted, ax=axis, colorbar=False)
    axis.set_title(f"{name}: balanced accuracy {score:.2f}")
