"""
Queries and items of different width
====================================

A bilinear similarity compares a query of m numbers with an item of n numbers: here queries have 6
and items 20. The rectangular W is learned from triplets; there is no similarity to start from.
"""

import matplotlib.pyplot as plt
import numpy as np

import likewise as lw

rng = np.random.default_rng(0)
truth = rng.normal(size=(6, 20))
queries, items = rng.normal(size=(300, 6)), rng.normal(size=(400, 20))
relevance = queries @ truth @ items.T


def draw(n, rows):
    """Draw triplets: of two random items, the one with the larger true score is closer."""
    query = rng.choice(rows, n)
    a = rng.integers(400, size=n)
    b = (a + rng.integers(1, 400, size=n)) % 400  # another item
    first = relevance[query, a] > relevance[query, b]
    return np.column_stack([query, np.where(first, a, b), np.where(first, b, a)])


test = draw(5000, np.arange(200, 300))
sizes, correct = [30, 100, 300, 1000, 3000, 10000], []
for size in sizes:
    aroma = lw.AROMA(init="zero", random_state=0)
    aroma.fit_triplets(draw(size, np.arange(200)), queries, items)
    scores = aroma.similarity_.score(queries, items)
    correct.append(np.mean(scores[test[:, 0], test[:, 1]] > scores[test[:, 0], test[:, 2]]))

# %%
# The share of comparisons of new queries that are predicted correctly.
figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
axis.semilogx(sizes, correct, "o-")
axis.axhline(0.5, color="gray", linestyle=":")
axis.set(xlabel="training triplets", ylabel="correct comparisons", title="W is 6 × 20")
