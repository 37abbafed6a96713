"""
Which similarity suits my data?
===============================

``lw.compare`` cross-validates several classifiers on the same splits. The table has the p-value of
a corrected paired t-test against the best one, so that a lucky split is not mistaken for a better
method.
"""

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likewise as lw

wine = lw.datasets.load("wine")
candidates = {
    "euclidean": lw.SimilarityClassifier(),
    "cosine": lw.SimilarityClassifier(similarity="cosine"),
    "LMNN": lw.SimilarityClassifier(learner=lw.LMNN()),
    "NCA": lw.SimilarityClassifier(learner=lw.NCA(random_state=0)),
}
report = lw.compare(
    {name: make_pipeline(StandardScaler(), clf) for name, clf in candidates.items()},
    wine.X,
    wine.y,
)
print(report)

# %%
# One point per split, and the mean.
report.plot()
