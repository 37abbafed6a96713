"""
How good is a similarity?
=========================

Before a classifier is trained: the margin of every example, which is how much nearer its own class
is than the others. A curve farther to the right is a better similarity.
"""

import likewise as lw

digits = lw.datasets.load("digits")
X, y = digits.X[:500], digits.y[:500]
learned = lw.LMNN().fit(digits.X[500:1000], digits.y[500:1000]).similarity_

before = lw.goodness("euclidean", X, y)
after = lw.goodness(learned, X, y)  # learned from other rows
after.plot(before.plot(label="Euclidean"), label="LMNN")
print(before, after, sep="\n")
