"""
The parameters of NCA
=====================

``alpha`` penalizes large maps, ``n_components`` is the number of directions, and ``n_references``
the number of rows of a sample. The data is generated: four classes of two clusters each, which six
of 20 columns separate, with 2,000 rows for training and 2,000 for testing, in one split.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

import likewise as lw

rows, classes = make_classification(
    4000, 20, n_informative=6, n_redundant=4, n_classes=4, n_clusters_per_class=2, random_state=0
)
train, test = slice(0, 2000), slice(2000, None)
X, y, Q, labels = rows[train], classes[train], rows[test], classes[test]


def error(n_rows=2000, **parameters):
    """Return the error of three neighbors on test rows, in percent."""
    learner = lw.NCA(random_state=0, **parameters)
    clf = lw.SimilarityClassifier(learner=learner).fit(X[:n_rows], y[:n_rows])
    return 100 * (1 - clf.score(Q, labels))


def plain(n_rows):
    """Return the error without learning."""
    clf = lw.SimilarityClassifier().fit(X[:n_rows], y[:n_rows])
    return 100 * (1 - clf.score(Q, labels))


figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.2), layout="constrained", sharey=True)
alphas = [1e-3, 1e-2, 1e-1]
for n_rows, color in ((200, "C0"), (2000, "C1")):
    axes[0].plot(alphas, [error(n_rows, alpha=alpha) for alpha in alphas], "o-", color=color)
    axes[0].axhline(plain(n_rows), color=color, linestyle=":", label=f"{n_rows} rows, Euclidean")
axes[0].set(xlabel="alpha", ylabel="error, %, test rows", xscale="log")
axes[0].legend(fontsize="small")
components, references = [2, 4, 6, 20], [256, 1024, 2000]
for objective in ("likelihood", "accuracy"):
    by_component = [error(n_components=n, objective=objective) for n in components]
    axes[1].plot(components, by_component, "o-", label=objective)
axes[1].set(xlabel="n_components")
axes[1].legend(fontsize="small")
axes[2].plot(references, [error(n_references=n) for n in references], "o-")
axes[2].set(xlabel="n_references", ylim=(0, None))

# %%
# With 200 rows NCA is no better than the Euclidean distance, whatever ``alpha`` is; with 2,000 it
# is, for all of them. Six directions, as many as there are informative columns, are enough. Small
# samples are no worse than all rows, and cost less.
