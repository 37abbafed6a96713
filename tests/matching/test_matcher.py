"""`Matcher`: from two tables to decided pairs, with and without labels."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from tests.matching.people import decided_pairs, f1, labeled, people

import likewise as lw
from likewise._files import to_bytes


@pytest.fixture(scope="module")
def tables():
    return people()


@pytest.fixture(scope="module")
def fitted(tables):
    left, right, pairs = tables
    return lw.Matcher().fit(left, right, labeled(pairs))


def test_labels_find_the_same_people(tables, fitted):
    left, right, pairs = tables
    report = fitted.match(left, right)
    assert f1(decided_pairs(report), pairs) > 0.95
    assert list(report.pairs.columns) == ["left_id", "right_id", "probability", "decided"]
    assert (np.diff(report.pairs["probability"]) <= 0).all()
    assert report.threshold == fitted.threshold_
    assert report.forecast == fitted.forecast_
    assert report.clusters is None
    assert "Learned from 12 matches and 24 non-matches." in report.sentences


def test_no_labels_are_a_guess_that_says_so(tables):
    left, right, pairs = tables
    report = lw.Matcher(one_to_one=True).fit(left, right).match(left, right)
    assert f1(decided_pairs(report), pairs) > 0.95
    assert "No labels: this is a guess. 30 answers would improve it." in report.sentences


CAVEAT = "This forecast is not checked by any label and can be far too high."


def test_a_forecast_that_no_label_checks_says_so(tables, tmp_path):
    left, right, pairs = tables
    apart = left[:20], right[right["id"].isin([b for _, b in pairs[20:]])]  # without a match
    matcher = lw.Matcher(learner="logistic").fit(*apart)
    report = matcher.match(*apart)
    assert report.n_decided > 0
    assert CAVEAT in matcher.sentences_
    assert report.sentences[-1].endswith(CAVEAT)
    assert sum(CAVEAT in sentence for sentence in report.sentences) == 1
    matcher.save(tmp_path / "m.safetensors")
    loaded = lw.load(tmp_path / "m.safetensors")
    assert loaded.match(left, right).sentences[-1].endswith(CAVEAT)
    ids = [(a, b, 0, 1) for a, b in zip(apart[0]["id"], apart[1]["id"], strict=True)]
    judges = pd.DataFrame(ids, columns=["left_id", "right_id", "label", "judge"])
    matcher.learn(judges)  # still a guess, but answers judge it
    told = [*matcher.sentences_, *matcher.match(*apart).sentences]
    assert not any(CAVEAT in sentence for sentence in told)
    assert matcher.sentences_[1].startswith("No labels: this is a guess.")


def test_a_forecast_of_labels_has_no_caveat(tables, fitted):
    told = [*fitted.sentences_, *fitted.match(*tables[:2]).sentences]
    assert not any(CAVEAT in sentence for sentence in told)


def test_duplicates_of_one_table_are_clusters(tables):
    left, right, pairs = tables
    both = pd.concat([left, right], ignore_index=True)
    report = lw.Matcher().fit(both, pairs=labeled(pairs)).match(both)
    cluster = dict(zip(report.clusters["id"], report.clusters["cluster_id"], strict=True))
    assert list(report.clusters["id"]) == list(both["id"])
    assert np.mean([cluster[a] == cluster[b] for a, b in pairs]) > 0.9
    assert report.clusters["cluster_id"].nunique() >= len(pairs) - 2
    same = [cluster[a] == cluster[b] for a, b in zip(report.pairs["left_id"],
            report.pairs["right_id"], strict=True)]  # fmt: skip
    assert_array_equal(report.pairs["decided"], same)


def test_probabilities_of_pairs_are_those_of_the_report(tables, fitted):
    left, right, _ = tables
    pairs = fitted.match(left, right).pairs[:9]
    assert_allclose(fitted.predict_proba(left, right, pairs), pairs["probability"])
    assert_allclose(
        fitted.predict_proba(left, right, list(zip(pairs["left_id"], pairs["right_id"],
                                                   strict=True))),
        pairs["probability"],
    )  # fmt: skip


def test_given_candidates_are_the_only_ones(tables, fitted):
    left, right, pairs = tables
    report = fitted.match(left, right, candidates=pairs[:5])
    assert set(zip(report.pairs["left_id"], report.pairs["right_id"], strict=True)) == set(
        pairs[:5]
    )


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pyarrow.table])
def test_results_are_frames_of_the_same_library(tables, fitted, library):
    left, right = (library(table.to_dict("list")) for table in tables[:2])
    report = fitted.match(left, right)
    assert type(report.pairs) is type(left)
    expected = fitted.match(*tables[:2]).pairs["probability"]
    assert_array_equal(np.array(report.pairs["probability"]), expected)


def test_same_seed_same_bytes(tables, fitted):
    left, right, pairs = tables
    again = lw.Matcher().fit(left, right, labeled(pairs))
    assert to_bytes(again) == to_bytes(fitted)


@pytest.mark.parametrize("with_labels", [True, False])
def test_a_file_holds_the_whole_matcher(tables, tmp_path, with_labels):
    left, right, pairs = tables
    matcher = lw.Matcher(k=5).fit(left, right, labeled(pairs) if with_labels else None)
    lw.save(matcher, tmp_path / "m.safetensors")
    loaded = lw.load(tmp_path / "m.safetensors")
    assert loaded.match(left, right).pairs.equals(matcher.match(left, right).pairs)
    others = people(seed=1)[:2]
    assert loaded.match(*others).pairs.equals(matcher.match(*others).pairs)
    assert (loaded.transform(left) != matcher.transform(left)).nnz == 0
    assert_array_equal(loaded.candidates_.left, matcher.candidates_.left)
    assert (loaded.fields_, loaded.forecast_) == (matcher.fields_, matcher.forecast_)
    assert str(loaded.explain("a0", "b0"))
    content = (tmp_path / "m.safetensors").read_bytes()
    assert b"meier" not in content
    assert to_bytes(loaded) == to_bytes(matcher)


def test_a_loaded_matcher_has_no_tables_to_ask_about(tables, fitted, tmp_path):
    fitted.save(tmp_path / "m.safetensors")
    loaded = lw.load(tmp_path / "m.safetensors")
    for call in (loaded.ask, lambda: loaded.learn([]), lambda: loaded.explain("a0", "b0")):
        with pytest.raises(ValueError, match="call fit first"):
            call()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        lw.Matcher().ask()


def test_an_explanation_adds_up_to_the_logistic_half(tables, fitted):
    left, right, _ = tables
    fitted.match(left, right)
    why = fitted.explain("a0", "b0")
    logistic = fitted.model_.learner.logistic(learner_vector(fitted, "a0", "b0"))[0]
    total = why.base + sum(term.log_odds for term in why)
    assert 1 / (1 + np.exp(-total)) == pytest.approx(logistic)
    assert {term.field for term in why} == {"name", "street", "town", "born", "*"}
    name = next(term for term in why if term.field == "name")
    assert name.left == left["name"][0]
    assert why.probability == pytest.approx(fitted.predict_proba(left, right, [("a0", "b0")])[0])
    assert "forest" in str(why)


def learner_vector(matcher, a, b):
    from likewise.matching._labels import read_pairs
    from likewise.matching._model import agreement_of, with_agreement

    tables = matcher._tables
    compared = tables.comparison.compare(read_pairs([(a, b)], *tables.sides)[0])
    agreement = agreement_of(matcher.model_.guess, tables)
    return with_agreement(compared, tables, np.arange(1), agreement)


def test_the_similarity_finds_the_same_people_in_an_index(tables, fitted):
    left, right, pairs = tables
    index = lw.Index(fitted.similarity_).add(right["id"].tolist(), fitted.transform(right))
    found = index.search(fitted.transform(left), k=3)
    partner = dict(pairs)
    hits = [partner[name] in ids for name, ids in zip(left["id"], found.ids, strict=True)]
    assert np.mean(hits) > 0.95
    assert (np.asarray(fitted.similarity_.W) >= 0).all()


def test_a_precision_raises_the_threshold(tables):
    left, right, pairs = tables
    usual = lw.Matcher().fit(left, right, labeled(pairs))
    precise = lw.Matcher(precision=0.995).fit(left, right, labeled(pairs))
    assert precise.threshold_ >= usual.threshold_
    assert precise.forecast_["precision"] >= 0.995
    assert lw.Matcher(threshold=0.3).fit(left, right, labeled(pairs)).threshold_ == 0.3


def answer(questions, pairs):
    truth = set(pairs)
    rows = zip(questions["left_id"], questions["right_id"], strict=True)
    return questions.assign(label=[int(pair in truth) for pair in rows])


def test_asking_learns_and_every_fifth_answer_judges(tables):
    left, right, pairs = tables
    matcher = lw.Matcher().fit(left, right)
    seen = set()
    for start in range(0, 40, 10):
        questions = matcher.ask(10)
        assert [i for i, judge in enumerate(questions["judge"]) if judge] == [4, 9], start
        rows = set(zip(questions["left_id"], questions["right_id"], strict=True))
        assert not rows & seen
        seen |= rows
        matcher.learn(answer(questions, pairs))
    assert matcher.judged_["n"] == 8
    assert sum(map(int, matcher.sentences_[1].split()[2:6:3])) == 32
    assert f1(decided_pairs(matcher.match(left, right)), pairs) > 0.95


def test_all_candidates_can_be_asked_about(tables):
    left, right, pairs = tables
    matcher = lw.Matcher(k=2, learner="logistic").fit(left, right, labeled(pairs))
    questions = matcher.ask(1000)
    rows = set(zip(questions["left_id"], questions["right_id"], strict=True))
    known = set(zip(labeled(pairs)["left_id"], labeled(pairs)["right_id"], strict=True))
    found = matcher.match(left, right).pairs
    candidates = set(zip(found["left_id"], found["right_id"], strict=True))
    assert len(rows) == len(questions)
    assert rows == candidates - known
    assert len(matcher.ask(5)) == 0


def test_with_labels_the_most_uncertain_pairs_are_asked_at_once(tables):
    left, right, pairs = tables
    matcher = lw.Matcher().fit(left, right, labeled(pairs))
    p = matcher.predict_proba(left, right, matcher.match(left, right).pairs)
    nearest = np.sort(np.abs(p - 0.5))
    questions = matcher.ask(4)
    asked = matcher.predict_proba(left, right, questions)
    assert np.abs(asked - 0.5).max() <= nearest[len(nearest) // 2]
    exploring = lw.Matcher().fit(left, right).ask(4)
    assert set(exploring["left_id"]) != set(questions["left_id"])


def test_wrong_judging_answers_leave_no_trace_in_what_is_learned(tables):
    left, right, pairs = tables
    learned = []
    for intruder in (0, 1):
        matcher = lw.Matcher().fit(left, right, labeled(pairs))
        questions = answer(matcher.ask(10), pairs)
        questions.loc[questions["judge"] == 1, "label"] = intruder
        learned.append(matcher.learn(questions))
    honest, misled = learned
    assert to_bytes(honest.similarity_) == to_bytes(misled.similarity_)
    assert to_bytes(honest.model_) == to_bytes(misled.model_)
    assert honest.judged_ != misled.judged_


def test_labels_of_a_file_keep_their_judges_apart(tables):
    left, right, pairs = tables
    labels = labeled(pairs)
    labels["judge"] = 0
    wrong = pd.DataFrame({"left_id": [pairs[30][0]], "right_id": [pairs[30][1]], "label": [0],
                          "judge": [1]})  # fmt: skip
    plain = lw.Matcher().fit(left, right, labels)
    judged = lw.Matcher().fit(left, right, pd.concat([labels, wrong]))
    assert to_bytes(plain.model_) == to_bytes(judged.model_)
    assert judged.judged_["n"] == 1


def test_a_share_that_judges_exclude_is_said_and_not_used(tables):
    left, right, pairs = tables
    labels = labeled(pairs)
    labels["judge"] = 0
    matches = pd.DataFrame(pairs[12:], columns=["left_id", "right_id"]).assign(label=1, judge=1)
    matcher = lw.Matcher().fit(left, right, pd.concat([labels, matches]))
    assert matcher.share_ == matcher.judged_["share"][1] > 0.8
    (told,) = [sentence for sentence in matcher.sentences_ if "outside the interval" in sentence]
    assert "the judged figures come from the same answers, and can be too good." in told
    assert told in matcher.match(left, right).sentences


@pytest.mark.parametrize("learner", ["auto", "logistic"])
def test_labels_without_any_candidate_are_learned_from(learner):
    left = pd.DataFrame({"id": range(6), "name": ["aaa bbb", "ccc"] * 3})
    right = pd.DataFrame({"id": range(6), "name": ["xyz uvw", "rst"] * 3})
    rows = [(row, row, row % 2, 0) for row in range(6)] + [(0, 1, 1, 1)]
    labels = pd.DataFrame(rows, columns=["left_id", "right_id", "label", "judge"])
    matcher = lw.Matcher(learner=learner).fit(left, right, labels)
    report = matcher.match(left, right)
    assert len(matcher.candidates_) == len(report.pairs) == len(matcher.ask(5)) == 0
    assert (matcher.share_, report.n_decided, report.reliability) == (0.0, 0, ())
    assert matcher.judged_["recall"][0] == 0.0
    assert 0 < matcher.predict_proba(left, right, [(0, 1)])[0] < 1


def test_a_guess_that_all_candidates_match_gives_no_prior(tables):
    from likewise.matching._guess import Guess
    from likewise.matching._labels import read_labels
    from likewise.matching._model import learned_model

    left, right, pairs = tables
    compared = lw.Matcher(k=2).fit(left, right)._tables
    labels = read_labels(labeled(pairs), *compared.sides)
    certain = Guess(np.full((5, 4), 300.0), 0.5)
    assert (certain.probabilities(compared.compared.levels) == 1).all()
    model = learned_model(certain, compared, labels, "auto", 0)
    p = model.scores(compared, compared.comparison.compare(labels.pairs)).learned
    assert p[labels.is_match].mean() > 0.9 > 0.1 > p[~labels.is_match].mean()


def test_few_labels_are_learned_from_and_said_to_be_few(tables):
    left, right, pairs = tables
    matcher = lw.Matcher().fit(left, right, labeled(pairs, 1, 1))
    assert matcher.sentences_[1] == "Learned from 1 matches and 1 non-matches: too few to judge."
    assert 0.02 < matcher.share_ < 0.3
