"""
Folding, checked in faiss and usearch
=====================================

A learned similarity is folded into vectors that any index can compare. Flat indexes return exactly
what the similarity ranks first; an approximate one loses recall, because it was built for the
items and not for folded queries. pgvector works in the same way: see the guide.
"""

import faiss
import matplotlib.pyplot as plt
import numpy as np

import likewise as lw

rng = np.random.default_rng(0)
items = rng.normal(size=(4000, 32)).astype(np.float32)
queries = rng.normal(size=(200, 32)).astype(np.float32)
similarity = lw.Bilinear(rng.normal(size=(32, 32)) / 6)
truth = similarity.neighbors(queries, items, k=10).ids.astype(int)

# %%
# faiss alone, without likewise at the time of the search:
flat = faiss.IndexFlatIP(32)
flat.add(np.ascontiguousarray(similarity.fold_items(items), dtype=np.float32))
folded = np.ascontiguousarray(similarity.fold_queries(queries), dtype=np.float32)
_, found = flat.search(folded, 10)
print(
    "faiss, flat: recall",
    np.mean([len(set(a) & set(b)) for a, b in zip(found, truth, strict=True)]) / 10,
)

# %%
# usearch's graph before and after ``tune``, which raises its effort until a recall is reached:
index = lw.Index(similarity, engine="usearch").add(range(4000), items)
before = index.served_recall(queries)
tuning = index.tune(recall=0.98, queries=queries)
after = index.served_recall(queries)

figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
axis.bar(["faiss, flat", "usearch", "usearch, tuned"], [1.0, before, after])
axis.axhline(0.98, color="gray", linestyle=":")
axis.set(ylabel="recall at 10", ylim=(min(before, 0.9) - 0.05, 1.005))
