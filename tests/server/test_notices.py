"""What a server says at its start about its model and its items."""

import numpy as np
import pandas as pd
import pytest
from tests.server.running import Running

import likewise as lw
from likewise.server import Settings
from likewise.server._service import Service


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.safetensors"
    lw.save(lw.Bilinear(np.eye(2)), path)
    return path


@pytest.fixture
def table_model(tmp_path):
    frame = pd.DataFrame({"price": [10.0, 900.0, 70.0], "size": [3.0, 4.0, 6.0]})
    path = tmp_path / "table.safetensors"
    columns = lw.tables.Columns().fit(frame)
    lw.tables.TableModel(columns, lw.Mahalanobis(np.eye(2))).save(path)
    return path


def write_items(path, ids, columns=("a", "b")):
    frame = pd.DataFrame(np.ones((len(ids), 2)), columns=list(columns))
    frame.insert(0, "id", ids)
    frame.to_csv(path, index=False)
    return path


def notices(model, items=None):
    service = Service(Settings(model=model, items=items), learns=False)
    service.stop()
    return service.notices


def test_items_of_an_earlier_file_are_counted_at_every_start(model, tmp_path):
    a = write_items(tmp_path / "a.csv", ["a1", "a2", "both"])
    b = write_items(tmp_path / "b.csv", ["both", "b1"])
    assert notices(model, a) == []
    expected = [
        f"2 of 4 stored items are not in {b} and stay: DELETE /v1/items/{{id}} removes an item, "
        "and another --store begins without them."
    ]
    assert notices(model, b) == expected
    assert notices(model, b) == expected  # a known file, which is not read again
    assert notices(model) == []


def test_items_that_were_removed_or_added_by_requests_are_not_counted(model, tmp_path):
    a = write_items(tmp_path / "a.csv", ["a1", "a2"])
    b = write_items(tmp_path / "b.csv", ["b1"])
    notices(model, a)
    notices(model, b)
    service = Service(Settings(model=model), learns=False)
    service.store.remove_item("a1")
    service.store.remove_item("a2")
    service.store.put_items([("new", np.ones(2, np.float32), {})])
    service.stop()
    assert notices(model, b) == []


def test_items_without_ids_are_numbered_and_said_so(model, tmp_path):
    items = tmp_path / "plain.csv"
    items.write_text("a,b\n1,2\n3,4\n")
    expected = [f"{items} has no column id: ids are row numbers, from 0."]
    assert notices(model, items) == expected
    assert notices(model, items) == expected
    assert notices(model, write_items(tmp_path / "ids.csv", [0, 1])) == []


def test_a_store_without_items_is_named(model):
    expected = "the store has no items yet: add them by --items FILE or POST /v1/items."
    assert notices(model) == [expected]


def test_a_model_of_a_table_takes_encoded_vectors_and_a_distance_does_not_learn(
    table_model, tmp_path
):
    items = write_items(tmp_path / "items.csv", ["a"], ("price", "size"))
    searches_only, encoded = notices(table_model, items)
    assert searches_only == (
        "searches only, and answers feedback with 409: the model is a Mahalanobis, which does not "
        "learn from feedback: only a Bilinear does, such as that of likewise fit --learner aroma."
    )
    assert encoded.startswith("vectors are encoded rows: 2 numbers, as likewise.load(")
    assert encoded.endswith(".transform_queries(rows) returns them, and not the cells of a row.")


@pytest.mark.parametrize("workers", [1, 2])
def test_the_command_prints_each_notice_once(table_model, workers):
    with Running(table_model, "--workers", workers) as server:
        pass
    for words in ("searches only", "vectors are encoded rows", "the store has no items yet"):
        assert server.errors.count(words) == 1, server.errors


def test_the_description_of_a_vector_tells_encoded_rows(model):
    from likewise.server import create_app

    app = create_app(Settings(model=model))
    schemas = app.openapi()["components"]["schemas"]
    app.state.likewise.service.stop()
    for name in ("SearchRequest", "QueryValue", "NewItem"):
        assert "an encoded row" in schemas[name]["properties"]["vector"]["description"]


def test_an_encoded_row_and_an_item_with_that_row_have_the_same_neighbors(table_model, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"price": rng.normal(400, 300, size=30), "size": rng.normal(4, 1, 30)})
    frame.insert(0, "id", [f"i{n}" for n in range(30)])
    frame.to_csv(tmp_path / "items.csv", index=False)
    row = {"price": 350.0, "size": 4.5}
    opened = lw.load(table_model)
    vector = opened.transform_queries(pd.DataFrame([row]))[0]
    best = opened.neighbors(pd.DataFrame([row]), frame, k=5).ids[0]
    items = tmp_path / "items.csv"
    with Running(table_model, "--items", items) as server, server.client() as client:
        found = [match.id for match in client.search(vector=vector, k=5).matches]
        client.add_items([{"id": "new", "row": row}])
        again = [match.id for match in client.search(id="new", k=5).matches]
    assert found == again == [f"i{n}" for n in best]
