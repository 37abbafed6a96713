"""
The parameters of landmarks
===========================

``n_landmarks`` is the number of rows that all others are compared with, ``select`` how they are
drawn, and ``boolean`` turns similarities into "among the nearest": a row inside a disc or not,
from few labels; means of ten draws.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import likewise as lw

draws = [lw.datasets.circle(1000, random_state=seed) for seed in range(10)]


def accuracy(n_labels=60, **parameters):
    """Return the mean accuracy on the rows without labels, over the draws."""
    scores = []
    for seed, ring in enumerate(draws):
        features = lw.LandmarkFeatures(random_state=seed, **parameters).fit(ring.X)
        F, labeled = features.transform(ring.X), slice(0, n_labels)
        clf = LogisticRegression(C=10, max_iter=1000).fit(F[labeled], ring.y[labeled])
        scores.append(clf.score(F[n_labels:], ring.y[n_labels:]))
    return np.mean(scores)


numbers, labels = [5, 10, 20, 50, 100, 200], [20, 50, 100, 200, 400]
figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.4), layout="constrained", sharey=True)
for select in ("random", "kmeans++"):
    scores = [accuracy(n_landmarks=n, select=select) for n in numbers]
    left.plot(numbers, scores, "o-", label=f"select={select!r}")
left.set(xlabel="n_landmarks, 60 labels", ylabel="accuracy", xscale="log")
left.set(xticks=numbers, xticklabels=numbers)
for boolean in (None, 0.1, (0.01, 0.03, 0.1)):
    scores = [accuracy(n, n_landmarks=100, boolean=boolean) for n in labels]
    right.plot(labels, scores, "o-", label=f"boolean={boolean}")
right.set(xlabel="labels, 100 landmarks", xscale="log", xticks=labels, xticklabels=labels)
for axis in (left, right):
    axis.minorticks_off()
    axis.legend(fontsize="small", loc="lower right")

# %%
# Fifty landmarks suffice in two dimensions, and landmarks that are far apart need fewer. Booleans
# discard how near a landmark is: a logistic regression loses by that, while
# :class:`likewise.BalancedWinnow` is made for them.
