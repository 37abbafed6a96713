"""The main job from Python, on bundled data: learn, compare, search, explain, save."""

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

import likewise as lw

folder = Path("results/demo")
folder.mkdir(parents=True, exist_ok=True)
wine = lw.datasets.load("wine")
X, y = StandardScaler().fit_transform(wine.X), wine.y
print(f"{wine.name}: {X.shape[0]} rows, {X.shape[1]} features, {len(set(y))} classes\n")

print("Which similarity suits this data? Five folds, the same for all:\n")
report = lw.compare(
    {
        "euclidean": lw.SimilarityClassifier(similarity="euclidean"),
        "cosine": lw.SimilarityClassifier(similarity="cosine"),
        "cosine, symmetric rule": lw.SimilarityClassifier(similarity="cosine", rule="symmetric"),
        "euclidean, energy rule": lw.SimilarityClassifier(rule="energy"),
        "learned by LDA": lw.SimilarityClassifier(learner=LinearDiscriminantAnalysis()),
        "learned by NCA": lw.SimilarityClassifier(
            learner=NeighborhoodComponentsAnalysis(random_state=0)
        ),
        "learned by LMNN": lw.SimilarityClassifier(learner=lw.LMNN()),
        "learned by LMNN, energy rule": lw.SimilarityClassifier(learner=lw.LMNN(), rule="energy"),
    },
    X,
    y,
    verbose=True,
)
print(report)
report.plot().figure.savefig(folder / "compare.png", dpi=150, bbox_inches="tight")

print("\nLearned on one half of the wines: how well does it retrieve among the other half?\n")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
learned = lw.LMNN().fit(X_train, y_train).similarity_
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
for ax, name, similarity in (
    (axes[0], "before", lw.as_similarity("euclidean")),
    (axes[1], "after", learned),
):
    found = lw.evaluate_retrieval(similarity, X_test, labels=y_test, k=(1, 5, 10, 20))
    print(f"{name:>7}: precision@10 {found['precision@10']:.3f}, mAP {found['map']:.3f}")
    found.plot(ax)
    ax.set_title(f"{name} learning: {ax.get_title()}")
figure.savefig(folder / "retrieval.png", dpi=150, bbox_inches="tight")

print("\nThe nearest to the first of them, and why the nearest is near:\n")
nearest = learned.neighbors(X_test[:1], X_train, k=3).row(0)
for row, score in nearest:
    print(f"  training row {row:3d}  score {score:.2f}")
best = X_train[nearest[0][0]]
print(f"\n{learned.explain(X_test[0], best, query_names=wine.feature_names, top=5)}")

path = folder / "wine.safetensors"
learned.save(path)
again = lw.load(path)
assert (again.score(X, X) == learned.score(X, X)).all()
print(f"\nsaved and read back the same: {again}")
print(f"pictures and model are in {folder}")
