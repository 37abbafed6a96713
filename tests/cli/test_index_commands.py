"""Indexes and exports from the command line."""

import ast
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


def run_page(folder, row, *, without_likewise=True):
    """Run the code of an export's page for a row of a table, and return the ids that it prints."""
    page = (folder / "README.md").read_text(encoding="utf8")
    code = page.split("```python\n")[1].split("```")[0]
    assert "row = ..." in code
    program = code.replace("row = ...", f"row = {row!r}")
    if without_likewise:
        program = f"import sys\nsys.modules['likewise'] = None\n{program}"
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ast.literal_eval(ran.stdout)


def found(run, model, items, row):
    """Return the ids that ``likewise search`` finds for a row."""
    code, out, _ = run("search", model, "--items", items, "--query", json.dumps(row),
                       "-k", 10, "--json")  # fmt: skip
    assert code == 0
    return [match.get("id", match["row"]) for match in json.loads(out)["matches"]]


@pytest.mark.parametrize("to", ["numpy", "faiss", "usearch"])
def test_the_page_of_an_export_finds_what_search_finds_for_a_row(run, flowers, to, tmp_path):
    model, items = flowers / "ready.safetensors", flowers / "items.parquet"
    code, out, _ = run("export", model, "--to", to, "--items", items, "-o", "out", "--json")
    assert code == 0
    assert {"out/fold.npy", "out/encoding.json"} < set(json.loads(out)["files"])
    row = pd.read_parquet(items).drop(columns="id").iloc[5].to_dict()
    assert run_page(tmp_path / "out", row) == found(run, model, items, row)
    row["petal width (cm)"] = None  # imputed as in fitting
    assert run_page(tmp_path / "out", row) == found(run, model, items, row)


@pytest.mark.parametrize("scale", ["standard", "range", "none"])
def test_vectors_and_pixels_are_encoded_without_likewise(run, rng, scale, tmp_path):
    frame = pd.DataFrame({"price": rng.normal(1000, 300, size=60)})
    frame["embedding"] = rng.normal(3, 2, size=(60, 5)).tolist()
    for pixel in range(16):
        frame[f"pixel{pixel}"] = rng.integers(0, 256, size=60)
    frame.to_parquet("mixed.parquet")
    columns = lw.tables.Columns(scale=scale).fit(frame)
    form = lw.Bilinear(rng.normal(size=(22, 22)), norm="cosine")
    lw.tables.TableModel(columns, form).save("mixed.safetensors")
    assert run("export", "mixed.safetensors", "--to", "faiss", "--items", "mixed.parquet",
               "-o", "out")[0] == 0  # fmt: skip
    row = frame.iloc[7].to_dict()
    row = {name: value if name == "embedding" else float(value) for name, value in row.items()}
    assert run_page(tmp_path / "out", row) == found(run, "mixed.safetensors", "mixed.parquet", row)


def test_other_encodings_are_exported_for_likewise(run, rng, tmp_path):
    frame = pd.DataFrame(
        {"price": rng.normal(50, 9, size=60), "kind": ["boot", "shoe", "hat"] * 20}
    )
    frame["made"] = [f"2024-{1 + month % 12:02}-03" for month in range(60)]
    frame.to_csv("shoes.csv", index=False)
    columns = lw.tables.Columns().fit(lw.tables.read_table("shoes.csv").rows)
    assert columns.affine() is None
    width = len(columns.feature_names_)
    form = lw.Mahalanobis(rng.normal(size=(width, width)))
    lw.tables.TableModel(columns, form).save("shoes.safetensors")
    code, out, _ = run("export", "shoes.safetensors", "--to", "numpy", "--items", "shoes.csv",
                       "-o", "out", "--json")  # fmt: skip
    assert code == 0
    assert "out/columns.safetensors" in json.loads(out)["files"]
    assert "encode each query with likewise" in (tmp_path / "out" / "README.md").read_text()
    row = {"price": 61.5, "kind": "shoe", "made": "2024-05-09"}
    shown = run_page(tmp_path / "out", row, without_likewise=False)
    assert shown == found(run, "shoes.safetensors", "shoes.csv", row)


@pytest.mark.parametrize("to", ["numpy", "faiss", "usearch", "pgvector"])
def test_a_page_imports_only_modules_that_it_uses(run, flowers, to, tmp_path):
    lw.index.export(lw.Bilinear(np.eye(2)), tmp_path / "out", to, items=np.eye(2))
    page = (tmp_path / "out" / "README.md").read_text(encoding="utf8")
    tree = ast.parse(page.split("```python\n")[1].split("```")[0])
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    imported = {alias.asname or alias.name for node in imports for alias in node.names}
    assert imported == imported & {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}


def test_a_second_export_removes_files_of_the_first(run, flowers, tmp_path):
    words = ["export", flowers / "ready.safetensors", "--items", flowers / "items.parquet"]
    assert run(*words, "-o", "out", "--to", "pgvector")[0] == 0
    (tmp_path / "out" / "items.npy").write_text("mine")
    code, _, err = run(*words, "-o", "out", "--to", "faiss")
    assert code == 0
    assert "overwritten: fold.npy, encoding.json, README.md, export.json" in err
    assert "removed, of an earlier export: items.sql" in err
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert "items.sql" not in names
    assert (tmp_path / "out" / "items.npy").read_text() == "mine"


def test_an_export_that_fails_keeps_the_files_of_the_first(run, flowers, tmp_path, monkeypatch):
    words = ["export", flowers / "ready.safetensors", "--items", flowers / "items.parquet"]
    assert run(*words, "-o", "out", "--to", "pgvector")[0] == 0
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert run(*words, "-o", "out", "--to", "faiss")[0] == 1
    assert (tmp_path / "out" / "items.sql").exists()


def test_an_export_replaces_files_of_others_only_by_force(run, flowers, tmp_path):
    (tmp_path / "README.md").write_text("mine")
    words = ["export", flowers / "ready.safetensors", "--to", "numpy", "-o", "."]
    code, _, err = run(*words)
    assert code == 2
    assert "holds README.md that no export has written" in err
    assert "--force" in err
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text() == "mine"
    assert run(*words, "--force")[0] == 0
    assert "fold.npy" in (tmp_path / "README.md").read_text()


def test_columns_of_another_width_are_refused(flowers, tmp_path):
    columns = lw.load(flowers / "ready.safetensors").columns
    with pytest.raises(ValueError, match=r"columns makes 4 features, but .* queries of 3"):
        lw.index.export(lw.Bilinear(np.eye(3)), tmp_path / "out", "numpy", columns=columns)
    with pytest.raises(TypeError, match="columns must be"):
        lw.index.export(lw.Bilinear(np.eye(3)), tmp_path / "out", "numpy", columns=["a"])
    assert not (tmp_path / "out").exists()


def test_an_index_that_is_replaced_is_named(run, flowers, built):
    code, _, err = run("index", "build", flowers / "ready.safetensors", "--items",
                       flowers / "items.parquet", "-o", built)  # fmt: skip
    assert code == 0
    assert f"overwritten: {built}" in err


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
