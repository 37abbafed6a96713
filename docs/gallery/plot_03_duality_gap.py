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
default = fits[4]  # tol=1e-3

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
steps = [entry["iteration"] for entry in default.history_]
left.plot(steps, [entry["objective"] for entry in default.history_], "o-", label="objective")
bound = default.objective_ * (1 - default.duality_gap_)
left.axhline(bound, color="gray", linestyle=":", label="lower bound, from the dual")
left.set(xlabel="iteration", ylim=(0, None))
left.legend(fontsize="small")
right.loglog(tolerances, [fit.duality_gap_ for fit in fits], "o-")
right.set(xlabel="tol", ylabel="duality gap")

# %%
# The learning curve has one point for each search for impostors. With the default tolerance,
# 1e-3, it ends close to the bound, and a smaller tolerance comes closer.
print(f"at most {default.duality_gap_:.2%} above the minimum after {default.n_iter_} iterations")
