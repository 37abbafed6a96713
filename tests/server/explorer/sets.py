"""Small data sets of images, texts and rows, and servers for them."""

import re

import numpy as np
import pandas as pd
from sklearn import datasets

import likewise as lw
from likewise.tables import Columns, TableModel

TOKEN = "a-token-that-is-long-enough"


def digits(n=300):
    """Return pictures: handwritten digits, 8 by 8."""
    data = datasets.load_digits()
    frame = pd.DataFrame(
        data.data[:n], columns=[f"pixel_{i}_{j}" for i in range(8) for j in range(8)]
    )
    frame.insert(0, "id", [f"digit-{i:03d}" for i in range(n)])
    frame["digit"] = data.target[:n].astype(str)
    return frame, "digit", Columns(image_shape=(8, 8), ignore=["digit"])


def sentences():
    """Return texts: what scikit-learn says of the data sets it brings, sentence by sentence."""
    loaders = ["iris", "wine", "breast_cancer", "digits", "diabetes", "linnerud"]
    rows = []
    for name in loaders:
        said = getattr(datasets, f"load_{name}")().DESCR
        said = re.sub(r"[-=:|*]{2,}|\.\. \w+::?|:[A-Z][\w ]+:", " ", said)
        for part in re.split(r"(?<=[.!?])\s+(?=[A-Z])|\n\s*\n", said):
            text = " ".join(part.split())
            if len(text.split()) >= 8:
                rows.append({"id": f"{name}-{len(rows)}", "text": text, "about": name})
    frame = pd.DataFrame(rows)
    return frame, "about", Columns(text=["text"], ignore=["about"], max_words=150)


def wines():
    """Return rows: the chemistry of wines."""
    data = datasets.load_wine(as_frame=True)
    frame = data.frame.drop(columns="target")
    frame.insert(0, "id", range(len(frame)))
    frame["grower"] = np.array(["first", "second", "third"])[data.target]
    return frame, "grower", Columns(ignore=["grower"])


def abstracts(n=120):
    """Return vectors, each with a long text that the model does not read."""
    frame, _, columns = sentences()
    vectors = columns.fit(frame).transform(frame)
    rng = np.random.default_rng(0)
    rows = []
    for number, about in enumerate(rng.choice(frame["about"].unique(), n)):
        own = rng.permutation(np.flatnonzero(frame["about"] == about))[:3]
        chosen = np.append(own, rng.integers(len(frame), size=3))
        parts = frame["text"].to_numpy()[chosen]
        rows.append(
            {
                "id": f"abstract-{number}",
                "vector": vectors[chosen].sum(axis=0).astype(np.float32),
                "title": f"{number}: {' '.join(parts[0].split()[:6])}",
                "abstract": " ".join(parts),
                "about": about,
            }
        )
    return pd.DataFrame(rows), "about", None


SETS = {"digits": digits, "sentences": sentences, "wines": wines, "abstracts": abstracts}


def write_set(name, folder):
    """Write a model that knows nothing yet, and the items; return their frame and label."""
    frame, label, columns = SETS[name]()
    model = folder / f"{name}.safetensors"
    if columns is None:
        lw.save(lw.Bilinear(np.eye(len(frame["vector"][0])), norm="cosine"), model)
    else:
        columns.fit(frame)
        start = lw.Bilinear(np.eye(len(columns.feature_names_)), norm="cosine")
        TableModel(columns, start, target=label).save(model)
    frame.to_parquet(folder / f"{name}.parquet", index=False)
    return frame, label


def serving(zygote, name, folder, **settings):
    """Serve a set that was written."""
    model, items = folder / f"{name}.safetensors", folder / f"{name}.parquet"
    if name == "abstracts":  # its model file does not name the label
        settings = {"label": "about", **settings}
    return zygote.server(model, items, **settings)


def promote_learned(server):
    """Make the newest version live that is not the start."""
    with server.client() as client:
        learned = (m for m in client.models().models if m.penalty or m.gamma or m.rank)
        return client.promote(next(learned).version)


def teach(server, frame, label, n, **given):
    """Tell a server that items of one label are alike, n times; wait until it has learned it."""
    rng = np.random.default_rng(0)
    labels, ids = frame[label].to_numpy(), frame["id"].tolist()
    with server.client(**given) as client:
        triplets = []
        while len(triplets) < n:
            query, closer, farther = rng.integers(len(ids), size=3)
            if query != closer and labels[query] == labels[closer] != labels[farther]:
                triplets.append((ids[query], ids[closer], ids[farther]))
        for start in range(0, n, 20):
            client.feedback(triplets[start : start + 20])
            client.wait(60)
