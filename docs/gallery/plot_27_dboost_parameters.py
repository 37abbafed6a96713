"""
The parameters of DBoost
========================

``n_rounds`` and ``learning_rate`` say how long and how fast DBoost learns, ``max_depth`` how many
questions a round asks in turn, and ``n_prototypes`` with how many training rows a new one is
compared. Breast cancer, 200 rows for training and 369 for testing, one split.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

import likewise as lw

data = lw.datasets.load("breast_cancer")
order = np.random.default_rng(0).permutation(len(data.X))
train, test = order[:200], order[200:]
scaler = StandardScaler().fit(data.X[train])
X, Q = scaler.transform(data.X[train]), scaler.transform(data.X[test])
y, labels = data.y[train], data.y[test]
nearest = 100 * (1 - lw.SimilarityClassifier().fit(X, y).score(Q, labels))

figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.4), layout="constrained", sharey=True)
for rate, depth in ((1.0, 1), (0.1, 1), (0.1, 3)):
    boosted = lw.DBoost(
        n_rounds=200, n_pairs=10, learning_rate=rate, max_depth=depth, random_state=0
    ).fit(X, y)
    errors = [100 * np.mean(predicted != labels) for predicted in boosted.staged_predict(Q)]
    left.plot(errors, label=f"learning_rate={rate}, max_depth={depth}")
left.set(xlabel="n_rounds", ylabel="error, %, test rows", ylim=(0, 8))
left.legend(fontsize="small")

sizes, errors = [4, 8, 16, 32, 64], []
for size in sizes:
    fits = [
        lw.DBoost(n_rounds=100, n_prototypes=size, random_state=seed).fit(X, y) for seed in range(3)
    ]
    errors.append([100 * (1 - fit.score(Q, labels)) for fit in fits])
right.plot(sizes, errors, "o", color="C0")
right.plot(sizes, np.mean(errors, axis=1), "-", label="mean of three seeds")
right.set(xlabel="n_prototypes, 100 rounds", xscale="log", xticks=sizes, xticklabels=sizes)
right.minorticks_off()
for axis in (left, right):
    axis.axhline(nearest, color="gray", linestyle=":", label="three nearest of 200 rows")
right.legend(fontsize="small")

# %%
# A hundred rounds are enough here, with any depth. With 16 prototypes, DBoost is as good as three
# nearest neighbors, which compare a new row with all 200.
