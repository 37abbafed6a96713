"""Figures on published tables, where LIKEWISE_DATA has them."""

import numpy as np
import pandas as pd
import pytest
from tests.matching.people import decided_pairs, f1

import likewise as lw


def read(data_dir, name):
    path = data_dir / "match" / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def published(data_dir, name):
    return (read(data_dir, f"{name}_{part}") for part in ("left", "right", "pairs"))


def draw(pairs, seed, n_matches=50, n_others=150):
    """Return labels of the training part: one match to three non-matches."""
    rng = np.random.default_rng(seed)
    train = pairs[pairs["split"] == "train"]
    kinds = [train[train["label"] == label] for label in "10"]
    sizes = zip(kinds, (n_matches, n_others), strict=True)
    return pd.concat([kind.iloc[rng.permutation(len(kind))[:n]] for kind, n in sizes])


@pytest.mark.parametrize(("name", "least"), [("abt_buy", 0.90), ("dblp_acm", 0.965)])
def test_pairs_with_200_labels(data_dir, name, least):
    left, right, pairs = published(data_dir, name)
    test = pairs[pairs["split"] == "test"]
    truth = test[test["label"] == "1"]
    scores = []
    for seed in range(4):
        matcher = lw.Matcher().fit(left, right, draw(pairs, seed))
        report = matcher.match(left, right, candidates=test)
        scores.append(f1(decided_pairs(report), truth[["left_id", "right_id"]].itertuples(
            index=False, name=None)))  # fmt: skip
    assert np.mean(scores) >= least


@pytest.mark.parametrize(("name", "least"), [("abt_buy", 0.88), ("dblp_acm", 0.98)])
def test_no_labels_one_to_one(data_dir, name, least):
    left, right, pairs = published(data_dir, name)
    truth = pairs[pairs["label"] == "1"][["left_id", "right_id"]]
    truth = set(truth.itertuples(index=False, name=None))
    matcher = lw.Matcher(one_to_one=True).fit(left, right)
    assert f1(decided_pairs(matcher.match(left, right)), truth) >= least
    rows = zip(left["id"].to_numpy()[matcher.candidates_.left],
               right["id"].to_numpy()[matcher.candidates_.right], strict=True)  # fmt: skip
    assert len(truth & set(rows)) / len(truth) >= 0.995


def test_duplicates_of_people_without_labels(data_dir):
    table, truth = read(data_dir, "febrl1"), read(data_dir, "febrl1_matches")
    report = lw.Matcher().fit(table).match(table)
    sorted_pairs = {tuple(sorted(pair)) for pair in decided_pairs(report)}
    expected = {tuple(sorted(p)) for p in truth.itertuples(index=False, name=None)}
    assert f1(sorted_pairs, expected) >= 0.999
