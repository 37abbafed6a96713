"""
Merging models of shards
========================

Models that were trained from one start on different triplets can be merged by their precisions.
The merged model is better than each of its parts, and almost as good as one model of all triplets.
"""

import matplotlib.pyplot as plt
import numpy as np

import likewise as lw

digits = lw.datasets.load("digits")
X, y = digits.X[:1000], digits.y[:1000]
Q, labels = digits.X[1000:], digits.y[1000:]
triplets = lw.supervision.LabelTriplets(y).draw(4000, np.random.default_rng(0))

parts = [lw.AROMA(random_state=0).fit_triplets(shard, X) for shard in np.split(triplets, 4)]
merged = lw.AROMA.merge(parts)
whole = lw.AROMA(random_state=0).fit_triplets(triplets, X)

models = {f"shard {n + 1}": part for n, part in enumerate(parts)}
models |= {"merged": merged, "one model": whole}
scores = {
    name: lw.evaluate_retrieval(model.similarity_, Q, labels=labels)["map"]
    for name, model in models.items()
}
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.bar(list(scores), list(scores.values()), color=["C0"] * 4 + ["C1", "C2"])
axis.set(ylabel="mean average precision", ylim=(min(scores.values()) - 0.02, None))
