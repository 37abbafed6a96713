"""
What a learned matrix looks at
==============================

A bilinear similarity learned from comparisons of digits. Each row of W says which pixels of an
item a pixel of the query is compared with; its diagonal shows which pixels count at all.
"""

import matplotlib.pyplot as plt
import numpy as np

import likewise as lw

digits = lw.datasets.load("digits")
aroma = lw.AROMA(n_triplets=50_000, random_state=0).fit(digits.X, digits.y)
W = aroma.similarity_.W

figure, axes = plt.subplots(1, 3, figsize=(8, 2.8), layout="constrained")
limit = np.abs(W - np.eye(64)).max()
axes[0].imshow(W - np.eye(64), cmap="RdBu_r", vmin=-limit, vmax=limit)
axes[0].set_title("W − identity")
axes[1].imshow(np.diag(W).reshape(8, 8), cmap="viridis")
axes[1].set_title("diagonal, as an image")
pixel = 8 * 3 + 4
row = W[pixel].reshape(8, 8)
axes[2].imshow(row, cmap="RdBu_r", vmin=-np.abs(row).max(), vmax=np.abs(row).max())
axes[2].plot(pixel % 8, pixel // 8, "k+")
axes[2].set_title("the row of the pixel +")
