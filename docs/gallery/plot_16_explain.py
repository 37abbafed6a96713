"""
Why are these two alike?
========================

``explain`` splits the score of a pair into contributions of pairs of features, which sum to the
score.
"""

import matplotlib.pyplot as plt
from sklearn.preprocessing import StandardScaler

import likewise as lw

wine = lw.datasets.load("wine")
X = StandardScaler().fit_transform(wine.X)
learned = lw.LMNN().fit(X, wine.y).similarity_
why = learned.explain(X[0], X[100], wine.feature_names, top=10)
print(why)

# %%
# The two wines are of different growers: the longest bars say why.
terms = list(why)[::-1]
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.barh([f"{t.query_feature} × {t.item_feature}" for t in terms], [t.contribution for t in terms])
axis.set(xlabel=f"contribution to the score {why.score:.2f}")
axis.tick_params(axis="y", labelsize=7)
