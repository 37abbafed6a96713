"""
Landmarks with few labels
=========================

Points inside a disc or not: no linear classifier can tell, but a linear classifier on similarities
to landmarks can, and landmarks need no labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import likewise as lw

ring = lw.datasets.circle(1500, random_state=0)
labeled = slice(0, 60)
features = lw.LandmarkFeatures("ranked", n_landmarks=60, random_state=0).fit(ring.X)
models = {
    "native features": LogisticRegression().fit(ring.X[labeled], ring.y[labeled]),
    "with landmarks": make_pipeline(features, LogisticRegression(C=10)).fit(
        ring.X[labeled], ring.y[labeled]
    ),
}

figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained", sharey=True)
for axis, (name, model) in zip(axes, models.items(), strict=True):
    predicted = model.predict(ring.X)
    axis.scatter(ring.X[:, 0], ring.X[:, 1], c=predicted == ring.y, cmap="RdYlGn", s=5)
    axis.set(title=f"{name}: {np.mean(predicted[60:] == ring.y[60:]):.2f}", aspect="equal")
