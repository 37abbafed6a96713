"""Hybrid search: a lexical score beside the similarity."""

import re

import numpy as np
import pandas as pd
import pytest
from tests.oracles.lexical import bm25
from tests.server import encoders
from tests.server.explorer.sets import sentences

import likewise as lw
from likewise._files import to_bytes
from likewise.server import Settings
from likewise.server._lexical import LexicalIndex
from likewise.server._service import Service
from likewise.server.api import _schemas as schemas
from likewise.server.explorer._explorer import Explorer
from likewise.server.store import Candidate, Evaluation, InvalidRequest, Recipe, Verdict

pytest.importorskip("bm25s")
WORDS, N = "tests.server.encoders:words", 60
TEXTS = sentences()[0]["text"].tolist()[:N]


def words_of(text):
    return re.findall(r"\b\w\w+\b", text.lower())


@pytest.fixture
def serve(tmp_path):
    frame = pd.DataFrame(
        {"id": [f"s{row}" for row in range(N)], "said": TEXTS, "kind": [0, 1] * (N // 2)}
    )
    frame["flag"] = [True, False] * (N // 2)
    model, items = tmp_path / "model.safetensors", tmp_path / "items.parquet"
    frame.to_parquet(items, index=False)
    lw.save(lw.Bilinear(1.0, "cosine"), model)
    opened = []

    def serve(hybrid=0.4, **given):
        settings = {"encoder": WORDS, "text_column": "said", **given}
        service = Service(Settings(model, items, hybrid=hybrid, **settings), learns=False)
        opened.append(service)
        return service

    yield serve
    for service in opened:
        service.stop()


def search(service, **given):
    found = service.search(schemas.SearchRequest(**given)).matches
    return [(match.id, match.score) for match in found]


def expected(query, weight, vector=None):
    """Return all items by their mixed scores, in plain loops."""
    rows = encoders.words(TEXTS)
    vector = encoders.words([query])[0] if vector is None else vector
    cosines = rows @ vector / np.linalg.norm(rows, axis=1) / np.linalg.norm(vector)
    lexical = bm25([words_of(text) for text in TEXTS], words_of(query))
    return cosines + weight * np.array(lexical)


def assert_best(found, scores, k):
    order = np.argsort(-scores, kind="stable")[:k]
    assert [name for name, _ in found] == [f"s{row}" for row in order]
    np.testing.assert_allclose([score for _, score in found], scores[order], rtol=1e-5)


@pytest.mark.parametrize("weight", [0.0, 0.05, 0.4, 10.0])
def test_a_text_is_compared_by_its_vector_and_its_words(serve, weight):
    service = serve(weight)
    for query in ("classes of iris plants", "the pixels of an image", "linear separability"):
        assert_best(search(service, text=query, k=15), expected(query, weight), 15)


def test_few_items_with_words_suffice(serve, monkeypatch):
    query = "linear separability of classes"
    whole = search(serve(), text=query, k=10)
    monkeypatch.setattr("likewise.server._snapshot._MAX_WITH_WORDS", 12)
    assert search(serve(), text=query, k=10) == whole


def test_words_that_no_item_has_leave_the_similarity(serve):
    found, plain = (search(serve(weight), text="zzz qqq", k=5) for weight in (0.4, 0.0))
    assert [name for name, _ in found] == [name for name, _ in plain]
    np.testing.assert_allclose([s for _, s in found], [s for _, s in plain], rtol=1e-12)


def test_an_item_is_compared_by_its_own_words_and_a_vector_by_none(serve):
    service = serve()
    scores = expected(TEXTS[7], 0.4)
    scores[7] = -np.inf
    assert_best(search(service, id="s7", k=10), scores, 10)
    vector = encoders.words(["iris plants"])[0]
    plain = expected("zzz", 0.0, vector)
    assert_best(search(service, vector=vector.tolist(), k=10), plain, 10)


@pytest.mark.parametrize("where", [{"kind": 1}, {"kind": [0, 1], "flag": True}, {"flag": [False]}])
def test_a_filter_applies_to_words_too(serve, where):
    service, query = serve(), "classes of iris plants"
    kept = np.arange(N) % 2 == (1 if where.get("kind") == 1 or where["flag"] == [False] else 0)
    scores = np.where(kept, expected(query, 0.4), -np.inf)
    assert_best(search(service, text=query, k=20, filter=where), scores, 20)
    with pytest.raises(InvalidRequest, match="'no' was given"):
        search(service, text=query, filter={"no": 1})


def test_scores_explanations_and_neighbors_have_the_words_too(serve):
    service, query = serve(), "classes of iris plants"
    found = search(service, text=query, k=5)
    names = [name for name, _ in found]
    scored = service.score(schemas.ScoreRequest(text=query, items=names)).scores
    np.testing.assert_allclose([m.score for m in scored], [s for _, s in found], rtol=1e-6)
    told = service.explain(schemas.ExplainRequest(text=query, item=names[0], top=4))
    assert told.score == pytest.approx(found[0][1], rel=1e-4)
    total = sum(term.contribution for term in told.terms) + told.rest
    assert total == pytest.approx(told.score, rel=1e-5)
    assert "words of said" in [term.query_feature for term in told.terms]
    assert len(told.terms) == 4
    near = Explorer(service).neighbors("s7", 5)
    by_search = search(service, id="s7", k=5)
    assert [n.item.id for n in near.learned] == [name for name, _ in by_search]


def test_items_that_change_get_their_words_when_these_are_indexed(serve):
    service = serve(10.0)
    new = {"vector": [0.0] * 31 + [1.0], "row": {"said": "a hippopotamus and a giraffe"}}
    service.put_items([schemas.NewItem(id="new", **new)], add=True)
    service.remove_item("s3")
    assert search(service, text="hippopotamus", k=1)[0][0] != "new"
    service._next_words = 0.0
    service.refresh_words()
    assert search(service, text="hippopotamus", k=1)[0][0] == "new"
    assert len(search(service, text=TEXTS[3], k=200)) == N


def test_feedback_keeps_the_lexical_scores_that_its_pages_had(serve):
    service = serve()
    query, shown = "classes of iris plants", [f"s{row}" for row in range(6)]
    click = {"query": {"text": query}, "shown": shown, "chose": "s2"}
    triplets = [
        {"query": "s7", "closer": "s1", "farther": "s2"},
        {"query": encoders.words(["x"])[0].tolist(), "closer": "s1", "farther": "s2"},
    ]
    service.feedback(schemas.FeedbackRequest(clicks=[click], triplets=triplets))
    by_item, by_vector, by_text = service.store.entries(0)[0].pages
    texts = [words_of(text) for text in TEXTS]
    np.testing.assert_allclose(by_text.lexical, bm25(texts, words_of(query))[:6], atol=1e-4)
    np.testing.assert_allclose(by_item.lexical, bm25(texts, texts[7])[1:3], atol=1e-4)
    assert by_vector.lexical is None


def test_a_version_is_served_with_its_weight(serve):
    service, query = serve(0.0), "classes of iris plants"
    overall = Evaluation(0.5, 0.6, 0.01, 30)
    verdict = Verdict(1, overall, overall, overall, 1, 2.5, passes=True)
    recipe = Recipe("ridge", lexical=1.0, weight=0.7)
    candidate = Candidate(recipe, verdict, to_bytes(service.model.similarity))
    service.store.save_checkpoint(service.store.checkpoint(), (), candidate)
    service.refresh()
    assert_best(search(service, text=query, k=10), expected(query, 0.7), 10)
    assert_best(search(service, text=query, k=10, version=1), expected(query, 0.0), 10)
    service.stop()
    with pytest.raises(ValueError, match="version 2, which is live, uses the words of the items"):
        serve(None)


def test_only_a_search_without_words_is_short(serve):
    service = serve()
    assert service.fast_snapshot(schemas.SearchRequest(id="s1")) is None
    assert service.fast_snapshot(schemas.SearchRequest(vector=[0.5] * 32)) is not None
    assert serve(0.0).fast_snapshot(schemas.SearchRequest(id="s1")) is not None


def test_a_column_without_texts_is_named(serve):
    with pytest.raises(ValueError, match="hybrid search needs texts in the column 'words'"):
        serve(encoder=None, text_column="words")


@pytest.mark.parametrize("weight", [-0.1, float("inf"), float("nan"), 1e7])
def test_a_weight_is_a_number_that_is_not_negative(tmp_path, weight):
    with pytest.raises(ValueError, match="hybrid must be from 0 to 1e"):
        Settings(tmp_path / "model.safetensors", hybrid=weight)


@pytest.mark.parametrize(
    "query", ["iris", "iris iris plants", "of the", "Separability, LINEAR", "", "zzz", "a b c"]
)
def test_lexical_scores_are_those_of_the_formula(query):
    index = LexicalIndex(range(10, 10 + N), TEXTS)
    texts = [words_of(text) for text in TEXTS]
    wanted = bm25(texts, words_of(query))
    np.testing.assert_allclose(index.scores(query), wanted, atol=1e-5)
    np.testing.assert_allclose(
        index.scores_of(query, [12, 999, 10]), [wanted[2], 0, wanted[0]], atol=1e-4
    )


@pytest.mark.parametrize("texts", [[], ["", "a"], ["word"]])
def test_few_texts_or_none_have_scores(texts):
    index = LexicalIndex(range(len(texts)), texts)
    assert index.scores("word").tolist() == [1.0 if text == "word" else 0.0 for text in texts]
    assert index.scores_of("word", [5]) == (0.0,)
