"""
The parameters of SiLA
======================

SiLA visits every row once an epoch, and learns from mistakes. ``form`` says how many entries of the
matrix it may move, ``n_epochs`` how long it learns, and ``tail`` how many of the last matrices are
summed. The data is *balance*: which side of a scale goes down, from two weights and two distances.
"""

import matplotlib.pyplot as plt
import numpy as np

import likewise as lw

data = lw.datasets.load("balance")
order = np.random.default_rng(0).permutation(len(data.X))
train, test = order[:300], order[300:]
X, y, Q, labels = data.X[train], data.y[train], data.X[test], data.y[test]


def score(**parameters):
    """Return the accuracy of three neighbors on test rows."""
    clf = lw.SimilarityClassifier(learner=lw.SiLA(**parameters))
    return clf.fit(X, y).score(Q, labels)


plain = lw.SimilarityClassifier(similarity="cosine").fit(X, y).score(Q, labels)
epochs = [1, 2, 5, 10, 20, 40]
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.5, 3.2), layout="constrained")
for form in ("diagonal", "symmetric", "square"):
    left.plot(epochs, [score(form=form, n_epochs=n) for n in epochs], "o-", label=form)
    learned = lw.SiLA(form, n_epochs=40).fit(X, y)
    middle.plot([entry["mistakes"] for entry in learned.history_], label=form)
left.axhline(plain, color="gray", linestyle=":", label="cosine")
left.set(xlabel="n_epochs", ylabel="accuracy, test rows", xscale="log")
left.set(xticks=epochs, xticklabels=epochs)
left.minorticks_off()
left.legend(fontsize="small")
middle.set(xlabel="epoch", ylabel="mistakes among 300 rows", ylim=(0, None))

tails = [1, 10, 100, 1000, None]
for init in ("zero", "base"):
    scores = [score(form="symmetric", init=init, n_epochs=40, tail=tail) for tail in tails]
    right.plot(range(len(tails)), scores, "o-", label=f"init={init!r}")
right.set(xlabel="tail", xticks=range(len(tails)), xticklabels=["1", "10", "100", "1000", "all"])
right.set_ylabel("accuracy, test rows")
right.legend(fontsize="small")

# %%
# A diagonal has too few entries for this task, and a square matrix enough to fit the training rows:
# its accuracy falls after two epochs, although it makes fewer mistakes. Mistakes do not stop,
# because the classes overlap, so that a single matrix depends on the last rows; the sum of many is
# better. With ``early_stopping=True`` a fifth of the training rows chooses the epochs
# and the tail.
chosen = lw.SiLA("symmetric", n_epochs=40, early_stopping=True, random_state=0).fit(X, y)
print(f"chosen: {chosen.n_epochs_} epochs, tail {chosen.tail_}")
