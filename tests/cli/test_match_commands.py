"""`likewise match` and `likewise dedupe`, on good and on bad input."""

import json

import pandas as pd
import pytest
from tests.matching.people import f1, labeled, people

import likewise as lw


@pytest.fixture
def folder(tmp_path):
    left, right, pairs = people()
    left.to_csv(tmp_path / "left.csv", index=False)
    right.to_csv(tmp_path / "right.csv", index=False, sep=";", encoding="utf-16")
    labeled(pairs).to_csv(tmp_path / "pairs.csv", index=False)
    return tmp_path


def matches(path):
    frame = pd.read_csv(path)
    return list(zip(frame["left_id"], frame["right_id"], strict=True))


def test_without_labels_matches_and_questions_are_written(run, folder):
    code, out, err = run("match", "left.csv", "right.csv", "--one-to-one")
    assert code == 0, err
    assert "this is a guess" in out
    assert "is not checked by any label and can be far too high" in " ".join(out.split())
    assert "right.csv: UTF-16" in err
    assert f1(matches("matches.csv"), people()[2]) > 0.95
    questions = pd.read_csv("questions.csv")
    assert len(questions) == 30
    assert questions["judge"].sum() == 6
    assert {"left_name", "right_name", "label"} <= set(questions.columns)


def test_answered_questions_are_labels(run, folder):
    assert run("match", "left.csv", "right.csv")[0] == 0
    questions, truth = pd.read_csv("questions.csv"), set(people()[2])
    rows = zip(questions["left_id"], questions["right_id"], strict=True)
    questions["label"] = [int(pair in truth) for pair in rows]
    questions.loc[3, "label"] = None
    questions.to_csv("questions.csv", index=False)
    code, out, err = run("match", "left.csv", "right.csv", "--labels", "questions.csv",
                         "--labels", "pairs.csv", "-o", "m.csv", "--json")  # fmt: skip
    assert code == 0, err
    assert json.loads(out)["judged"]["n"] == 6


def test_labels_make_a_model_that_matches_again(run, folder):
    code, _, err = run("match", "left.csv", "right.csv", "--labels", "pairs.csv",
                       "-o", "a.csv", "-m", "m.safetensors", "--report", "r.html")  # fmt: skip
    assert code == 0, err
    assert "left.csv and right.csv" in (folder / "r.html").read_text(encoding="utf8")
    assert isinstance(lw.load("m.safetensors"), lw.Matcher)
    code, out, err = run("match", "left.csv", "right.csv", "--model", "m.safetensors",
                         "-o", "b.parquet", "--wide", "--json")  # fmt: skip
    assert code == 0, err
    wide = pd.read_parquet("b.parquet")
    assert matches("a.csv") == list(zip(wide["left_id"], wide["right_id"], strict=True))
    assert {"left_name", "right_name", "left_born"} <= set(wide.columns)
    found = json.loads(out)
    assert found["decided"] == len(wide)
    assert set(found["forecast"]) == {"precision", "recall", "f1"}
    assert not (folder / "questions.csv").exists()


def test_all_candidates_as_json_lines(run, folder):
    code, _, err = run("match", "left.csv", "right.csv", "--labels", "pairs.csv", "--all",
                       "-k", "2", "-o", "all.jsonl")  # fmt: skip
    assert code == 0, err
    rows = [json.loads(line) for line in (folder / "all.jsonl").read_text().splitlines()]
    assert {row["decided"] for row in rows} == {True, False}


def test_dedupe_adds_clusters_to_the_table(run, folder):
    left, right, pairs = people()
    both = pd.concat([left, right]).rename(columns={"id": "key"})
    both.to_csv("both.csv", index=False)
    code, _, err = run("dedupe", "both.csv", "--id", "key", "-o", "c.csv")
    assert code == 0, err
    found = pd.read_csv("c.csv").set_index("key")
    assert list(found.columns) == ["name", "street", "town", "born", "cluster_id", "probability"]
    same = [found["cluster_id"][a] == found["cluster_id"][b] for a, b in pairs]
    assert sum(same) / len(same) > 0.9


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["match", "left.csv", "right.csv", "-k", "0"], 2, "error: -k must be at least 1"),
        (["match", "left.csv", "right.csv", "--precision", "2"], 2,
         "error: --precision must be at most 1, but 2.0 was given"),
        (["match", "left.csv", "right.csv", "--threshold", "-1"], 2,
         "error: --threshold must be finite and above 0, but -1.0 was given"),
        (["match", "left.csv", "right.csv", "--threshold", "0.5", "--precision", "0.9"], 2,
         "error: --threshold and --precision were both given"),
        (["dedupe", "left.csv", "--link", "averge"], 2,
         "error: --link must be one of 'average', 'single', but 'averge' was given. Did you mean"),
        (["match", "left.csv", "none.csv", "-o", "left.csv"], 2, "there is no file none.csv"),
        (["match", "left.csv", "right.csv", "--labels", "none.csv", "-o", "left.csv"], 2,
         "there is no file none.csv"),
        (["match", "left.csv", "right.csv", "-o", "left.csv"], 2, "--force overwrites it"),
        (["match", "left.csv", "right.csv", "--report", "pairs.csv"], 2, "--report is pairs.csv"),
        (["match", "left.csv", "right.csv", "-o", "x.txt"], 2, "--output: x.txt ends in '.txt'"),
        (["match", "left.csv", "right.csv", "--id", "ident"], 2, "names 'ident', but left.csv"),
        (["match", "left.csv", "right.csv", "--ignore", "nam"], 2, "Did you mean 'name'?"),
        (["match", "left.csv", "right.csv", "--model", "no.safetensors"], 2, "does not exist"),
        (["match", "left.csv", "right.csv", "--labels", "left.csv"], 2, "names 'left_id', but"),
        (["match", "left.csv", "pairs.csv"], 1, "left.csv has the columns id, name"),
        (["match", "twice.csv", "right.csv"], 1, "twice.csv has the id 'x' in rows 0 and 1"),
        (["match", "left.csv", "right.csv", "--labels", "alien.csv"], 1,
         "alien.csv has the left_id 'zz' in row 0, but left.csv has no such id"),
        (["dedupe", "left.csv", "--one-to-one"], 2, "--one-to-one is for two tables"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(run, folder, arguments, code, sentence):
    (folder / "twice.csv").write_text("id,name\nx,anna\nx,bruno\n")
    (folder / "alien.csv").write_text("left_id,right_id,label\nzz,b0,1\na0,b0,1\n")
    found = run(*arguments)
    assert found[0] == code, found
    assert sentence in found[2]
    assert not (folder / "matches.csv").exists()
