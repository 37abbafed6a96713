"""
The parameters of LMNN
======================

``c`` weighs the margins against the pull of the target neighbors, ``n_neighbors`` is the number of
target neighbors, and ``n_components`` the number of directions to keep. The data is generated: four
classes that six of 20 columns separate, 600 rows for training and 2,400 for testing. It is one
split, and differences of a point are noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

import likewise as lw

rows, classes = make_classification(
    3000, 20, n_informative=6, n_redundant=4, n_classes=4, n_clusters_per_class=1, random_state=0
)
train, test = slice(0, 600), slice(600, None)
X, y, Q, labels = rows[train], classes[train], rows[test], classes[test]


def error(k=3, **parameters):
    """Return the errors of k nearest neighbors on test and training rows, in percent."""
    learner = lw.LMNN(tol=1e-2, **parameters) if parameters else None
    clf = lw.SimilarityClassifier(learner=learner, n_neighbors=k).fit(X, y)
    left_out = clf.kneighbors().ids.astype(int)  # of training rows, without the row itself
    votes = [np.bincount(row).argmax() for row in y[left_out]]
    return 100 * (1 - clf.score(Q, labels)), 100 * np.mean(votes != y)


plain, _ = error()
panels = {
    "c": [0.01, 0.1, 1.0, 10.0, 100.0],
    "n_neighbors": [1, 2, 3, 5, 8],
    "n_components": [3, 4, 6, 10, 20],
}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained", sharey=True)
for axis, (name, values) in zip(axes, panels.items(), strict=True):
    on_test, on_training = np.transpose([error(**{name: value}) for value in values])
    axis.plot(values, on_test, "o-", label="test rows")
    axis.plot(values, on_training, "s--", label="training rows, each left out")
    axis.axhline(plain, color="gray", linestyle=":", label="Euclidean, test rows")
    axis.set(xlabel=name, xscale="log", xticks=values, xticklabels=values, ylim=(0, 40))
    axis.minorticks_off()
axes[0].set_ylabel("error, %")
axes[1].legend(fontsize="small")

# %%
# Large values of ``c`` fit the margins of the training rows: here 0.1 is better than the default.
# The number of target neighbors matters little. Six directions, as many as there are informative
# columns, are better than all 20; fewer lose classes. Training rows look better than test rows, so
# choose by cross-validation (:doc:`/auto_examples/plot_05_choosing_k_and_c`).
tuned, _ = error(c=0.1, n_components=6)
print(
    f"{plain:.1f} % without learning, {error(c=1.0)[0]:.1f} % by default, {tuned:.1f} % with both"
)
