"""
Clicks that help new items, too
===============================

Queries use other words than items. Clicks teach the translation (W, for all items), and move the
clicked items (offsets). New items must gain from W and may not lose: both are measured on later
queries.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array

import likewise as lw

rng = np.random.default_rng(0)
items = rng.normal(size=(600, 64))
habit = np.eye(64) + 1.5 * rng.normal(size=(64, 64)) / 8
wanted = np.concatenate([rng.integers(300, size=300), rng.integers(600, size=200)])
queries = (items @ habit)[wanted] + 2.5 * rng.normal(size=(500, 64))
clicks = csr_array((np.ones(500), (np.arange(500), wanted)), shape=(500, 600))
train, test = slice(0, 300), slice(300, 500)

ridge = lw.RidgeSimilarity(random_state=0).fit_relevance(clicks[train], queries[train], items)
moved = items if ridge.offsets_ is None else ridge.offsets_.apply(range(600), items)
measured = {}
for name, similarity, rows in (("cosine", "cosine", items), ("learned", ridge.similarity_, moved)):
    report = lw.evaluate_retrieval(
        similarity,
        queries[test],
        rows,
        relevance=clicks[test],
        trained_on=clicks[train],
        k=10,
    )
    measured[name] = [part["ndcg@10"] for part in (report, report.seen, report.new)]

figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
for shift, (name, values) in zip((-0.2, 0.2), measured.items(), strict=True):
    axis.bar(np.arange(3) + shift, values, width=0.4, label=name)
axis.set_xticks(range(3), ["overall", "clicked items", "new items"])
axis.set(ylabel="nDCG@10, later queries", ylim=(0, 1.05))
axis.legend()
