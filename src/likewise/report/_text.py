"""Short texts: names of similarities, shortened values, and the code to use a model."""

import json
import shlex
from typing import Any

from likewise.index import PGVECTOR_OPERATORS
from likewise.similarities import Bilinear, Foldable, Mahalanobis, Metric, Similarity


def shorten(value: Any, max_length: int) -> str:
    """Return `value` as one line of at most `max_length` characters."""
    line = " ".join(str(value).split())
    return line if len(line) <= max_length else line[: max_length - 1].rstrip() + "…"


def similarity_name(similarity: Similarity) -> str:
    """Return the kind of a similarity as a noun."""
    if isinstance(similarity, Mahalanobis):
        return f"{'Euclidean' if similarity.L.ndim == 0 else 'Mahalanobis'} distance"
    if isinstance(similarity, Bilinear):
        plain = similarity.W.ndim == 0
        if similarity.norm == "none":
            return "inner product" if plain else "bilinear similarity"
        name = similarity.norm if similarity.norm == "cosine" else similarity.norm.capitalize()
        return f"{name} similarity" if plain else f"bilinear {name} similarity"
    return f"{type(similarity).__name__} similarity"


def origin(similarity: Similarity, data: str) -> str:
    """Return the sentence on what was learned, from which data."""
    name = similarity_name(similarity)
    return f"{'An' if name[0] in 'aeiouE' else 'A'} {name} was learned from {data}."


def default_snippets(similarity: Similarity, model_path: str) -> list[tuple[str, str]]:
    """Return headings and code for a file that holds the similarity or its learner."""
    quoted = shlex.quote(model_path)
    python = f"""import likewise as lw

model = lw.load({json.dumps(model_path, ensure_ascii=False)})
similarity = getattr(model, "similarity_", model)  # of a learner, or itself
matches = similarity.neighbors(queries, items, k=10)
matches.ids, matches.scores"""
    shell = f"""likewise search {quoted} --items items.csv --query "row 17" -k 10
likewise explain {quoted} --items items.csv 17 42
likewise evaluate {quoted} held_out.csv --target class"""
    return [
        ("Python", python),
        ("Command line", shell),
        ("Vector database", _database_snippet(similarity)),
    ]


def _database_snippet(similarity: Similarity) -> str:
    metric = _folded_metric(similarity)
    if metric is None:
        return """# No vector database computes this similarity: rank candidates of one.
matches = similarity.neighbors(queries, candidates, k=10)"""
    return f"""stored = similarity.fold_items(items)    # once: the vectors to store in the database
sent = similarity.fold_queries(queries)  # for each search: the vectors to search with

# Metric of the index: {metric}. In PostgreSQL with pgvector:
# SELECT id FROM items ORDER BY vector {PGVECTOR_OPERATORS[metric].symbol} %s LIMIT 10;"""


def _folded_metric(similarity: Similarity) -> Metric | None:
    if not isinstance(similarity, Foldable):
        return None
    try:
        return similarity.folded_metric
    except ValueError:  # Dice and Jaccard do not fold
        return None
