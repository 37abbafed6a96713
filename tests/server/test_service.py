"""The service for every kind of model, without HTTP."""

import json
from dataclasses import replace
from time import monotonic, sleep

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.server._service import Service
from likewise.server._settings import Settings
from likewise.server.api import _schemas as schemas
from likewise.server.api._feedback import export_journal, request_digest
from likewise.server.explorer._explorer import Explorer
from likewise.server.learning._questions import QuestionSelector
from likewise.server.store import InvalidRequest, NotFound, NotSupported, Page, StoreUnavailable

TEXTS = [
    "the red boot is warm in winter",
    "a warm red shoe for the winter",
    "blue sandals for a summer beach",
    "the beach in summer needs sandals",
    "a green hat against the rain",
    "rain and wind need a good hat",
]


def question(**given):
    return schemas.SearchRequest(**given)


@pytest.fixture
def serve(tmp_path):
    """Return a function that serves a model on a frame of items."""
    opened = []

    def serve(model, frame=None, **given):
        path, items = tmp_path / "model.safetensors", tmp_path / "items.parquet"
        if not path.exists():
            lw.save(model, path)
        if frame is not None:
            frame.to_parquet(items, index=False)
        service = Service(
            Settings(path, items if frame is not None else None, **given), learns=False
        )
        opened.append(service)
        return service

    yield serve
    for service in opened:
        service.stop()


@pytest.fixture
def numbers(rng):
    frame = pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "c"])
    frame.insert(0, "id", range(100, 120))
    frame["name"] = [f"item {row}" for row in range(20)]
    return frame


def test_a_table_model_takes_texts_and_rows(serve):
    frame = pd.DataFrame({"id": [f"t{row}" for row in range(6)], "text": TEXTS})
    columns = lw.tables.Columns(text=["text"]).fit(frame[["text"]])
    width = len(columns.feature_names_)
    model = lw.tables.TableModel(columns, lw.Bilinear(np.ones(width), "cosine"))
    service = serve(model, frame)
    found = service.search(question(text="sandals at the beach", k=2)).matches
    assert {match.id for match in found} == {"t2", "t3"}
    new = schemas.NewItem(id="t6", row={"text": "sandals, beach, summer"})
    assert service.put_items([new], add=True) == 1
    found = service.search(question(text="sandals at the beach", k=3)).matches
    assert {match.id for match in found} == {"t2", "t3", "t6"}
    shown = Explorer(service).view(service.item("t0"))
    assert (shown.kind, shown.text) == ("text", TEXTS[0])
    assert service.model.no_learning_reason is None


def test_what_fit_saves_is_served(serve, flowers, tmp_path):
    model = lw.load(flowers / "ready.safetensors")
    frame = pd.read_csv(flowers / "held_out.csv")
    service = serve(model, frame)
    assert "only a Bilinear does" in service.model.no_learning_reason
    triplet = {"query": "f60", "closer": "f61", "farther": "f62"}
    body = schemas.FeedbackRequest(triplets=[triplet])
    with pytest.raises(NotSupported, match="the model is a Mahalanobis"):
        service.feedback(body)
    expected = model.neighbors(frame[:1], frame, 4)
    found = service.search(question(id="f60", k=3)).matches
    assert [match.id for match in found] == [frame["id"][row] for row in expected.ids[0][1:]]
    np.testing.assert_allclose([m.score for m in found], expected.scores[0][1:], rtol=1e-4)
    shown = Explorer(service).view(service.item("f60"))
    assert (shown.kind, shown.label) == ("row", frame["species"][0])


def test_ids_are_what_the_table_says_and_found_as_text_too(serve, numbers):
    service = serve(lw.Bilinear(1.0), numbers)
    by_number = service.search(question(id=105, k=1))
    assert by_number == service.search(question(id="105", k=1))
    assert isinstance(by_number.matches[0].id, int)


def test_queries_of_another_width_are_vectors(serve, numbers, rng):
    W = rng.normal(size=(2, 3)).astype(np.float32)
    service = serve(lw.Bilinear(W), numbers)
    rows = numbers[["a", "b", "c"]].to_numpy(np.float32)
    expected = lw.Bilinear(W).neighbors([[1.0, 2.0]], rows, 3)
    found = service.search(question(vector=[1.0, 2.0], k=3)).matches
    assert [match.id - 100 for match in found] == expected.ids[0].tolist()
    with pytest.raises(InvalidRequest, match="queries of this model are not items"):
        service.search(question(id=100))
    triplets = [{"query": [1.0, 2.0], "closer": 101, "farther": 102}]
    assert service.feedback(schemas.FeedbackRequest(triplets=triplets)) == 1
    by_id = schemas.FeedbackRequest(triplets=[{**triplets[0], "query": 100}])
    with pytest.raises(InvalidRequest, match="query must be a vector"):
        service.feedback(by_id)
    with pytest.raises(NotSupported, match="queries of this model are not items"):
        QuestionSelector(service.store).select(service.snapshot, "informative")


def test_learning_goes_on_with_what_aroma_was_sure_of(serve, numbers):
    rows = numbers[["a", "b", "c"]].to_numpy(np.float32)
    aroma = lw.AROMA().fit_triplets([[0, 1, 2], [3, 4, 5]], rows)
    service = serve(aroma, numbers, learner="aroma")
    started = QuestionSelector(service.store).learner()
    np.testing.assert_array_equal(started.state_.S, aroma.state_.S)
    assert started.n_triplets_seen_ == 2


@pytest.mark.parametrize("norm", ["dice", "jaccard"])
def test_other_norms_are_served_and_not_taught(serve, numbers, norm):
    numbers[["a", "b", "c"]] = numbers[["a", "b", "c"]].abs().clip(upper=1)
    service = serve(lw.Bilinear(1.0, norm), numbers)
    assert f"norm {norm!r}" in service.model.no_learning_reason
    assert len(service.search(question(id=100, k=5)).matches) == 5


def test_items_that_came_through_the_api_stay_and_those_removed_stay_away(serve, numbers):
    service = serve(lw.Bilinear(1.0), numbers)
    service.put_items([schemas.NewItem(id="own", vector=[1, 2, 3])], add=True)
    service.remove_item(100)
    again = serve(None, numbers)
    assert len(again.snapshot.catalog) == 20
    assert again.item("own").vector.tolist() == [1, 2, 3]
    with pytest.raises(NotFound):
        again.item(100)
    without_file = serve(None)
    assert len(without_file.snapshot.catalog) == 20
    numbers.loc[1, "a"] = 5.0
    changed = serve(None, numbers)
    assert len(changed.snapshot.catalog) == 21
    assert changed.item(101).vector[0] == 5


def test_a_change_that_was_committed_is_answered_although_the_refresh_fails(
    serve, numbers, monkeypatch, caplog
):
    service = serve(lw.Bilinear(1.0), numbers)

    def fail(*given):
        raise StoreUnavailable("the store is locked.")

    with monkeypatch.context() as patch:
        patch.setattr(service.store, "status", fail)
        assert service.put_items([schemas.NewItem(id="own", vector=[1, 2, 3])], add=True) == 1
        service.remove_item(100)
        assert service.make_live(1, rollback=False) == 1
    assert caplog.text.count("a refresh after a change failed") == 3
    service.refresh()
    assert "own" in service.snapshot.catalog.by_id
    assert "100" not in service.snapshot.catalog.by_id


def test_an_empty_catalogue_finds_nothing(serve):
    service = serve(lw.Bilinear(np.eye(3)))
    assert service.search(question(vector=[1, 2, 3])).matches == []
    service.put_items([schemas.NewItem(id=1, vector=[1, 2, 3])], add=True)
    assert service.search(question(id=1)).matches == []
    assert [m.id for m in service.search(question(vector=[1, 2, 3])).matches] == [1]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda frame: frame.drop(columns="a"), "2 features, but the model takes 3"),
        (lambda frame: frame.assign(id=1), "contains 1 twice"),
        (lambda frame: frame.assign(id=None), "whole numbers or texts"),
        (lambda frame: frame.assign(a=np.nan), "missing or larger than 1e"),
        (lambda frame: frame.assign(a=1e20), "missing or larger than 1e"),
        (lambda frame: frame[["id", "name"]], "at least one column of numbers"),
        (lambda frame: frame.assign(id=[*range(19), 2**53 + 1]), "9007199254740993 in row 20, but"),
        (lambda frame: frame.assign(id=frame["name"] + "x" * 200), "a text of 1 to 200 characters"),
        (lambda frame: frame.assign(id=["", *frame["name"][1:]]), "contains '' in row 1, but"),
        (lambda frame: frame.assign(id=["a\0", *frame["name"][1:]]), "without a null byte"),
    ],
)
def test_items_that_do_not_fit_are_refused_before_anything_is_written(
    serve, numbers, change, sentence, tmp_path
):
    with pytest.raises(ValueError, match=sentence):
        serve(lw.Bilinear(np.eye(3)), change(numbers))
    serve(None, numbers)


def test_cells_that_are_no_numbers_are_missing(serve, numbers):
    numbers["price"] = [np.nan, np.inf, -np.inf, *range(17)]
    service = serve(lw.Bilinear(np.eye(3)), numbers, label="price")
    assert [service.item(name).row["price"] for name in range(100, 104)] == [None, None, None, 0.0]
    assert len(serve(None, label="price").snapshot.catalog) == 20
    found = service.search_json(question(id=100, k=20, rows=True))
    json.loads(found, parse_constant=pytest.fail)


def test_a_store_with_cells_that_are_no_numbers_opens(serve, numbers):
    service = serve(lw.Bilinear(np.eye(3)), numbers)
    service.store.put_items([("old", np.ones(3, dtype=np.float32), {"price": float("nan")})])
    assert serve(None).item("old").row == {"price": None}


def test_questions_are_about_the_nearest_and_answers_tell_how_many(serve, rng):
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=list("abc"))
    frame.insert(0, "id", range(400))
    service = serve(lw.Bilinear(1.0, "cosine"), frame)
    rows = service.snapshot.catalog.rows
    ranks = np.argsort(np.argsort(-lw.Bilinear(1.0, "cosine").score(rows, rows), axis=1), axis=1)

    def farthest():
        selector = QuestionSelector(service.store, seed=0)
        asked = [selector.select(service.snapshot, "informative")[0] for _ in range(40)]
        assert all(len({q, a, b}) == 3 for q, a, b in asked)
        # One of the two is near by the live version, the other one by what was learned.
        return max(min(ranks[q, a], ranks[q, b]) for q, a, b in asked)

    def answer(n, *, same):
        for number in range(n):
            pairs = [{"query": number, "item": number + i, "same": same} for i in (1, 2)]
            service.feedback(schemas.FeedbackRequest(pairs=pairs))

    assert 25 < farthest() <= 50
    answer(40, same=True)
    assert farthest() > 50
    answer(120, same=False)
    assert farthest() <= 5


def test_an_informative_question_is_one_the_learner_is_unsure_of(serve, numbers, rng):
    service = serve(lw.Bilinear(1.0, "cosine"), numbers, learner="aroma")
    selector = QuestionSelector(service.store, seed=0)
    sure = {
        strategy: np.mean(
            [abs(selector.select(service.snapshot, strategy)[1] - 0.5) for _ in range(30)]
        )
        for strategy in ("informative", "random")
    }
    assert sure["informative"] < 0.2 * sure["random"]


def test_margins_do_not_depend_on_the_scale_of_a_version(serve, rng):
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    frame.insert(0, "id", range(60))
    frame["kind"] = np.where(frame["a"] > 0, "up", "down")
    service = serve(lw.Bilinear(1.0, "cosine"), frame, label="kind")
    base = service.snapshot
    live = replace(base, version=replace(base.version, similarity=lw.Bilinear(7.0, "cosine")))
    found = Explorer(service)._goodness_of_labels(base, live)  # without a warning
    assert found.before == found.after
    assert found.said_before == found.said_after


def test_a_computation_that_fails_is_logged_and_not_repeated(serve, numbers, monkeypatch, caplog):
    service, calls = serve(lw.Bilinear(1.0, "cosine"), numbers), []
    errors = [StoreUnavailable("the store is locked."), RuntimeError("a fault")]

    def fail(*given):
        calls.append(given)
        raise errors[min(len(calls), 2) - 1]

    monkeypatch.setattr("likewise.server.explorer._explorer.compare_with_baseline", fail)
    explorer = Explorer(service)
    deadline = monotonic() + 10
    while explorer.quality().status == "computing" and monotonic() < deadline:
        sleep(0.01)
    assert [explorer.quality().status for _ in range(3)] == ["ready"] * 3
    assert len(calls) == 2  # only the store may answer the next time
    assert caplog.text.count("the computation of quality failed") == 1
    assert "a fault" in caplog.text
    service.put_items([schemas.NewItem(id="own", vector=[1, 2, 3])], add=True)
    explorer.quality()  # of another state
    while len(calls) < 3 and monotonic() < deadline:
        sleep(0.01)
    explorer.close()
    assert len(calls) == 3


def test_vectors_in_a_column_and_pictures_of_pixels_are_served(serve, rng):
    frame = pd.DataFrame({"id": ["a", "b"], "vector": list(rng.random(size=(2, 4)))})
    service = serve(lw.Bilinear(np.eye(4)), frame, image_shape=(2, 2))
    shown = Explorer(service).view(service.item("a"))
    assert (shown.kind, shown.image[:22]) == ("image", "data:image/png;base64,")


def test_only_a_short_search_runs_in_the_event_loop(serve, numbers, monkeypatch):
    service = serve(lw.Bilinear(np.eye(3)), numbers)
    assert service.fast_snapshot(question(id=100)) is not None
    assert service.fast_snapshot(question(vector=[1.0, 0.0, 0.0])) is not None
    assert service.fast_snapshot(question(id=100, filter={"name": "item 3"})) is None
    assert service.fast_snapshot(question(id="unknown")) is None  # which reads the store
    monkeypatch.setattr("likewise.server._service._MAX_INLINE_NUMBERS", 20 * 3 - 1)
    assert service.fast_snapshot(question(id=100)) is None


def test_a_search_that_scores_item_by_item_runs_on_a_thread(serve, numbers):
    service = serve(lw.Bilinear(np.eye(3), "dice"), numbers.assign(a=1.0, b=2.0, c=3.0))
    assert service.fast_snapshot(question(id=100)) is None


def test_pairs_stay_pairs_and_are_within_the_limit_of_a_request(serve, rng):
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    frame.insert(0, "id", [f"-{row}" for row in range(300)])  # not a formula in a list of pairs
    service = serve(lw.Bilinear(1.0, "cosine"), frame)
    pairs = [{"query": "-0", "item": f"-{n}", "same": n % 2 == 0} for n in range(1, 300)]
    assert service.feedback(schemas.FeedbackRequest(pairs=pairs, key="=key")) == 2
    lines = "".join(export_journal(service.store, "csv", "pairs")).splitlines()
    assert len(lines) == 300
    assert lines[1].startswith("-0,-2,1,'=key,")
    assert sum(int(line.split(",")[2]) for line in lines[1:]) == 149
    assert "".join(export_journal(service.store, "jsonl")) == ""
    shown = [f"-{n}" for n in range(1, 101)]
    clicks = [{"query": "-0", "shown": shown, "chose": shown[:50]}] * 4  # the limit
    with pytest.raises(InvalidRequest, match="makes 10002 comparisons, but the limit is 10000"):
        service.feedback(schemas.FeedbackRequest(clicks=clicks, pairs=pairs))


def test_an_export_is_written_in_batches_of_lines(serve, numbers):
    service = serve(lw.Bilinear(1.0), numbers)
    shown = list(range(100, 120))
    click = {"query": [1.0, 2.0, 3.0], "shown": shown, "chose": shown[:10]}
    for _ in range(60):
        service.feedback(schemas.FeedbackRequest(clicks=[click]))
    parts = list(export_journal(service.store, "csv"))
    assert len(parts) == 2
    assert len("".join(parts).splitlines()) == 6_001


def test_an_item_is_not_compared_with_itself_as_a_number_or_a_text(serve, numbers):
    service = serve(lw.Bilinear(1.0), numbers)
    itself = schemas.FeedbackRequest(triplets=[{"query": 101, "closer": "101", "farther": 102}])
    with pytest.raises(InvalidRequest, match="query and closer must be different items"):
        service.feedback(itself)
    page = schemas.FeedbackRequest(clicks=[{"query": "101", "shown": [102, 101], "chose": 102}])
    with pytest.raises(InvalidRequest, match="shown must not contain the item of the query"):
        service.feedback(page)
    vector = numbers.loc[1, ["a", "b", "c"]].tolist()  # whose search finds the item
    by_vector = {"query": vector, "shown": [101, 102], "chose": 101}
    assert service.feedback(schemas.FeedbackRequest(clicks=[by_vector])) == 1


def test_feedback_on_an_item_and_itself_that_was_acknowledged_is_again(serve, numbers):
    """An earlier release accepted it; a client that repeats the request gets the same answer."""
    service = serve(lw.Bilinear(1.0), numbers)
    triplet = {"query": 101, "closer": 101, "farther": 102}
    request = schemas.FeedbackRequest(triplets=[triplet], key="earlier")
    one, other = (service.item(name).revision for name in (101, 102))
    page = Page.from_triplet(one, one, other)
    service.store.append("earlier", request_digest(request), [page])
    assert service.feedback(request) == 1
    assert len("".join(export_journal(service.store, "jsonl")).splitlines()) == 1
