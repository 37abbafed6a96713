"""Ranking measures of seen and new items apart, in the words of their definition."""

import numpy as np


def measures_apart(scores, grades, seen, cutoffs, depth=None, without=None):
    """Return (queries, {measure: values}) of all relevant items, of seen and of new ones.

    Parameters
    ----------
    scores, grades : (n_queries, n_items)
    seen : mask of items
    cutoffs : tuple of int
    depth : ranks that count for MRR and mAP; all by default
    without : (n_queries,), an item that each query does not rank
    """
    found = []
    for kind in (np.ones(len(seen), bool), seen, ~seen):
        queries, values = [], {}
        for query in range(len(scores)):
            ranking = ranked_grades(scores[query], grades[query], kind, _own(without, query))
            if max(ranking, default=0) > 0:
                queries.append(query)
                for name, value in measures(ranking, cutoffs, depth).items():
                    values.setdefault(name, []).append(value)
        found.append((queries, values))
    return found


def ranked_grades(scores, grades, kind, own=None):
    """Return the grades in order of the scores; relevant items of another kind are left out."""
    order = sorted(range(len(scores)), key=lambda item: (-scores[item], item))
    kept = [i for i in order if i != own and (grades[i] == 0 or kind[i])]
    return [float(grades[i]) for i in kept]


def measures(ranking, cutoffs, depth=None):
    """Return the measures of one ranking, which holds every relevant item."""
    n_relevant = sum(grade > 0 for grade in ranking)
    looked_at = ranking[:depth]
    precisions = [
        sum(g > 0 for g in looked_at[:rank]) / rank
        for rank, grade in enumerate(looked_at, start=1)
        if grade > 0
    ]
    first = [1 / rank for rank, grade in enumerate(looked_at, start=1) if grade > 0]
    return {
        **{f"precision@{k}": sum(g > 0 for g in ranking[:k]) / k for k in cutoffs},
        **{f"recall@{k}": sum(g > 0 for g in ranking[:k]) / n_relevant for k in cutoffs},
        **{f"ndcg@{k}": ndcg(ranking, k) for k in cutoffs},
        "mrr": max(first, default=0.0),
        "map": sum(precisions) / n_relevant,
    }


def ndcg(ranking, k):
    """Return the discounted grades of the first `k`, beside those of the best ranking."""
    best = sorted(ranking, reverse=True)
    return _discounted(ranking[:k]) / _discounted(best[:k])


def _discounted(ranking):
    return sum(grade / np.log2(rank + 1) for rank, grade in enumerate(ranking, start=1))


def _own(without, query):
    return None if without is None else without[query]
