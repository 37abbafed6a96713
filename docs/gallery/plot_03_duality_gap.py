"""
How close to the optimum: the duality gap
=========================================

LMNN's problem is convex. Its dual bounds the objective from below, so ``duality_gap_`` states how
far the result can be from the best one, without knowing it.
"""

import matplotlib.pyplot as plt
from sklearn.preprocessing import StandardScaler

import likewise as lw

wine = lw.datasets.load("wine")
X = StandardScaler().fit_transform(wine.X)
tolerances = [1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4]
fits = [lw.LMNN(tol=tol).fit(X, wine.y) for tol in tolerances]

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
left.loglog(tolerances, [fit.duality_gap_ for fit in fits], "o-")
left.set(xlabel="tol", ylabel="duality gap")
right.semilogx(tolerances, [fit.objective_ for fit in fits], "o-")
right.set(xlabel="tol", ylabel="objective")

# %%
# The default tolerance is 1e-3.
print(f"at most {fits[4].duality_gap_:.2%} above the minimum, after {fits[4].n_iter_} iterations")
