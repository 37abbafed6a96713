"""
Neighbors before and after learning
===================================

Faces under different light: pictures with the same light look more alike than pictures of the same
person, until LMNN has learned from the names to ignore the light. The faces are drawn by this
example, so that no data has to be downloaded; ``python -m reproduce lmnn`` shows the same for
photographs. The task is made for learning. On the single digits that come with scikit-learn, LMNN
and NCA with 300, 600 or 1,000 training rows had as many wrong neighbors as the Euclidean distance
or more.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

import likewise as lw

rng = np.random.default_rng(0)
y, x = np.mgrid[-1:1:32j, -1:1:28j]
n_people, n_pictures = 40, 12
shape = rng.uniform(-1, 1, size=(n_people, 7))  # what makes a person


def spot(x0, y0, width, height):
    """Return a soft ellipse."""
    return np.exp(-(((x - x0) / width) ** 2) - ((y - y0) / height) ** 2)


def face(person):
    """Return a picture of a person, with a random light and expression."""
    wide, apart, high, long, low, broad, hair = shape[person]
    light, above, smile = rng.normal(size=3)
    skin = 1 / (1 + np.exp(12 * ((x / (0.75 + 0.1 * wide)) ** 2 + (y / 0.95) ** 2 - 1)))
    eyes = sum(spot(s * (0.32 + 0.08 * apart), -0.2 + 0.1 * high, 0.1, 0.07) for s in (-1, 1))
    nose = spot(0, 0.12 + 0.05 * long, 0.06, 0.18 + 0.08 * long)
    bent = y - 0.12 * smile * (x / 0.4) ** 2 * (np.abs(x) < 0.5)
    mouth = np.exp(-((x / (0.26 + 0.1 * broad)) ** 2) - ((bent - 0.5 - 0.08 * low) / 0.06) ** 2)
    top = 1 / (1 + np.exp(20 * (y + 0.62 + 0.15 * hair)))
    drawn = skin * (0.75 - 0.6 * eyes - 0.2 * nose - 0.5 * mouth - 0.5 * top)
    return drawn * (1 + 0.5 * light * x + 0.3 * above * y) + 0.02 * rng.normal(size=x.shape)


people = np.repeat(np.arange(n_people), n_pictures)
faces = np.stack([face(person) for person in people])
train = np.arange(len(faces)) % n_pictures < 6
pixels = faces.reshape(len(faces), -1)
rows = PCA(40, random_state=0).fit(pixels[train]).transform(pixels)
learned = lw.LMNN(tol=1e-2).fit(rows[train], people[train]).similarity_

pictures, names = faces[train], people[train]
before = lw.as_similarity("euclidean").neighbors(rows[~train], rows[train], k=1).ids[:, 0]
after = learned.neighbors(rows[~train], rows[train], k=1).ids[:, 0]
wrong_before, wrong_after = (
    names[found.astype(int)] != people[~train] for found in (before, after)
)
print(f"of {len(wrong_after)} test pictures, the nearest one shows another person")
print(f"for {wrong_before.sum()} before learning, for {wrong_after.sum()} after it")

# %%
# Some test pictures whose neighbor was corrected.
shown = np.flatnonzero(wrong_before & ~wrong_after)[::12][:7]
figure, axes = plt.subplots(3, len(shown), figsize=(8, 4.2), layout="constrained")
for column, row in enumerate(shown):
    drawn = faces[~train][row], pictures[before[row]], pictures[after[row]]
    for axis, picture in zip(axes[:, column], drawn, strict=True):
        axis.imshow(picture, cmap="gray")
        axis.set(xticks=[], yticks=[])
for axis, name in zip(axes[:, 0], ("query", "before", "after"), strict=True):
    axis.set_ylabel(name)
