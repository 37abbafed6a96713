"""Texts as items, searches and feedback, by an encoder that the operator names."""

import httpx
import numpy as np
import pandas as pd
import pytest
from tests.server import encoders
from tests.server.running import InProcess

import likewise as lw
from likewise.server._app import create_app
from likewise.server._encoder import _MAX_CACHED, Encoder, EncoderFailed
from likewise.server._service import Service
from likewise.server._settings import Settings
from likewise.server.api import _schemas as schemas
from likewise.server.store import InvalidRequest

TEXTS = [
    "red boots for winter",
    "warm winter boots",
    "sandals for the beach",
    "beach shoes and sandals",
    "a hat against rain",
    "an umbrella against rain",
]
WORDS = "tests.server.encoders:words"


@pytest.fixture
def files(tmp_path):
    """Return a model file that knows no width, and a table of texts."""
    frame = pd.DataFrame({"id": [f"t{row}" for row in range(6)], "said": TEXTS, "price": range(6)})
    frame.to_parquet(tmp_path / "items.parquet", index=False)
    lw.save(lw.Bilinear(1.0, "cosine"), tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors", tmp_path / "items.parquet"


@pytest.fixture
def serve(files):
    opened = []

    def serve(encoder=WORDS, **given):
        model, items = files
        settings = {"items": items, "encoder": encoder, "text_column": "said", **given}
        service = Service(Settings(model, **settings), learns=False)
        opened.append(service)
        return service

    yield serve
    for service in opened:
        service.stop()


def search(service, **given):
    return service.search(schemas.SearchRequest(**given)).matches


def test_texts_are_searched_as_what_the_encoder_makes_of_them(serve):
    service = serve()
    expected = lw.Bilinear(1.0, "cosine").neighbors(
        encoders.words(["boots for the beach"]), encoders.words(TEXTS), 3
    )
    found = search(service, text="boots for the beach", k=3)
    assert [match.id for match in found] == [f"t{row}" for row in expected.ids[0]]
    np.testing.assert_allclose([m.score for m in found], expected.scores[0], rtol=1e-5)
    assert service.model.text_column == "said"
    assert service.snapshot.n_item_features == encoders.WIDTH


def test_items_are_added_by_their_texts_or_their_vectors(serve):
    service = serve()
    vector = encoders.words(["a bicycle"])[0].tolist()
    new = [
        schemas.NewItem(id="text", row={"said": "a bicycle", "price": 3}),
        schemas.NewItem(id="vector", vector=vector),
        schemas.NewItem(id="both", vector=vector, row={"said": "another text"}),
    ]
    assert service.put_items(new, add=True) == 3
    for name in ("text", "vector", "both"):
        assert service.item(name).vector.tolist() == vector
    assert service.item("text").row == {"said": "a bicycle", "price": 3}
    with pytest.raises(InvalidRequest, match="needs a text in its column 'said', or a vector"):
        service.put_items([schemas.NewItem(id="x", row={"price": 3})], add=True)


@pytest.mark.parametrize("kind", ["triplets", "clicks"])
def test_a_text_is_the_query_of_feedback(serve, kind):
    service = serve()
    query = {"text": "shoes for rain"}
    body = {
        "triplets": [{"query": query, "closer": "t4", "farther": "t0"}] * 2,
        "clicks": [{"query": query, "shown": ["t4", "t0", "t1"], "chose": "t0"}],
    }
    assert service.feedback(schemas.FeedbackRequest(**{kind: body[kind]})) == 2
    (entry,) = service.store.entries(0)
    expected = encoders.words(["shoes for rain"])[0].tolist()
    assert all(page.query == expected for page in entry.pages)


def test_a_query_of_feedback_is_a_vector_an_id_or_a_text(serve):
    service = serve()
    vector = encoders.words(["rain"])[0].tolist()
    queries = ["t1", {"id": "t1"}, vector, {"vector": vector}, {"text": "rain"}]
    triplets = [{"query": query, "closer": "t4", "farther": "t0"} for query in queries]
    service.feedback(schemas.FeedbackRequest(triplets=triplets))
    by_id, same, *others = [page.query for page in service.store.entries(0)[0].pages]
    assert by_id == same == service.item("t1").revision
    assert others == [vector] * 3
    with pytest.raises(ValueError, match="exactly one of id, vector and text"):
        schemas.Triplet(query={"text": "a", "id": "t1"}, closer="t4", farther="t0")
    wrong = [{"query": {"vector": [1.0]}, "closer": "t4", "farther": "t0"}]
    request = schemas.FeedbackRequest(triplets=wrong)
    with pytest.raises(InvalidRequest, match="1 numbers, but the model takes queries of 32"):
        service.feedback(request)


def test_a_text_is_one_query_whatever_the_last_digits_of_its_vector(serve):
    service = serve("tests.server.encoders:noisy")
    for number in range(3):
        service.model.encoder._cached.clear()
        triplet = {"query": {"text": "rain"}, "closer": f"t{number}", "farther": "t5"}
        service.feedback(schemas.FeedbackRequest(triplets=[triplet]))
    queries = [page.query for entry in service.store.entries(0) for page in entry.pages]
    assert queries[0] == queries[1] == queries[2]
    assert b"rain" not in str(service.store.entries(0)).encode()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("tests.server.nowhere:words", "cannot be imported: ModuleNotFoundError"),
        ("tests.server.encoders:nothing", "cannot be imported: AttributeError"),
        ("tests.server.encoders:not_callable", "must name a callable, but .* is a int"),
        ("tests.server.encoders:one_row", r"must return an array of shape \(1, n_features\)"),
        ("tests.server.encoders:too_few", r"for 1 texts, but its shape was \(2, 32\)"),
        ("tests.server.encoders:none", r"must return an array of shape \(1, n_features\)"),
        ("tests.server.encoders:missing", "a number that is missing or larger than 1e"),
        ("tests.server.encoders:failing", "failed with RuntimeError"),
    ],
)
def test_an_encoder_that_cannot_be_used_is_refused_before_anything_is_written(
    serve, files, name, sentence
):
    with pytest.raises(ValueError, match=sentence):
        serve(name)
    assert not files[0].with_name("model.store.sqlite").exists()


@pytest.mark.parametrize("name", ["words", "a.b", "a:", ":b", "a b:c", "a:b()", "/tmp/a.py:b", ""])
def test_a_name_must_be_a_module_and_a_function(files, name):
    with pytest.raises(ValueError, match="encoder must be a name such as"):
        Settings(files[0], encoder=name)


def test_an_encoder_and_a_model_must_fit(files, serve):
    lw.save(lw.Bilinear(np.ones((5, encoders.WIDTH))), files[0])
    with pytest.raises(
        ValueError, match="vectors of 32 features, but the model takes queries of 5"
    ):
        serve()
    lw.save(lw.Bilinear(np.eye(4)), files[0])
    with pytest.raises(ValueError, match="vectors of 32 features, but the model takes items of 4"):
        serve()
    frame = pd.DataFrame({"said": TEXTS})
    columns = lw.tables.Columns(text=["said"]).fit(frame)
    width = len(columns.feature_names_)
    lw.save(lw.tables.TableModel(columns, lw.Bilinear(np.ones(width), "cosine")), files[0])
    with pytest.raises(ValueError, match="makes vectors of its own columns"):
        serve()


def test_items_without_texts_are_refused(serve):
    with pytest.raises(ValueError, match="need the column 'text' of texts"):
        serve(text_column="text")
    with pytest.raises(ValueError, match="column 'price' must hold texts, but contains 0"):
        serve(text_column="price")


def test_a_store_knows_its_encoder(serve):
    serve().stop()
    serve("tests.server.encoders:noisy").stop()  # the last digits may differ
    with pytest.raises(ValueError, match="returns other vectors than the encoder that filled"):
        serve("tests.server.encoders:scaled")
    assert len(search(serve(None, items=None), id="t0", k=2)) == 2  # not needed for ids


def test_an_encoder_that_changes_its_width_is_answered_with_one_sentence(files, monkeypatch):
    model, items = files
    settings = Settings(model, items, encoder="tests.server.encoders:changing", text_column="said")
    app = create_app(settings)
    client = InProcess(app)
    assert client.post("/v1/search", json={"text": "rain"}).status_code == 200
    monkeypatch.setattr(encoders.Changing, "width", 7)
    answer = client.post("/v1/search", json={"text": "snow"})
    sentence = "the encoder returned vectors of 7 features, but those before had 32."
    assert (answer.status_code, answer.json()) == (503, {"error": sentence})
    monkeypatch.setattr(encoders.Changing, "__call__", encoders.failing)
    new = {"items": [{"id": "new", "row": {"said": "hail"}}]}
    answer = client.post("/v1/items", json=new)
    assert (answer.status_code, "secret" in answer.text) == (503, False)
    app.state.likewise.service.stop()


def test_texts_are_encoded_once_cut_and_kept_within_limits():
    calls = []

    def count(texts):
        calls.append(list(texts))
        return encoders.words(texts)

    encoder = Encoder(count)
    encoder.queries(["a", "b", "a"])
    encoder.queries(["b", "c"])
    assert calls[1:] == [["a", "b"], ["c"]]
    encoder.rows(["x" * 30_000] * 300)
    assert [len(part) for part in calls[3:]] == [256, 44]
    assert {len(text) for part in calls[3:] for text in part} == {schemas.MAX_CHARACTERS}
    encoder.queries([str(number) for number in range(2_000)])
    assert len(encoder._cached) == _MAX_CACHED
    assert encoder.rows([]).shape == (0, encoders.WIDTH)


def test_a_wrong_batch_is_found(files):
    encoder = Encoder(encoders.words)
    encoder._function = encoders.too_few
    with pytest.raises(EncoderFailed, match="for 3 texts"):
        encoder.rows(["a", "b", "c"])


def test_a_server_learns_from_texts(files, zygote):
    given = {"encoder": WORDS, "text_column": "said"}
    with zygote.server(*files, **given) as server, server.client() as client:
        assert client.search(text="sandals beach", k=1).matches[0].id == "t2"
        text, vector = {"text": "rain"}, {"vector": np.ones(encoders.WIDTH)}
        assert client.feedback([(text, "t4", "t0"), (vector, "t5", "t1")]) == 2
        assert client.feedback(clicks=[(text, ["t4", "t5"], "t5")], key="clicks") == 1
        assert client.wait(120).applied == 3
        assert client.add_items([{"id": "new", "row": {"said": "rain rain"}}]) == 1
        assert client.search(text="rain", k=1).matches[0].id == "new"
        too_long = httpx.post(
            f"{server.address}/v1/feedback",
            json={"triplets": [{"query": {"text": "x" * 20_001}, "closer": "t0", "farther": "t1"}]},
            trust_env=False,
        )
        assert (too_long.status_code, "20000" in too_long.json()["error"]) == (422, True)
