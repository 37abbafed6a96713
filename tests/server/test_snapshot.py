"""Snapshots: the offsets of items change only with their version."""

from threading import Event, Thread

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise._files import to_bytes
from likewise.server._service import Service
from likewise.server._settings import Settings
from likewise.server.api import _schemas as schemas
from likewise.server.explorer._explorer import Explorer
from likewise.server.store import Candidate, Checkpoint, Evaluation, Recipe, Verdict

WIDTH, N_ITEMS = 4, 30
W = np.eye(WIDTH, dtype=np.float32) + np.diag([0.5] * (WIDTH - 1), 1).astype(np.float32)


@pytest.fixture
def service(tmp_path, rng):
    """Serve items by the cosine; version 2 has another form and moves the items i3 and i4."""
    frame = pd.DataFrame(rng.normal(size=(N_ITEMS, WIDTH)).astype(np.float32), columns=list("abcd"))
    frame.insert(0, "id", [f"i{row}" for row in range(N_ITEMS)])
    frame.to_parquet(tmp_path / "items.parquet", index=False)
    lw.save(lw.Bilinear(np.eye(WIDTH), "cosine"), tmp_path / "model.safetensors")
    settings = Settings(tmp_path / "model.safetensors", tmp_path / "items.parquet")
    opened = Service(settings, learns=False)
    opened.store.save_checkpoint(Checkpoint(1, 10, 0, 0, b"x"), (), candidate(offsets()))
    opened.refresh()
    yield opened
    opened.stop()


def offsets():
    directions = np.array([[1, -1, 0, 2], [0, 3, 1, 0], [5, 5, 5, 5]], dtype=np.float32)
    # Items are numbered from 1 as they come; 999 has gone.
    return lw.ItemOffsets([4, 5, 999], directions, [2.0, 1.0, 1.0], 0.5, np.zeros(WIDTH))


def candidate(moved, live=1):
    nothing = Evaluation(0.5, 0.6, 0.01, 30)
    verdict = Verdict(live, nothing, nothing, nothing, 1, 2.5, passes=True)
    recipe = Recipe("ridge", alpha=3.0, gamma=0.5)
    return Candidate(recipe, verdict, to_bytes(lw.Bilinear(W, "cosine")), to_bytes(moved))


def moved_rows(service):
    items = service.snapshot.catalog.items
    return offsets().apply([item.revision for item in items], service.snapshot.catalog.rows)


def search(service, **given):
    answer = service.search(schemas.SearchRequest(**{"k": N_ITEMS, **given}))
    return answer.model, {match.id: match.score for match in answer.matches}


def test_searches_scores_and_explanations_use_moved_items(service):
    query = [0.3, -1.0, 0.5, 0.1]
    rows = moved_rows(service)
    assert not np.array_equal(rows[3], service.snapshot.catalog.rows[3])
    np.testing.assert_array_equal(rows[5:], service.snapshot.catalog.rows[5:])
    expected = lw.Bilinear(W, "cosine").score([query], rows)[0]
    version, found = search(service, vector=query)
    assert version == 2
    np.testing.assert_allclose([found[f"i{row}"] for row in range(N_ITEMS)], expected, rtol=1e-5)
    scored = service.score(schemas.ScoreRequest(vector=query, items=["i3", "i9"])).scores
    np.testing.assert_allclose([one.score for one in scored], expected[[3, 9]], rtol=1e-5)
    why = service.explain(schemas.ExplainRequest(vector=query, item="i3"))
    assert why.score == pytest.approx(expected[3], rel=1e-5)


def test_an_item_that_is_a_query_is_asked_with_its_original_vector(service):
    original = service.snapshot.catalog.rows[3]
    expected = lw.Bilinear(W, "cosine").score([original], moved_rows(service))[0]
    _, found = search(service, id="i3")
    assert "i3" not in found
    np.testing.assert_allclose(found["i7"], expected[7], rtol=1e-5)
    neighbors = Explorer(service).neighbors("i3", 5)
    assert [near.item.id for near in neighbors.learned] == list(found)[:5]
    assert [near.score for near in neighbors.learned] == pytest.approx(list(found.values())[:5])


def test_another_version_answers_with_its_own_items(service):
    query = [0.3, -1.0, 0.5, 0.1]
    plain = lw.Bilinear(1.0, "cosine").score([query], service.snapshot.catalog.rows)[0]
    version, found = search(service, vector=query, version=1)
    assert version == 1
    np.testing.assert_allclose(found["i3"], plain[3], rtol=1e-5)


def test_going_back_and_forth_gives_the_same_answers_to_the_last_bit(service):
    query = [0.3, -1.0, 0.5, 0.1]
    learned, base = search(service, vector=query), search(service, vector=query, version=1)
    assert service.make_live(1, rollback=True) == 1
    assert search(service, vector=query) == base
    assert search(service, vector=query, version=2) == learned
    service.make_live(2, rollback=False)
    assert search(service, vector=query) == learned


def test_what_replaces_an_item_has_no_offset_also_after_a_restart(service):
    query = [0.3, -1.0, 0.5, 0.1]
    replaced = [1.0, -2.0, 3.0, 4.0]
    service.put_items([schemas.NewItem(id="i3", vector=replaced)], add=False)
    service.remove_item("i4")
    back = service.snapshot.catalog.rows[10].tolist()
    service.put_items([schemas.NewItem(id="i4", vector=back)], add=True)
    expected = lw.Bilinear(W, "cosine").score([query], [replaced, back])[0]
    for _ in range(2):
        _, found = search(service, vector=query)
        np.testing.assert_allclose([found["i3"], found["i4"]], expected, rtol=1e-5)
        service.make_live(1, rollback=False)
        service.make_live(2, rollback=False)  # builds what it serves again


def test_a_snapshot_does_not_change_with_items_or_versions(service):
    query = np.float32([[0.3, -1.0, 0.5, 0.1]])
    snapshot = service.snapshot

    def answers():
        return [(item.id, score) for item, score in snapshot.search(query, N_ITEMS, None)]

    before = answers()
    service.remove_item("i3")
    service.put_items([schemas.NewItem(id="i5", vector=[9.0, 9.0, 9.0, 9.0])], add=False)
    service.put_items([schemas.NewItem(id="new", vector=[1.0, 2.0, 3.0, 4.0])], add=True)
    service.make_live(1, rollback=True)
    assert answers() == before
    assert service.snapshot.version.number == 1
    assert "new" in search(service, vector=query[0].tolist())[1]


def test_no_search_sees_a_new_form_with_old_offsets(service):
    query = [0.3, -1.0, 0.5, 0.1]
    expected = {version: search(service, vector=query, version=version) for version in (1, 2)}
    done, wrong = Event(), []

    def ask():
        while not done.is_set():
            version, found = search(service, vector=query)
            if (version, found) != expected[version]:
                wrong.append(version)

    threads = [Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(40):
        service.make_live(1 + number % 2, rollback=False)
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
