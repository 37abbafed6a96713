"""Indexes and exports from the command line."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import likewise as lw


@pytest.fixture
def built(run, flowers):
    code, out, _ = run("index", "build", flowers / "ready.safetensors", "--items",
                       flowers / "items.parquet", "-o", "flowers.index", "--quiet")  # fmt: skip
    assert code == 0
    assert "every search is exact" in out
    return "flowers.index"


def test_an_index_finds_what_the_model_finds(run, flowers, built):
    frame = pd.read_parquet(flowers / "items.parquet")
    code, out, _ = run("index", "search", built, "--query", "f17", "-k", 4, "--json")
    assert code == 0
    scores = lw.load(flowers / "ready.safetensors").score(frame[17:18], frame)[0]
    scores[17] = -np.inf
    matches = json.loads(out)["matches"]
    best = np.argsort(-scores, kind="stable")[:4]
    assert [match["score"] for match in matches] == pytest.approx(scores[best], rel=1e-6)


def test_queries_can_be_numbers_or_rows_of_a_table(run, flowers, built):
    index = lw.load(built)
    width = index.items(index.ids[:1]).shape[1]
    code, _, _ = run("index", "search", built, "--query", json.dumps([0.0] * width))
    assert code == 0
    code, out, _ = run("index", "search", built, "--model", flowers / "ready.safetensors",
                       "--queries", flowers / "items.parquet", "--query", "row 3",
                       "--json")  # fmt: skip
    assert code == 0
    assert json.loads(out)["matches"][0]["score"] == pytest.approx(0, abs=1e-6)
    code, _, err = run("index", "search", built, "--queries", flowers / "items.parquet",
                       "--query", "row 3")  # fmt: skip
    assert code == 2
    assert "--queries needs --model" in err


def test_fields_are_kept_for_conditions(run, flowers):
    frame = pd.read_parquet(flowers / "items.parquet")
    frame["shop"] = ["A", "B", "C"] * (len(frame) // 3) + ["A"] * (len(frame) % 3)
    frame.to_parquet("shops.parquet")
    code, _, _ = run("index", "build", flowers / "ready.safetensors", "--items", "shops.parquet",
                     "--field", "shop", "-o", "shops.index")  # fmt: skip
    assert code == 0
    index = lw.load("shops.index")
    code, out, _ = run("index", "search", "shops.index", "--query", "f0", "--where", "shop=B",
                       "--json")  # fmt: skip
    assert code == 0
    found = [match["id"] for match in json.loads(out)["matches"]]
    shops = dict(zip(index.ids, frame["shop"], strict=True))
    assert {shops[i] for i in found} == {"B"}
    assert run("index", "search", "shops.index", "--query", "f0", "--where", "shop")[0] == 2
    code, _, err = run("index", "build", flowers / "ready.safetensors", "--items", "shops.parquet",
                       "--field", "shopp")  # fmt: skip
    assert code == 2
    assert "Did you mean 'shop'?" in err


def test_check_and_tune_tell_the_served_recall(run, flowers):
    code, _, _ = run("index", "build", flowers / "ready.safetensors", "--items",
                     flowers / "items.parquet", "--engine", "usearch",
                     "-o", "graph.index")  # fmt: skip
    assert code == 0
    code, out, _ = run("index", "tune", "graph.index", "--recall", "0.9", "--json")
    tuned = json.loads(out)
    assert code == 0
    assert tuned["recall"] >= 0.9
    code, out, _ = run("index", "check", "graph.index", "--json")
    checked = json.loads(out)
    assert (code, checked["engine"], checked["exact"]) == (0, "usearch", False)
    assert checked["effort"] == tuned["effort"]
    assert checked["served_recall"] == pytest.approx(tuned["recall"])


def test_a_model_is_not_an_index(run, flowers):
    code, _, err = run("index", "check", flowers / "ready.safetensors")
    assert code == 2
    assert "not an index" in err


@pytest.mark.parametrize("to", ["numpy", "faiss", "usearch"])
def test_the_page_of_an_export_finds_what_the_model_finds(run, flowers, to, tmp_path):
    model, items = flowers / "ready.safetensors", flowers / "items.parquet"
    code, out, _ = run("export", model, "--to", to, "--items", items, "-o", "out", "--json")
    assert code == 0
    assert "out/fold.npy" in json.loads(out)["files"]
    opened, frame = lw.load(model), pd.read_parquet(items)
    query = np.asarray(opened.transform(frame[5:6]))[0]
    page = (tmp_path / "out" / "README.md").read_text(encoding="utf8")
    code_block = page.split("```python\n")[1].split("```")[0]
    np.save(tmp_path / "out" / "query.npy", query)
    program = code_block.replace("query = ...", 'query = np.load("query.npy")')
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=tmp_path / "out", capture_output=True, text=True, check=True,
    )  # fmt: skip
    shown = ran.stdout.strip().strip("[]").replace("'", "").split(", ")
    index = lw.Index(opened.similarity_).add(range(len(frame)), opened.transform(frame))
    best = index.search(query[None], k=10).ids[0].tolist()
    assert shown == [frame["id"][i] for i in best]


def test_an_export_to_pgvector_is_sql(run, flowers, tmp_path):
    code, _, _ = run("export", flowers / "ready.safetensors", "--to", "pgvector", "--items",
                     flowers / "items.parquet", "-o", "out")  # fmt: skip
    assert code == 0
    sql = (tmp_path / "out" / "items.sql").read_text(encoding="utf8")
    rows = sql.split("from stdin;\n")[1].split("\\.\n")[0].splitlines()
    assert len(rows) == len(pd.read_parquet(flowers / "items.parquet"))
    assert "vector_l2_ops" in sql  # what a Mahalanobis distance folds into


def test_an_export_to_nowhere_known_is_refused(run, flowers):
    code, _, err = run("export", flowers / "ready.safetensors", "--to", "fais")
    assert code == 2
    assert "error: --to must be one of 'numpy', 'faiss'" in err
    assert "Did you mean 'faiss'?" in err


@pytest.mark.parametrize("option", ["--engine", "--fold"])
def test_an_index_of_an_unknown_kind_is_refused_before_a_table_is_read(run, flowers, option):
    code, _, err = run("index", "build", flowers / "ready.safetensors", "--items",
                       flowers / "items.parquet", option, "foo")  # fmt: skip
    assert code == 2
    assert err.startswith(f"error: {option} must be one of 'auto', ")


@pytest.fixture
def judged(flowers, tmp_path):
    """Return a model whose estimator has learned offsets, and the items as they are stored."""
    frame = pd.read_parquet(flowers / "items.parquet")
    columns = lw.tables.Columns().fit(frame.drop(columns="id"))
    numbers = columns.transform(frame)
    learner = lw.RidgeSimilarity(random_state=0)
    with pytest.warns(UserWarning, match="the start is kept"):  # the labels are random
        learner.fit(numbers, np.arange(len(frame)) % 3)
    directions = np.random.default_rng(0).normal(size=(50, numbers.shape[1]))
    learner.offsets_ = lw.ItemOffsets(
        frame["id"][:50].tolist(), directions, np.ones(50), 2.0, np.zeros(numbers.shape[1])
    )
    lw.tables.TableModel(lw.tables.Columns(id="id").fit(frame), learner).save(
        tmp_path / "judged.safetensors"
    )
    ids = frame["id"].tolist()
    return learner.similarity_, ids, numbers, learner.offsets_.apply(ids, numbers)


def test_commands_move_items_by_the_offsets_of_a_model(run, flowers, judged, tmp_path):
    similarity, ids, given, stored = judged
    items = flowers / "items.parquet"
    scores = similarity.score(given[17:18], stored)[0]
    assert not np.allclose(scores, similarity.score(given[17:18], given)[0])
    scores[17] = -np.inf
    best = np.argsort(-scores, kind="stable")[:4]
    for command in (
        ("search", "judged.safetensors", "--items", items, "--query", "id f17"),
        ("index", "search", "judged.index", "--query", "f17"),
    ):
        if command[0] == "index":
            code, _, _ = run("index", "build", "judged.safetensors", "--items", items,
                             "-o", "judged.index", "--quiet")  # fmt: skip
            assert code == 0
        code, out, _ = run(*command, "-k", 4, "--json")
        assert code == 0
        matches = json.loads(out)["matches"]
        assert [match["id"] for match in matches] == [ids[at] for at in best]
        assert [match["score"] for match in matches] == pytest.approx(scores[best], rel=1e-5)
    assert lw.load("judged.index").offsets.ids == tuple(ids[:50])
    code, _, _ = run("export", "judged.safetensors", "--to", "numpy", "--items", items,
                     "-o", "out")  # fmt: skip
    assert code == 0
    np.testing.assert_allclose(np.load("out/items.npy"), stored, rtol=1e-5, atol=1e-6)
