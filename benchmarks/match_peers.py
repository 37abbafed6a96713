"""Matching of whole tables beside dedupe, Splink and recordlinkage, each as its guide uses it.

febrl is without ``soc_sec_id`` and ``date_of_birth``. Splink and recordlinkage compare pairs that
share a key, which is written by hand here: for people surname, given name, postcode or street, for
titles their first or longest word. dedupe learns its keys, and likewise has no need of any. With
labels, all are given the same 200, which count neither for nor against anybody. Splink learns
without labels; it is made for people and not for products. The lead of likewise uses both whole
tables.
"""

import io
import json
import os
from typing import Any, NamedTuple

import numpy as np

from benchmarks._contender import Contender
from benchmarks._published import draw, f1, published

CASES = [
    {"set": name, "labels": labels, "threads": 1}
    for name in ("febrl1", "febrl4", "dblp_acm", "abt_buy", "amazon_google")
    for labels in (0, 200)
]
_TITLE = {"dblp_acm": "title", "abt_buy": "name", "amazon_google": "title"}
_KEYS = ("surname", "given_name", "postcode", "address_1")  # of people
_LIKELY = 0.5  # probability of a match

Pairs = set[tuple[str, str]]


class Tables(NamedTuple):
    """Tables, labeled pairs, and all known matches."""

    left: Any
    right: Any  # None for one table
    matches: list[tuple[str, str]]
    others: list[tuple[str, str]]
    truth: Pairs


class Found(NamedTuple):
    """Matched pairs, and the CPU time of the process and those it started."""

    pairs: Pairs
    cpu_seconds: float


def data(case: dict[str, Any]) -> Tables:
    """Return the tables, and labels: one match to three non-matches."""
    left, right, pairs, truth = published(case["set"], hard=True)
    if pairs is None:
        matches = sorted(truth)
        np.random.default_rng(0).shuffle(matches)
        matches, others = matches[:50], _others(left, right, truth)
    else:
        drawn = draw(pairs, 200, 0)
        ids = list(zip(drawn["left_id"], drawn["right_id"], strict=True))
        is_match = (drawn["label"] == "1").to_list()
        matches, others = ([p for p, y in zip(ids, is_match, strict=True) if y == kind]
                           for kind in (True, False))  # fmt: skip
    return Tables(left, right, [(a, b) for a, b in matches], others, truth)


def _others(left: Any, right: Any, truth: Pairs) -> list[tuple[str, str]]:
    """Return 150 pairs of different people with one surname."""
    both = left.merge(left if right is None else right, on="surname", suffixes=("", "_other"))
    row = {key: number for number, key in enumerate(left["id"])}
    ids = [
        (a, b)
        for a, b in zip(both["id"], both["id_other"], strict=True)
        if right is not None or row[a] < row[b]
    ]
    different = sorted(set(ids) - truth)
    chosen = np.random.default_rng(0).permutation(len(different))[:150]
    return [different[place] for place in chosen.tolist()]


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _timed(match: Any) -> Any:
    def prepare(case: dict[str, Any], data: Tables) -> Any:
        def run() -> Found:
            started = _cpu()
            pairs = match(case, data)
            return Found(pairs, _cpu() - started)

        return run

    return prepare


def _likewise(case: dict[str, Any], data: Tables) -> Pairs:
    import likewise as lw

    labels = [(*pair, 1) for pair in data.matches] + [(*pair, 0) for pair in data.others]
    matcher = lw.Matcher(one_to_one=data.right is not None)
    matcher.fit(data.left, data.right, labels if case["labels"] else None)
    pairs = matcher.match(data.left, data.right).pairs
    pairs = pairs[pairs["decided"]]
    return set(zip(pairs["left_id"], pairs["right_id"], strict=True))


def _dedupe(case: dict[str, Any], data: Tables) -> Pairs:
    import dedupe

    records = [
        {row["id"]: {k: v or None for k, v in row.items() if k != "id"}
         for row in table.to_dict("records")}
        for table in (data.left, data.right) if table is not None
    ]  # fmt: skip
    names = [name for name in data.left.columns if name != "id"]
    fields = [dedupe.variables.String(name, has_missing=True) for name in names]
    last = records[-1]
    told = {
        "match": [(records[0][a], last[b]) for a, b in data.matches],
        "distinct": [(records[0][a], last[b]) for a, b in data.others],
    }
    tuples = {k: [{"__class__": "tuple", "__value__": list(p)} for p in v] for k, v in told.items()}
    file = io.StringIO(json.dumps(tuples))
    if data.right is None:
        deduper = dedupe.Dedupe(fields, num_cores=1, in_memory=True)
        deduper.prepare_training(records[0], training_file=file)
        deduper.train()
        row = {key: number for number, key in enumerate(data.left["id"])}
        clusters = [sorted(ids, key=row.get) for ids, _ in deduper.partition(records[0], _LIKELY)]
        return {(a, b) for ids in clusters for i, a in enumerate(ids) for b in ids[i + 1 :]}
    linker = dedupe.RecordLink(fields, num_cores=1, in_memory=True)
    linker.prepare_training(*records, training_file=file)
    linker.train()
    return {(str(pair[0]), str(pair[1])) for pair, _ in linker.join(*records, threshold=_LIKELY)}


def _keyed(case: dict[str, Any], table: Any) -> tuple[Any, list[str]]:
    """Return a table with None for missing values, and the columns that pairs must share one of."""
    table = table.astype(object).where(table != "", None)
    title = _TITLE.get(case["set"])
    if title is None:
        return table, list(_KEYS)
    words = [(value or "").lower().split() or [None] for value in table[title]]
    first, longest = [w[0] for w in words], [max(w, key=lambda x: len(x or "")) for w in words]
    return table.assign(first_word=first, longest_word=longest), ["first_word", "longest_word"]


def _splink(case: dict[str, Any], data: Tables) -> Pairs:
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    tables = [t for t in (data.left, data.right) if t is not None]
    keyed = [_keyed(case, table.rename(columns={"id": "unique_id"})) for table in tables]
    rules = [block_on(key) for key in keyed[0][1]]
    names = [name for name in data.left.columns if name != "id"]
    settings = SettingsCreator(
        link_type="dedupe_only" if data.right is None else "link_only",
        comparisons=[cl.JaroWinklerAtThresholds(name, [0.95, 0.88, 0.7]) for name in names],
        blocking_rules_to_generate_predictions=rules,
    )
    database = DuckDBAPI()
    database.duckdb_con.execute("SET threads TO 1")
    frames = [
        database.register(table, table_name=side)
        for (table, _), side in zip(keyed, ("a_left", "b_right"), strict=False)
    ]
    linker = Linker(frames if len(frames) > 1 else frames[0], settings)
    linker.training.estimate_probability_two_random_records_match(rules, recall=0.8)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    for rule in rules:
        linker.training.estimate_parameters_using_expectation_maximisation(rule)
    found = linker.inference.predict(threshold_match_probability=_LIKELY).as_pandas_dataframe()
    pairs = zip(found["unique_id_l"], found["unique_id_r"], strict=True)
    if data.right is not None:
        return set(pairs)
    row = {key: number for number, key in enumerate(data.left["id"])}
    return {(a, b) if row[a] < row[b] else (b, a) for a, b in pairs}


def _recordlinkage(case: dict[str, Any], data: Tables) -> Pairs:
    import pandas as pd
    import recordlinkage

    tables = [t for t in (data.left, data.right) if t is not None]
    keyed = [_keyed(case, table.set_index("id")) for table in tables]
    frames = [table for table, _ in keyed]
    index = recordlinkage.Index()
    for key in keyed[0][1]:
        index.block(key)
    candidates = index.index(*frames)
    compare = recordlinkage.Compare()
    for name in data.left.columns:
        if name != "id":
            compare.string(name, name, method="jarowinkler", label=name)
    vectors = compare.compute(candidates, *frames)
    if case["labels"]:
        told = pd.MultiIndex.from_tuples([*data.matches, *data.others])
        classifier = recordlinkage.LogisticRegressionClassifier()
        classifier.fit(compare.compute(told, *frames), told[: len(data.matches)])
        found = classifier.predict(vectors)
    else:
        classifier = recordlinkage.ECMClassifier(binarize=0.8)
        found = classifier.fit_predict(vectors)
    if data.right is not None:
        return set(found)
    row = {key: number for number, key in enumerate(data.left["id"])}
    return {(a, b) if row[a] < row[b] else (b, a) for a, b in found}


def quality(case: dict[str, Any], data: Tables, result: Found) -> dict[str, float]:
    """Return CPU seconds, and F1, precision and recall without the labeled pairs."""
    known = {*data.matches, *data.others} if case["labels"] else set()
    found, truth = result.pairs - known, data.truth - known
    return {
        "cpu s": result.cpu_seconds,
        "F1": f1(found, truth),
        "precision": len(found & truth) / max(1, len(found)),
        "recall": len(found & truth) / len(truth),
    }


def _without_labels(case: dict[str, Any]) -> str | None:
    return "it does not learn from labels of pairs" if case["labels"] else None


def _with_labels(case: dict[str, Any]) -> str | None:
    return None if case["labels"] else "it needs labels"


CONTENDERS = [
    Contender("likewise", _timed(_likewise), slow=True),
    Contender("dedupe", _timed(_dedupe), "dedupe", slow=True, left_out=_with_labels),
    Contender("Splink", _timed(_splink), "splink", slow=True, left_out=_without_labels),
    Contender("recordlinkage", _timed(_recordlinkage), "recordlinkage", slow=True),
]
