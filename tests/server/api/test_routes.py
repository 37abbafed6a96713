"""The routes of a real server, over HTTP."""

import json

import httpx
import numpy as np
import pandas as pd
import pytest
from tests.server.running import Running, digit_triplets

import likewise as lw
from likewise.server import ServerError


@pytest.fixture(scope="module")
def http(running):
    with httpx.Client(base_url=running.address, trust_env=False, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def rows(digits):
    return pd.read_parquet(digits[1]).filter(regex="^p").to_numpy(np.float32)


def test_search_by_id_leaves_the_item_out_and_finds_what_the_library_finds(http, rows):
    answer = http.post("/v1/search", json={"id": "d5", "k": 4})
    assert answer.status_code == 200
    assert set(answer.json()) == {"matches", "model"}
    expected = lw.Bilinear(1.0, "cosine").neighbors(rows[5:6], rows, 5)
    found = [(match["id"], match["score"]) for match in answer.json()["matches"]]
    assert [name for name, _ in found] == [f"d{row}" for row in expected.ids[0][1:]]
    np.testing.assert_allclose([s for _, s in found], expected.scores[0][1:], rtol=1e-6)


def test_search_by_vector_finds_the_item_itself(http, rows):
    answer = http.post("/v1/search", json={"vector": rows[7].tolist(), "k": 1}).json()
    assert answer["matches"][0]["id"] == "d7"
    assert answer["matches"][0]["score"] == pytest.approx(1)


def test_search_with_a_filter_finds_those_items_alone(http):
    body = {"id": "d5", "k": 50, "filter": {"digit": ["digit 3", "digit 4"]}}
    names = [match["id"] for match in http.post("/v1/search", json=body).json()["matches"]]
    labels = {http.get(f"/v1/items/{name}").json()["label"] for name in names}
    assert len(names) == 50
    assert labels == {"digit 3", "digit 4"}


def test_matches_have_rows_if_these_are_asked_for(http):
    plain = http.post("/v1/search", json={"id": "d5", "k": 3}).json()["matches"]
    found = http.post("/v1/search", json={"id": "d5", "k": 3, "rows": True}).json()["matches"]
    assert [set(match) for match in plain] == [{"id", "score"}] * 3
    assert [{"id": m["id"], "score": m["score"]} for m in found] == plain
    for match in found:
        assert match["row"] == {"digit": http.get(f"/v1/items/{match['id']}").json()["label"]}


def test_score_and_search_agree(http):
    matches = http.post("/v1/search", json={"id": "d5", "k": 3}).json()["matches"]
    asked = {"id": "d5", "items": [match["id"] for match in matches]}
    scores = http.post("/v1/score", json=asked).json()["scores"]
    assert [score["id"] for score in scores] == asked["items"]
    np.testing.assert_allclose(
        [score["score"] for score in scores], [match["score"] for match in matches], rtol=1e-5
    )


def test_an_explanation_sums_to_the_score_and_names_columns(http):
    answer = http.post("/v1/explain", json={"id": "d5", "item": "d6", "top": 5}).json()
    assert len(answer["terms"]) == 5
    total = sum(term["contribution"] for term in answer["terms"]) + answer["rest"]
    assert total == pytest.approx(answer["score"], rel=1e-5)
    assert answer["terms"][0]["query_feature"].startswith("p")


@pytest.mark.parametrize(
    ("path", "body", "status", "sentence"),
    [
        ("search", {}, 422, "exactly one of id, vector and text"),
        ("search", {"id": "d5", "vector": [1]}, 422, "exactly one of id, vector and text"),
        ("search", {"id": "none"}, 404, "there is no item 'none'"),
        ("search", {"id": "d5", "k": 0}, 422, "body.k"),
        ("search", {"id": "d5", "k": 1001}, 422, "body.k"),
        ("search", {"vector": [1.0, 2.0]}, 422, "2 numbers, but the model takes queries of 64"),
        ("search", {"text": "shoes"}, 409, "does not take texts"),
        ("search", {"id": "d5", "unknown": 1}, 422, "body.unknown"),
        ("search", {"id": ""}, 422, "body.id: String should have at least 1 character."),
        ("search", {"id": "x" * 201}, 422, "body.id: String should have at most 200 characters."),
        ("search", {"id": True}, 422, "body.id: Input should be a valid integer."),
        ("search", {"id": "d5", "filter": {"no": 1}}, 422, "'no' was given"),
        ("search", {"id": "d5", "version": 99}, 404, "there is no version 99"),
        ("score", {"id": "d5", "items": []}, 422, "body.items"),
        ("score", {"id": "d5", "items": ["none"]}, 404, "there is no item 'none'"),
        ("explain", {"id": "d5", "item": "none"}, 404, "there is no item 'none'"),
        ("feedback", {}, 422, "triplets, clicks or pairs must be given"),
        (
            "feedback",
            {"triplets": [{"query": "d1", "closer": "d2", "farther": "d2"}]},
            422,
            "must be different items, but both are 'd2'",
        ),
        (
            "feedback",
            {"triplets": [{"query": "d2", "closer": "d2", "farther": "d3"}]},
            422,
            "query and closer must be different items, but both are 'd2'.",
        ),
        (
            "feedback",
            {"triplets": [{"query": {"id": "d3"}, "closer": "d2", "farther": "d3"}]},
            422,
            "query and farther must be different items, but both are 'd3'.",
        ),
        (
            "feedback",
            {"clicks": [{"query": "d2", "shown": ["d1", "d2", "d3"], "chose": "d1"}]},
            422,
            "shown must not contain the item of the query, but it contains 'd2'.",
        ),
        (
            "feedback",
            {"triplets": [{"query": "none", "closer": "d2", "farther": "d3"}]},
            404,
            "there is no item 'none'",
        ),
        (
            "feedback",
            {"triplets": [{"query": [1.0], "closer": "d2", "farther": "d3"}]},
            422,
            "1 numbers, but the model takes queries of 64",
        ),
        (
            "feedback",
            {"clicks": [{"query": "d1", "shown": ["d2", "d3"], "chose": "d4"}]},
            422,
            "not in shown",
        ),
        (
            "feedback",
            {"clicks": [{"query": "d1", "shown": ["d2", "d3"], "chose": ["d2", "d3"]}]},
            422,
            "which compares nothing",
        ),
        (
            "feedback",
            {"pairs": [{"query": "d1", "item": "d1", "same": True}]},
            422,
            "both are 'd1'",
        ),
        (
            "feedback",
            {
                "pairs": [
                    {"query": "d1", "item": "d2", "same": True},
                    {"query": "d1", "item": "d2", "same": False},
                ]
            },
            422,
            "'d2' is the same and that it is not",
        ),
        ("items", {"items": [{"id": "new"}]}, 422, "vector or row must be given"),
        ("items", {"items": [{"id": "d1", "vector": [0.5] * 64}]}, 409, "item 'd1' already"),
        ("items", {"items": [{"id": "new", "vector": [0.5]}]}, 422, "1 features"),
        ("items", {"items": [{"id": "new", "row": {"p0": 1}}]}, 422, "item 'new'"),
        ("models/99/promote", None, 404, "there is no version 99"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(http, path, body, status, sentence):
    answer = http.post(f"/v1/{path}", json=body)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}
    assert sentence in answer.json()["error"]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_numbers_that_are_none_are_refused(http, number):
    vector = ", ".join([number] + ["0"] * 63)
    answer = http.post(
        "/v1/search",
        content=f'{{"vector": [{vector}]}}',
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == 422


def test_pairs_are_judgments_that_are_exported_and_undone(http, running):
    before = http.get("/v1/feedback").json()["acknowledged"]
    kept = http.get("/v1/teach/goal").json()["answers"]
    pairs = [
        {"query": "d1", "item": "d11", "same": True},
        {"query": "d1", "item": "d21", "same": True},
        {"query": "d2", "item": "d3", "same": False},
    ]
    answer = http.post("/v1/feedback", json={"pairs": pairs, "key": "of-pairs"})
    assert answer.json() == {"accepted": 2}  # the pairs of a query are one judgment
    with running.client() as client:
        state = client.wait(180)
        assert state.applied == state.acknowledged == before + 2
        lines = client.export(kind="pairs").splitlines()
        assert lines[0] == "left_id,right_id,label,key,at"
        assert [line.split(",")[:4] for line in lines[-3:]] == [
            ["d1", "d11", "1", "of-pairs"],
            ["d1", "d21", "1", "of-pairs"],
            ["d2", "d3", "0", "of-pairs"],
        ]
        assert "of-pairs" not in client.export()
        assert client.teach_goal().answers == kept + 2
        client.undo("of-pairs")
        assert "of-pairs" not in client.export(kind="pairs")
        assert client.teach_goal().answers == kept
        mixed = [("d5", "d15", True), ("d5", "d6", False), ("d5", "d25", True)]
        assert client.feedback(pairs=mixed, key="mixed") == 2  # those that are the same, and others
        rows = [line.split(",")[:3] for line in client.export(kind="pairs").splitlines()[-3:]]
        assert rows == [["d5", "d15", "1"], ["d5", "d25", "1"], ["d5", "d6", "0"]]
        assert ",mixed," not in client.export()


def test_feedback_is_acknowledged_and_consumed(http, running):
    before = http.get("/v1/feedback").json()
    assert set(before) == {"acknowledged", "applied"}
    triplet = {"query": "d1", "closer": "d11", "farther": "d2"}
    click = {"query": "d4", "shown": ["d1", "d14", "d2", "d3"], "chose": "d14"}
    answer = http.post("/v1/feedback", json={"triplets": [triplet], "clicks": [click], "key": "k1"})
    assert (answer.status_code, answer.json()) == (202, {"accepted": 4})
    with running.client() as client:
        state = client.wait(180)
    assert state.applied == state.acknowledged == before["acknowledged"] + 4


def test_the_same_key_is_answered_the_same_and_counted_once(http):
    body = {"triplets": [{"query": "d1", "closer": "d11", "farther": "d2"}], "key": "k2"}
    first = http.post("/v1/feedback", json=body)
    known = http.get("/v1/feedback").json()["acknowledged"]
    again = http.post("/v1/feedback", json=body)
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert http.get("/v1/feedback").json()["acknowledged"] == known
    body["triplets"][0]["farther"] = "d3"
    other = http.post("/v1/feedback", json=body)
    assert other.status_code == 409
    assert "the key 'k2' was used before" in other.json()["error"]


def test_the_same_key_is_answered_the_same_when_its_item_has_gone(http):
    new = {"items": [{"id": "passing", "vector": [0.5] * 64}]}
    assert http.post("/v1/items", json=new).status_code == 201
    body = {"triplets": [{"query": "d1", "closer": "d11", "farther": "passing"}], "key": "k3"}
    assert http.post("/v1/feedback", json=body).status_code == 202
    assert http.delete("/v1/items/passing").json() == {"changed": 1}
    assert http.post("/v1/feedback", json=body).status_code == 202


def test_feedback_can_be_taken_back(http):
    body = {"triplets": [{"query": "d1", "closer": "d11", "farther": "d2"}], "key": "an/odd key?"}
    assert http.post("/v1/feedback", json=body).status_code == 422  # a blank in a key
    body["key"] = "an/odd?key"
    assert http.post("/v1/feedback", json=body).status_code == 202
    assert "an/odd?key" in http.get("/v1/feedback/export").text
    path = "/v1/feedback/an%2Fodd%3Fkey"
    assert http.delete(path).json() == {"undone": 1}
    assert http.delete(path).json() == {"undone": 1}
    assert http.post("/v1/feedback", json=body).status_code == 409
    assert "an/odd?key" not in http.get("/v1/feedback/export").text
    assert http.delete("/v1/feedback/unknown").status_code == 404


def test_comparisons_are_exported_as_lines_of_json(http):
    http.post(
        "/v1/feedback",
        json={"triplets": [{"query": [0.5] * 64, "closer": "d1", "farther": "d2"}], "key": "v"},
    )
    lines = http.get("/v1/feedback/export", params={"format": "jsonl"}).text.splitlines()
    last = next(line for line in map(json.loads, lines) if line["key"] == "v")
    assert (last["query"], last["closer"], last["farther"]) == ([0.5] * 64, "d1", "d2")


def test_questions_are_about_three_different_items(http):
    asked = [http.get("/v1/teach/next").json() for _ in range(5)]
    asked.append(http.get("/v1/teach/next", params={"strategy": "random"}).json())
    for question in asked:
        names = {question[part]["id"] for part in ("query", "left", "right")}
        assert len(names) == 3
        assert question["query"]["image"].startswith("data:image/png;base64,")
        assert 0 <= question["confidence"] <= 1
    assert len({question["query"]["id"] for question in asked}) > 1


def test_items_are_added_replaced_and_removed(http, rows):
    new = {"id": "new", "vector": rows[0].tolist(), "row": {"digit": "digit 0"}}
    assert http.post("/v1/items", json={"items": [new]}).json() == {"changed": 1}
    assert http.get("/v1/items/new").json()["label"] == "digit 0"
    nearest = http.post("/v1/search", json={"id": "new", "k": 1}).json()["matches"][0]
    assert nearest == {"id": "d0", "score": pytest.approx(1)}
    new["vector"] = rows[1].tolist()
    assert http.put("/v1/items", json={"items": [new]}).json() == {"changed": 1}
    assert http.post("/v1/search", json={"id": "new", "k": 1}).json()["matches"][0]["id"] == "d1"
    assert http.delete("/v1/items/new").json() == {"changed": 1}
    assert http.get("/v1/items/new").status_code == 404
    assert http.put("/v1/items", json={"items": [new]}).status_code == 404
    names = [m["id"] for m in http.post("/v1/search", json={"id": "d1"}).json()["matches"]]
    assert "new" not in names


def test_an_item_can_come_as_a_row(http, rows):
    row = {f"p{column}": float(x) for column, x in enumerate(rows[3])}
    assert http.post("/v1/items", json={"items": [{"id": 17, "row": row}]}).status_code == 201
    assert http.post("/v1/search", json={"id": "17", "k": 1}).json()["matches"][0]["id"] == "d3"
    found = http.post("/v1/search", json={"id": "d3", "k": 1}).json()["matches"][0]
    assert found["id"] == 17
    http.delete("/v1/items/17")


def test_items_come_in_pages_and_are_looked_for(http):
    page = http.get("/v1/items", params={"limit": 200}).json()
    assert (len(page["items"]), page["next"]) == (200, 200)
    last = http.get("/v1/items", params={"after": 200, "limit": 200}).json()
    assert last["next"] is None
    assert len(page["items"]) + len(last["items"]) == page["total"]
    found = http.get("/v1/items", params={"search": "DIGIT 7"}).json()
    assert {item["label"] for item in found["items"]} == {"digit 7"}


def test_neighbors_show_what_moved(http):
    answer = http.get("/v1/explore/neighbours/d5", params={"k": 5}).json()
    assert [near["rank"] for near in answer["base"]] == [1, 2, 3, 4, 5]
    ranks = {near["item"]["id"]: near["rank"] for near in answer["learned"]}
    for near in answer["base"]:
        if near["item"]["id"] in ranks:
            assert near["other_rank"] == ranks[near["item"]["id"]]


def test_the_summary_says_what_is_served(http):
    found = http.get("/v1/explore/summary").json()
    assert (found["kind"], found["label"], found["learns"]) == ("image", "digit", True)
    assert (found["store"], found["n_item_features"], found["columns"]) == ("sqlite", 64, ["digit"])


def test_health_readiness_and_metrics(http):
    assert http.get("/healthz").json() == {"status": "ok"}
    assert http.get("/readyz").json() == {"status": "ready"}
    text = http.get("/metrics").text
    assert "likewise_items 300.0" in text
    assert 'likewise_requests_total{method="GET",route="/healthz",status="200"}' in text
    assert "likewise_learner_up 1.0" in text


@pytest.mark.parametrize("path", ["/", "/docs", "/healthz", "/readyz", "/web/app.js"])
def test_head_is_answered_as_get_without_a_body(http, path):
    whole, head = http.get(path), http.head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    given = [dict(answer.headers, date=None) for answer in (head, whole)]
    assert given[0] == given[1]
    assert int(given[0]["content-length"]) > 0


def test_the_description_of_the_api_has_no_head(http):
    paths = http.get("/openapi.json").json()["paths"]
    assert not [path for path, methods in paths.items() if "head" in methods]


def test_teaching_promotes_a_better_version_and_one_can_go_back(digits, zygote, tmp_path):
    model, items = digits
    store, triplets = tmp_path / "own.sqlite", digit_triplets(1_000)
    with (
        zygote.server(model, items, label="digit", store=store) as server,
        server.client() as client,
    ):
        before = client.search(id="d5", k=10)
        for start in range(0, 1_000, 100):
            client.feedback(triplets[start : start + 100])
        client.wait(180)
        models = client.models()
        assert models.live > 1
        live = models.models[[m.version for m in models.models].index(models.live)]
        assert live.status == "live"
        overall = live.judged.overall
        assert overall.candidate - overall.live > live.judged.threshold * overall.error
        assert (live.judged.live, live.learner, live.share) == (1, "ridge", None)
        assert live.judged.test >= 1
        after = client.search(id="d5", k=10)
        assert after.model == models.live
        assert after.matches != before.matches
        base = client.search(id="d5", k=10, version=1)
        assert (base.matches, base.model) == (before.matches, 1)
        assert client.rollback(1) == 1
        assert client.search(id="d5", k=10).matches == before.matches
        assert client.models().gate == "held"
        assert client.promote(models.live) == models.live
        quality = _ready(lambda: client._send("GET", "/v1/explore/quality").json())
        assert quality["n_won"] > quality["n_lost"]
        assert quality["held_out"] > 50
        assert quality["goodness"]["of"] == "labels"
        assert quality["served"]["recall"] == 1
        standing = quality["standing"]["overall"]
        assert standing["live"] > standing["base"] + 2 * standing["error"]
        assert quality["progress"][-1]["asked"] == 1_000
        assert [lesson["position"] for lesson in quality["lessons"]][-1] == 1_000
        drawn = _ready(lambda: client._send("GET", "/v1/explore/map").json())
        assert len(drawn["points"]) == 300
        acknowledged = client.feedback_state().acknowledged
        with pytest.raises(ServerError, match="was never live") as error:
            client.rollback(next(m.version for m in models.models if m.status == "rejected"))
        assert error.value.status == 409
    # The command opens the same store again.
    options = ("--items", items, "--label", "digit", "--store", store)
    with Running(model, *options) as server, server.client() as client:
        assert client.models().live == models.live
        assert client.search(id="d5", k=10).matches == after.matches
        assert client.wait(180).applied == acknowledged


def _ready(ask):
    from time import sleep

    for _ in range(1_500):
        found = ask()
        if found["status"] == "ready":
            return found
        sleep(0.02)
    raise AssertionError("it was not computed in time")
