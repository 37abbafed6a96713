"""A candidate answers a share of the searches, and both sides are compared by their clicks."""

from time import monotonic, sleep

import numpy as np
import pytest
from tests.server.running import InProcess, write_digits

import likewise as lw
from likewise._files import to_bytes
from likewise.server import Settings
from likewise.server._app import build_app
from likewise.server._canary import Canary
from likewise.server._service import Service
from likewise.server.api import _schemas as schemas
from likewise.server.api._monitoring import Metrics
from likewise.server.explorer._explorer import Explorer
from likewise.server.store import (
    Candidate,
    Evaluation,
    InvalidRequest,
    Recipe,
    StoreUnavailable,
    Verdict,
)

UPPER = lw.Bilinear(np.repeat([1.0, 0.0], 32).astype(np.float32), norm="cosine")
LOWER = lw.Bilinear(np.repeat([0.0, 1.0], 32).astype(np.float32), norm="cosine")


@pytest.fixture
def serve(tmp_path):
    model, items = write_digits(tmp_path, 100)
    opened = []

    def serve(canary=0.3):
        service = Service(Settings(model, items, label="digit", canary=canary), learns=False)
        opened.append(service)
        return service

    yield serve
    for service in opened:
        service.stop()


def submit(service, similarity=UPPER, gain=0.1, *, passes=False, live=1):
    """Write a candidate with its verdict, as the learner does, and return its number."""
    overall = Evaluation(0.5, 0.5 + gain, 0.05, 30)
    verdict = Verdict(live, overall, overall, overall, 1, 2.5, passes=passes)
    candidate = Candidate(Recipe("ridge", alpha=3.0), verdict, to_bytes(similarity))
    assert service.store.save_checkpoint(service.store.checkpoint(), (), candidate)
    service.refresh()
    return service.last_version


def search(service, **given):
    return service.search(schemas.SearchRequest(**given))


def test_a_share_of_the_users_gets_the_candidate_and_always_the_same(serve):
    service = serve()
    assert {search(service, id="d1", user=f"u{n}").model for n in range(50)} == {1}
    number = submit(service)
    models = {f"u{n}": search(service, id="d1", user=f"u{n}").model for n in range(1_000)}
    assert set(models.values()) == {1, number}
    assert np.mean([model == number for model in models.values()]) == pytest.approx(0.3, abs=0.05)
    for user, model in list(models.items())[:50]:
        assert search(service, vector=[0.5] * 64, user=user).model == model
    queries = [search(service, id=f"d{n}").model for n in range(100)]
    assert [search(service, id=f"d{n}", k=3).model for n in range(100)] == queries
    assert 10 < sum(model == number for model in queries) < 50


def test_both_answer_as_their_versions_do(serve):
    service = serve()
    number = submit(service)
    for row in range(30):
        found = search(service, id=f"d{row}")
        assert found == search(service, id=f"d{row}", version=found.model)
    better = submit(service, LOWER)
    models = {search(service, id=f"d{row}").model for row in range(30)}
    assert models == {1, better}
    assert better == number + 1


def test_items_change_under_the_candidate_too(serve):
    service = serve(0.999)
    number = submit(service)
    service.put_items([schemas.NewItem(id="new", vector=[0.5] * 64)], add=True)
    found = search(service, vector=[0.5] * 64, user="any", k=1)
    assert (found.model, found.matches[0].id) == (number, "new")
    service.remove_item("new")
    assert "new" not in {m.id for m in search(service, vector=[0.5] * 64, k=100).matches}


def test_a_candidate_is_served_only_while_it_may_be_better(serve):
    service = serve(0.999)
    submit(service, gain=-0.01)
    assert service.candidate is None
    first = submit(service)
    assert service.candidate.version.number == first
    live = submit(service, LOWER, passes=True)  # promoted by the gate
    assert (service.snapshot.version.number, service.candidate) == (live, None)
    second = submit(service, live=live)
    assert service.candidate.version.number == second
    service.make_live(1, rollback=True)
    assert service.candidate is None  # what was rolled back is no candidate, nor what came before
    third = submit(service)
    assert service.candidate.version.number == third


def test_without_a_canary_nothing_is_assigned_or_noted(serve):
    service = serve(0.0)
    submit(service)
    assert {search(service, id=f"d{n}").model for n in range(30)} == {1}
    click = {"query": "d1", "shown": ["d2", "d3"], "chose": "d2"}
    service.feedback(schemas.FeedbackRequest(clicks=[click]))
    assert service.store.entries(0)[0].pages[0].model is None
    assert service.compare_canary() is None


def test_clicks_count_for_the_version_that_ranked_their_page(serve):
    service = serve()
    number = submit(service)
    by_candidate = next(f"u{n}" for n in range(99) if service.canary.takes(f"u{n}", None))
    by_live = next(f"u{n}" for n in range(99) if not service.canary.takes(f"u{n}", None))
    for user, n in ((by_candidate, 5), (by_live, 20)):
        for row in range(n):
            search(service, id=f"d{row}", user=user)
    search(service, id="d1", version=1)  # not assigned, so not counted
    shown = ["d2", "d3", "d4", "d5"]

    def click(chose, **given):
        page = {"query": "d1", "shown": shown, "chose": chose}
        model = {"model": given.pop("model")} if "model" in given else {}
        service.feedback(schemas.FeedbackRequest(clicks=[page | model], **given))

    click("d2", user=by_candidate)
    click("d3", user=by_candidate)
    click(["d5", "d4"], user=by_live)
    click("d2", model=1)
    click("d2", model=number, user=by_live, key="taken-back")
    click("d4", model=number, user=by_live)
    service.undo("taken-back")
    triplets = [{"query": "d1", "closer": "d2", "farther": "d3"}]
    service.feedback(schemas.FeedbackRequest(triplets=triplets, user=by_live))
    with pytest.raises(InvalidRequest, match="model 99 is not a version of this server"):
        click("d2", model=99)
    found = service.compare_canary()
    ranks = {"live": [1 / 3, 1.0], "candidate": [1.0, 1 / 2, 1 / 3]}
    expected = {
        side: {
            "version": version,
            "searches": searches,
            "pages": len(ranks[side]),
            "clicks": clicks,
            "mrr": pytest.approx(np.mean(ranks[side])),
            "error": pytest.approx(np.std(ranks[side], ddof=1) / len(ranks[side]) ** 0.5),
        }
        for side, version, searches, clicks in (("live", 1, 20, 3), ("candidate", number, 5, 3))
    }
    assert found.model_dump() == {"share": 0.3, **expected}
    service.make_live(number, rollback=False)
    empty = {"searches": 0, "pages": 0, "clicks": 0, "mrr": None, "error": None}
    assert service.compare_canary().model_dump() == {
        "share": 0.3,
        "live": {"version": number, **empty},
        "candidate": {"version": None, **empty},
    }


def test_counted_searches_survive_a_restart_and_a_store_that_is_away(serve):
    service = serve()
    canary, store = service.canary, service.store
    canary.count(1, 1)
    usual = store.count_searches
    store.count_searches = lambda counted: (_ for _ in ()).throw(OSError("away"))
    with pytest.raises(OSError, match="away"):
        canary.flush(store)
    store.count_searches = usual
    canary.count(1, 1)
    service.stop()
    again = serve()
    assert again.compare_canary().live.searches == 2


def test_the_quality_page_has_both_sides(serve):
    service = serve()
    number = submit(service)
    client = InProcess(build_app(service, Metrics()))
    models = {client.post("/v1/search", json={"id": f"d{n}"}).json()["model"] for n in range(40)}
    assert models == {1, number}
    for _ in range(500):
        found = client.get("/v1/explore/quality").json()
        if found["status"] == "ready":
            break
        sleep(0.02)
    canary = found["canary"]
    assert (canary["share"], canary["candidate"]["version"]) == (0.3, number)
    assert canary["live"]["searches"] + canary["candidate"]["searches"] == 40


@pytest.mark.parametrize("share", [-0.1, 1.0, 2.0])
def test_a_share_is_below_one(tmp_path, share):
    with pytest.raises(ValueError, match=f"canary must be from 0 to below 1, but {share}"):
        Settings(tmp_path / "model.safetensors", canary=share)


def test_users_vectors_texts_and_ids_are_assigned_by_their_content():
    canary = Canary(0.5)
    value = schemas.QueryValue
    by_user = [canary.takes("ann", value(id=n)) for n in range(20)]
    assert len(set(by_user)) == 1
    for kind, contents in (
        ("id", range(100)),
        ("text", [f"text {n}" for n in range(100)]),
        ("vector", [[float(n)] for n in range(100)]),
    ):
        taken = [canary.takes(None, value(**{kind: content})) for content in contents]
        assert 30 < sum(taken) < 70, kind


def test_the_explorer_counts_new_searches(serve):
    service = serve()
    explorer, deadline = Explorer(service), monotonic() + 20

    def wait_for(n):
        canary = None
        while (canary is None or canary.live.searches != n) and monotonic() < deadline:
            canary = explorer.quality().canary
            sleep(0.02)
        return canary.live.searches

    assert wait_for(0) == 0
    search(service, id="d1")
    service.canary.flush(service.store)
    assert wait_for(1) == 1
    explorer.close()


@pytest.mark.parametrize("call", ["candidate", "version_files", "items_since"])
def test_a_store_that_fails_during_a_refresh_is_followed_afterwards(serve, monkeypatch, call):
    service = serve()
    submit(service)
    other = serve()
    other.put_items([schemas.NewItem(id="new", vector=[0.5] * 64)], add=True)
    number = submit(other, LOWER)

    def fail(*given):
        raise StoreUnavailable("the store is locked.")

    with monkeypatch.context() as patch:
        patch.setattr(service.store, call, fail)
        with pytest.raises(StoreUnavailable):
            service.refresh()
    assert "new" not in service.snapshot.catalog.by_id
    service.refresh()
    assert service.item("new").id == "new"
    assert service.candidate.version.number == number
    assert service.search(schemas.SearchRequest(vector=[0.5] * 64, k=200)).matches[100:]


def test_polling_goes_on_after_an_error(serve, monkeypatch, caplog):
    service, usual, failed = serve(), Service.refresh, []

    def fail_at_first(self):
        if len(failed) < 3:
            failed.append(True)
            raise ValueError("a fault")
        return usual(self)

    monkeypatch.setattr(Service, "refresh", fail_at_first)
    monkeypatch.setattr("likewise.server._service._POLL_SECONDS", 0.01)
    service.start()
    service.store.put_items([("new", np.ones(64, dtype=np.float32), {})])
    deadline = monotonic() + 10
    while "new" not in service.snapshot.catalog.by_id and monotonic() < deadline:
        sleep(0.01)
    assert "new" in service.snapshot.catalog.by_id
    assert service.store_available
    assert caplog.text.count("a refresh from the store failed") == 1
