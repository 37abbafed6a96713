"""
Calibration of probabilities
============================

The votes of five neighbors give six different probabilities. The softmax rule averages over all
training rows with weights that fall with the distance, and its probabilities are finer.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

import likewise as lw

cancer = lw.datasets.load("breast_cancer")
X, y = StandardScaler().fit_transform(cancer.X), cancer.y
figure, axis = plt.subplots(figsize=(5, 4), layout="constrained")
for name, clf in {
    "majority of 5": lw.SimilarityClassifier(n_neighbors=5),
    "softmax": lw.SimilarityClassifier(rule="softmax"),
}.items():
    proba = clf.fit(X[::2], y[::2]).predict_proba(X[1::2])
    loss = log_loss(y[1::2], proba)
    CalibrationDisplay.from_predictions(
        y[1::2], proba[:, 1], n_bins=5, ax=axis, name=f"{name}: log loss {loss:.2f}"
    )
