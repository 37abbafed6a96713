"""
The parameters of RCA
=====================

RCA divides by the variation within classes, which few rows estimate badly: ``shrinkage`` then moves
the estimate toward a multiple of the identity. ``n_components`` keeps the directions that separate
the classes most. The data is wine, 20 random splits for each point.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

import likewise as lw

wine = lw.datasets.load("wine")
X = wine.X / wine.X.std(axis=0)  # without shrinkage, RCA does not depend on the units


def error(n_rows, **parameters):
    """Return the mean error of three neighbors over 20 splits, in percent."""
    splits = StratifiedShuffleSplit(20, train_size=n_rows, random_state=0).split(X, wine.y)
    errors = []
    for train, test in splits:
        learner = lw.RCA(**parameters) if parameters else None
        clf = lw.SimilarityClassifier(learner=learner).fit(X[train], wine.y[train])
        errors.append(100 * (1 - clf.score(X[test], wine.y[test])))
    return np.mean(errors)


shares, components = [0.0, 0.05, 0.1, 0.3, 0.6, 1.0], [1, 2, 3, 5, 8, 13]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
for n_rows, color in ((20, "C0"), (40, "C1"), (90, "C2")):
    plain = error(n_rows)
    by_share = [error(n_rows, shrinkage=share) for share in shares]
    by_component = [error(n_rows, shrinkage=0.1, n_components=n) for n in components]
    left.plot(shares, by_share, "o-", color=color, label=f"{n_rows} training rows")
    right.plot(components, by_component, "o-", color=color)
    for axis in (left, right):
        axis.axhline(plain, color=color, linestyle=":")
left.set(xlabel="shrinkage", ylabel="error, %", ylim=(0, None))
left.legend(fontsize="small")
right.set(xlabel="n_components, with shrinkage 0.1")

# %%
# The dotted lines are Euclidean distances on standardized columns. With 20 rows in 13 columns RCA
# needs shrinkage; with 90 it does not. Two directions are better than all 13: the means of three
# classes span no more.
