"""
The parameters of AROMA and OASIS
=================================

``r`` is the noise that AROMA expects of a triplet, ``C`` the largest step of OASIS, and
``n_triplets`` how long both learn. Handwritten digits: 900 rows for training, 897 for testing, one
split.
"""

import matplotlib.pyplot as plt
import numpy as np

import likewise as lw

digits = lw.datasets.load("digits")
train, test = slice(0, 900), slice(900, None)
X, y, Q, labels = digits.X[train], digits.y[train], digits.X[test], digits.y[test]
triplets = lw.supervision.LabelTriplets(y).draw(20_000, np.random.default_rng(0))


def mean_average_precision(similarity):
    """Return the mean average precision of test rows among each other."""
    return lw.evaluate_retrieval(similarity, Q, labels=labels, k=10)["map"]


plain = mean_average_precision("cosine")
learners = {
    "diagonal": lambda value: lw.AROMA("diagonal", r=value),
    "factored": lambda value: lw.AROMA("factored", r=value),
    "OASIS": lambda value: lw.OASIS(C=value),
}
values, lengths = [0.01, 0.1, 1.0, 10.0, 100.0], [500, 1000, 2000, 5000, 10_000, 20_000]
figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.4), layout="constrained", sharey=True)
for name, learner in learners.items():
    fits = [learner(value).fit_triplets(triplets[:5000], X) for value in values]
    left.plot(values, [mean_average_precision(fit) for fit in fits], "o-", label=name)
    fits = [learner(1.0).fit_triplets(triplets[:n], X) for n in lengths]
    right.plot(lengths, [mean_average_precision(fit) for fit in fits], "o-")
for axis in (left, right):
    axis.axhline(plain, color="gray", linestyle=":", label="cosine")
    axis.set_xscale("log")
left.set(xlabel="r or C, 5,000 triplets", ylabel="mean average precision, test rows")
left.legend(fontsize="small")
right.set(xlabel="triplets, r = C = 1")

# %%
# A few hundred triplets make the ranking worse than the cosine that both start from.
# ``fit_triplets`` follows the published updates and judges nothing; with ``validate=True`` it holds
# out queries, and keeps the start where learning does not help. ``r`` and ``C`` matter less than
# the number of triplets; the factored covariance learns more from each.
