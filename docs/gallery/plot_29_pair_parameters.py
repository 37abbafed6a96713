"""
The learners from pairs: ITML, LEGO, POLA, MMC and MCML
=======================================================

Four of them learn from similar and dissimilar pairs, MCML from labels. ``n_pairs`` is the number of
pairs, ITML's ``gamma`` and LEGO's ``eta`` say how far the pairs may change the distance, and MMC
can be restricted to a weight for each column. The data is wine, 90 rows for training and 88 for
testing: means over ten random splits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likewise as lw

wine = lw.datasets.load("wine")
splits = [
    train_test_split(wine.X, wine.y, train_size=90, stratify=wine.y, random_state=seed)
    for seed in range(10)
]


def error(learner=None):
    """Return the mean error of three neighbors over the splits, in percent."""
    errors = []
    for seed, (X, Q, y, labels) in enumerate(splits):
        if hasattr(learner, "random_state"):
            learner.set_params(random_state=seed)
        clf = make_pipeline(StandardScaler(), lw.SimilarityClassifier(learner=learner))
        errors.append(100 * (1 - clf.fit(X, y).score(Q, labels)))
    return np.mean(errors)


by_pairs = {
    "ITML": lambda n: lw.ITML(n_pairs=n),
    "LEGO": lambda n: lw.LEGO(n_pairs=n),
    "POLA": lambda n: lw.POLA(n_pairs=n),
    "MMC": lambda n: lw.MMC(n_pairs=n),
    "MMC, diagonal": lambda n: lw.MMC(n_pairs=n, diagonal=True),
}
numbers, weights = [20, 60, 200, 600], [0.01, 0.1, 1.0, 10.0]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for name, learner in by_pairs.items():
    left.plot(numbers, [error(learner(n)) for n in numbers], "o-", label=name)
left.axhline(error(lw.MCML()), color="C5", linestyle="--", label="MCML, all labels")
left.set(xlabel="n_pairs", ylabel="error, %, test rows", xscale="log")
left.set(xticks=numbers, xticklabels=numbers)
left.minorticks_off()
right.plot(weights, [error(lw.ITML(gamma=g, n_pairs=300)) for g in weights], "o-", label="ITML: γ")
right.plot(weights, [error(lw.LEGO(eta=e, n_pairs=300)) for e in weights], "o-", label="LEGO: η")
right.set(xlabel="gamma or eta, 300 pairs", xscale="log")
for axis in (left, right):
    axis.axhline(error(), color="gray", linestyle=":", label="Euclidean")
    axis.set_ylim(bottom=0)
    axis.legend(fontsize="small")

# %%
# A few hundred pairs of rows reach what MCML learns from all labels. ITML stays close to its start,
# so that 20 pairs do no harm; a small ``gamma`` or ``eta`` leaves the Euclidean distance nearly as
# it is. MMC is worse than the Euclidean distance with any number of pairs: it was made for
# clustering, not for neighbors. One weight for each column (``diagonal=True``) has fewer numbers to
# learn, which helps where pairs are few.
