"""
Choosing k and c
================

LMNN has two parameters that matter: the number of target neighbors and the weight ``c`` of margin
violations. ``GridSearchCV`` tries both. On this small set the cells differ by a few rows, so the
best cell is not a finding.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likewise as lw

wine = lw.datasets.load("wine")
model = make_pipeline(
    StandardScaler(), lw.SimilarityClassifier(learner=lw.LMNN(tol=1e-2), n_neighbors=3)
)
neighbors, weights = [1, 3, 5], [0.1, 1.0, 10.0]
grid = {
    "similarityclassifier__learner__n_neighbors": neighbors,
    "similarityclassifier__learner__c": weights,
}
search = GridSearchCV(model, grid, cv=3).fit(wine.X, wine.y)
scores = search.cv_results_["mean_test_score"].reshape(len(weights), len(neighbors))

figure, axis = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
drawn = axis.imshow(scores, cmap="Blues", alpha=0.6)
axis.set(xlabel="n_neighbors", ylabel="c", xticks=range(3), yticks=range(3))
axis.set(xticklabels=neighbors, yticklabels=weights)
for i in range(3):
    for j in range(3):
        axis.text(j, i, f"{scores[i, j]:.3f}", ha="center", va="center", color="black")
figure.colorbar(drawn, label="accuracy, 3 splits")
