"""
Sparse text
===========

Words as features, many columns and few entries per row: AROMA and OASIS update only the
entries that a triplet touches, and CSR rows stay sparse. The words are generated: each topic has
words of its own, and some words that occur everywhere and mean nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array

import likewise as lw

rng = np.random.default_rng(0)
n_topics, n_words = 5, 300
topics = rng.integers(n_topics, size=2000)
rates = np.full((n_topics, n_words), 0.005)
for topic in range(n_topics):
    rates[topic, topic * 40 : (topic + 1) * 40] = 0.05
rates[:, 200:] = 0.12  # frequent words without a meaning
X = csr_array(rng.poisson(rates[topics]).astype(np.float32))
print(f"{X.nnz / X.shape[0]:.0f} of {n_words} words in a text")

train, test = slice(0, 1500), slice(1500, None)
aroma = lw.AROMA(n_triplets=50_000, random_state=0).fit(X[train], topics[train])
reports = {
    name: lw.evaluate_retrieval(similarity, X[test], labels=topics[test], k=10)
    for name, similarity in (("cosine", "cosine"), ("AROMA", aroma.similarity_))
}

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
left.bar(list(reports), [report["precision@10"] for report in reports.values()])
left.set(ylabel="precision at 10, test texts", ylim=(0, 1))
right.plot(np.diag(aroma.similarity_.W), ".", markersize=3)
right.axvspan(200, 300, color="0.9")
right.set(xlabel="word (gray: without a meaning)", ylabel="weight on the diagonal of W")
