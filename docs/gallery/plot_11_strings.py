"""
Strings by edit distance
========================

Surnames as a matrix of edit distances, and how many of the neighbors share the language.
"""

import matplotlib.pyplot as plt
import numpy as np

import likewise as lw

russian = [
    "Ivanov",
    "Petrov",
    "Smirnov",
    "Sokolov",
    "Popov",
    "Lebedev",
    "Kozlov",
    "Novikov",
    "Morozov",
    "Volkov",
]
italian = [
    "Rossi",
    "Russo",
    "Ferrari",
    "Esposito",
    "Bianchi",
    "Romano",
    "Colombo",
    "Ricci",
    "Marino",
    "Greco",
]
polish = [
    "Nowak",
    "Kowalski",
    "Kaminski",
    "Lewandowski",
    "Zielinski",
    "Szymanski",
    "Wozniak",
    "Dabrowski",
]
names = russian + italian + polish
languages = np.repeat(["Russian", "Italian", "Polish"], [10, 10, 8])

edits = lw.from_distance("levenshtein")
figure, axis = plt.subplots(figsize=(6, 5), layout="constrained")
drawn = axis.imshow(edits.distance(names, names), cmap="magma")
axis.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
axis.set_yticks(range(len(names)), names, fontsize=7)
figure.colorbar(drawn, label="edit distance")

# %%
# Each name is predicted by its neighbors among the others.
for k in (1, 3, 5):
    matches = edits.neighbors(names, names, k=k, exclude_self=True).ids.astype(int)
    print(
        f"{k} neighbors: {(languages[matches] == languages[:, None]).mean():.2f} share the language"
    )

# %%
# DBoost combines questions of the form "nearer to this name than to that one?".
boost = lw.DBoost("levenshtein", n_rounds=50, random_state=0).fit(names, languages)
print(boost.predict(["Kuznetsov", "Rossini", "Wisniewski"]))
