"""
Asking the informative questions
================================

AROMA estimates how uncertain every score is, and ``most_informative`` chooses the comparisons to
ask a person next. This is a single run with one seed, and in it random questions do at least as
well: measure on your own data before relying on it. The guide to AROMA has the result on USPS
(``python -m reproduce aroma --only teaching``).
"""

import matplotlib.pyplot as plt
import numpy as np

import likewise as lw

digits = lw.datasets.load("digits")
X, y = digits.X[:400], digits.y[:400]
Q, labels = digits.X[400:1000], digits.y[400:1000]
source = lw.supervision.LabelTriplets(y)


def teach(informative, n_rounds=8, per_round=25):
    """Return mean average precision after every round of answers."""
    rng = np.random.default_rng(0)
    aroma = lw.AROMA(random_state=0).fit_triplets(source.draw(5, rng), X)
    curve = []
    for _ in range(n_rounds):
        candidates = source.draw(1000, rng)
        asked = candidates[:per_round]
        if informative:
            asked = aroma.most_informative(candidates, X, n=per_round)
        aroma.partial_fit_triplets(asked, X)
        curve.append(lw.evaluate_retrieval(aroma.similarity_, Q, labels=labels)["map"])
    return curve


answers = 5 + 25 * np.arange(1, 9)
figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
axis.plot(answers, teach(informative=True), "o-", label="most informative")
axis.plot(answers, teach(informative=False), "s-", label="random")
axis.set(xlabel="answers", ylabel="mean average precision, other digits")
axis.legend()
