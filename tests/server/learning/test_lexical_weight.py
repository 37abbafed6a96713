"""The weight of the lexical score is learned, and judged by held-out queries and items."""

import numpy as np
import pytest
from tests.oracles.lexical import scale
from tests.server.learning.held_out import forms_of, intruders, journal_pages
from tests.server.learning.test_learner import N_ITEMS, filled, learn_all, rows
from tests.server.running import all_learned

import likewise as lw
from likewise.server.learning._aroma import SHARES, AromaMethod
from likewise.server.learning._initial import InitialModel, matrix_scores
from likewise.server.learning._lexical import MULTIPLES, lexical_multiples, lexical_weights
from likewise.server.learning._pages import HeldOutPages
from likewise.server.learning._ridge import ALPHAS, RidgeMethod
from likewise.server.learning._spaces import RANKS
from likewise.server.store import Page
from likewise.supervision import N_SPLITS


def store_with(path, pages, learner="ridge", lexical=0.0):
    store = filled(path, learner)
    store.set_learner(learner, lexical)
    for number, page in enumerate(pages):
        store.append(str(number), "x", [page])
    return store


def pages_by_words(n, seed=0, *, useful=True):
    """Return pages on which the item with the highest lexical score is chosen, or another one."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        query, *shown = (rng.choice(N_ITEMS, 6, replace=False) + 1).tolist()
        scores = np.round(rng.random(5) * (rng.random(5) < 0.6), 4)
        chosen = shown[int(np.argmax(scores)) if useful else rng.integers(5)]
        found.append(Page(query, tuple(shown), (chosen,), lexical=tuple(scores.tolist())))
    return found


@pytest.mark.parametrize(("learner", "n"), [("ridge", 120), ("aroma", 250)])
def test_words_that_tell_what_is_chosen_get_a_weight(tmp_path, learner, n):
    store = store_with(tmp_path / "store.sqlite", pages_by_words(n), learner)
    learn_all(store)
    live = store.status().live
    version = next(v for v in store.versions() if v.number == live)
    assert live > 1
    assert version.recipe.lexical in MULTIPLES
    assert store.version_files(live).weight == version.recipe.weight > 0
    overall = version.verdict.overall
    assert overall.candidate > overall.live + 0.2
    store.close()


def test_words_that_tell_nothing_get_none(tmp_path):
    store = store_with(tmp_path / "store.sqlite", pages_by_words(120, useful=False))
    learn_all(store)
    assert len(store.versions()) > 1
    assert store.status().live == 1
    store.close()


def test_a_weight_that_harms_is_taken_away(tmp_path):
    rng = np.random.default_rng(0)
    similarities = lw.Bilinear(1.0, "cosine").score(rows(), rows())
    pages = []
    for page in pages_by_words(150, useful=False):
        best = max(page.shown, key=lambda item: similarities[page.query - 1, item - 1])
        scores = tuple(np.round(rng.random(5), 4).tolist())
        pages.append(Page(page.query, page.shown, (best,), lexical=scores))
    store = store_with(tmp_path / "store.sqlite", pages, lexical=5.0)
    learn_all(store)
    live = store.status().live
    assert live > 1
    assert store.version_files(live).weight < 1.0
    assert store.version_files(1).weight == 5.0
    store.close()


@pytest.mark.parametrize("split", [None, 0, 3])
def test_the_scale_is_the_ratio_of_deviations_within_pages(tmp_path, split):
    store = store_with(tmp_path / "store.sqlite", pages_by_words(60))
    initial = InitialModel.from_store(store)
    pages = journal_pages(store, initial)
    for until in (np.inf, 100):
        weights = lexical_weights([None, 1.0, 3.0], pages, initial, split, until)
        shown = HeldOutPages(pages, np.arange(len(pages)))
        kept = pages.first[shown.page] < until
        if split is not None:
            kept &= pages.query_splits[shown.query] != split
            out = pages.item_splits[shown.item] == split
            kept &= ~out & ~np.isin(shown.page, shown.page[out & shown.chosen])
        similarities = matrix_scores(pages, shown, initial.W)
        expected = scale(shown.page[kept], similarities[kept], shown.lexical[kept])
        assert weights == pytest.approx([0.0, expected, 3 * expected])
    assert lexical_weights([1.0], pages, initial, until=-1) == [0.0]
    store.close()


@pytest.mark.parametrize("split", [0, 3])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_an_intruder_leaves_no_trace_in_the_weights_that_its_split_judges(tmp_path, split, which):
    found = []
    for name, extra in (("with", [intruders(split)[which]] * 5), ("without", [])):
        loud = [
            Page(
                p.query,
                p.shown,
                p.chosen,
                lexical=tuple(1e3 if r == p.shown[0] else 0 for r in p.shown),
            )
            for p in extra
        ]
        store = store_with(tmp_path / f"{name}.sqlite", [*pages_by_words(80), *loud])
        initial = InitialModel.from_store(store)
        pages = journal_pages(store, initial)
        held_out = HeldOutPages(pages, np.arange(80))
        method = RidgeMethod(forms_of(store))
        found.append([method.scores(pages, held_out, k) for k in range(N_SPLITS)])
        store.close()
    assert np.array_equal(found[0][split], found[1][split])
    others = [k for k in range(N_SPLITS) if k != split]
    assert any(not np.array_equal(found[0][k], found[1][k]) for k in others)


def test_every_form_has_its_weight(tmp_path):
    store = store_with(tmp_path / "store.sqlite", pages_by_words(60), lexical=0.5)
    initial, checkpoint = InitialModel.from_store(store), store.checkpoint()
    pages = journal_pages(store, initial)
    held_out = HeldOutPages(pages, np.arange(60))
    multiples = lexical_multiples(initial)
    assert multiples == (None, *MULTIPLES, 0.0)
    weights = lexical_weights(multiples, pages, initial, 2)
    for method, n_forms in (
        (RidgeMethod(forms_of(store)), len(ALPHAS) + len(RANKS)),
        (AromaMethod(store, initial, checkpoint), len(SHARES)),
    ):
        scores = method.scores(pages, held_out, 2)
        assert len(scores) == n_forms * len(multiples)
        plain = scores[-n_forms:]  # the last weight is 0
        for place, weight in enumerate(weights):
            part = scores[n_forms * place : n_forms * (place + 1)]
            np.testing.assert_allclose(
                part - plain, np.broadcast_to(weight * held_out.lexical, part.shape), atol=1e-12
            )
        candidate = method.candidate(n_forms + 1, 0, pages, None)
        (weight,) = lexical_weights([MULTIPLES[0]], pages, initial)
        assert (candidate.recipe.lexical, candidate.recipe.weight) == (MULTIPLES[0], weight)
    store.close()


def test_without_hybrid_search_lexical_scores_change_nothing(tmp_path):
    learned = []
    for name, pages in (
        ("with", pages_by_words(80)),
        ("without", [Page(p.query, p.shown, p.chosen) for p in pages_by_words(80)]),
    ):
        store = store_with(tmp_path / f"{name}.sqlite", pages, lexical=None)
        learn_all(store)
        learned.append(all_learned(store))
        store.close()
    assert learned[0] == learned[1]


def test_another_initial_weight_begins_the_journal_again(tmp_path):
    store = store_with(tmp_path / "store.sqlite", pages_by_words(40))
    learn_all(store)
    applied = store.status().applied
    store.set_learner("ridge", 0.0)
    assert store.status().applied == applied > 0
    store.set_learner("ridge", 0.3)
    assert store.status().applied == 0
    assert store.lexical_weight() == 0.3
    store.set_learner("ridge", None)
    assert store.lexical_weight() is None
    store.close()
