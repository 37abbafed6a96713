"""What the gate judges by leaves no trace in what it judges."""

import numpy as np
import pytest
from benchmarks.gate import Stream
from tests.server.learning.held_out import (
    fill_journal,
    forms_of,
    intruders,
    journal_pages,
    of_split,
    pages_of,
    unit,
)
from tests.server.learning.test_learner import filled, learn_all

from likewise._files import from_bytes, to_bytes
from likewise.server.learning._aroma import SHARES, AromaMethod
from likewise.server.learning._forms import Forms
from likewise.server.learning._initial import InitialModel, matrix_scores
from likewise.server.learning._learner import ScoredVersion
from likewise.server.learning._pages import HeldOutPages, JudgedItems, Pages
from likewise.server.learning._ridge import ALPHAS, RidgeMethod
from likewise.server.learning._spaces import RANKS, Spaces
from likewise.server.store import (
    Page,
    Recipe,
    VersionFiles,
    VersionInfo,
)
from likewise.supervision import N_SPLITS


def test_training_of_a_split_has_neither_its_queries_nor_its_items():
    pages = pages_of(
        (0, (0, 1, 2), (0, 2)),
        (1, (0, 1, 2), (1, 2)),
        query_splits=[3, 0],
        item_splits=[0, 3, 1],
    )
    assert pages.relevance(3).toarray().tolist() == [[0, 0, 0], [0, 0, 1]]
    assert pages.relevance(2).toarray().tolist() == [[1, 0, 1], [0, 1, 1]]
    assert pages.relevance(2, until=1).toarray().tolist() == [[1, 0, 1], [0, 0, 0]]
    assert pages.is_training_item(3).tolist() == [False, False, True]


@pytest.mark.parametrize("split", range(N_SPLITS))
@pytest.mark.parametrize("which", [0, 1, 2])
def test_an_intruder_leaves_no_trace_in_the_forms_that_its_split_judges(tmp_path, split, which):
    """Neither in ridge nor in PLDA: not in scores, and not in ranks, which judge pairs."""
    found = []
    for name, extra in (("with", [intruders(split)[which]] * 5), ("without", [])):
        store = filled(tmp_path / f"{name}.sqlite")
        fill_journal(store, extra)
        forms = forms_of(store)
        pages = journal_pages(store, forms.initial)
        method = RidgeMethod(forms)
        held_out, judged = HeldOutPages(pages, np.arange(80)), JudgedItems(pages, np.arange(80))
        live = forms.unchanged(pages, judged.queries)
        found.append(
            [
                (
                    method.scores(pages, held_out, k),
                    method.ranks(pages, judged, k, live),
                )
                for k in range(N_SPLITS)
            ]
        )
        store.close()
    (scores, ranks), (other_scores, other_ranks) = found[0][split], found[1][split]
    assert len(scores) == len(ALPHAS) + len(RANKS)
    assert not np.array_equal(scores[len(ALPHAS)], scores[0])  # PLDA learned something
    assert np.array_equal(scores, other_scores)
    assert np.array_equal(ranks, other_ranks)
    others = [k for k in range(N_SPLITS) if k != split]
    of_plda = slice(len(ALPHAS), None)
    for part in (slice(1, len(ALPHAS)), of_plda):
        assert any(not np.array_equal(found[0][k][0][part], found[1][k][0][part]) for k in others)
    assert any(not np.array_equal(found[0][k][1], found[1][k][1]) for k in others)


@pytest.mark.parametrize("split", [0, 3])
def test_rows_of_a_split_leave_no_trace_in_the_directions_that_it_judges(tmp_path, split):
    """An item that nobody chose is not trained on either: its row shapes no principal direction."""
    found = []
    for name, is_loud in (("with", True), ("without", False)):
        store = filled(tmp_path / f"{name}.sqlite")
        fill_journal(store)
        forms = forms_of(store)
        pages = journal_pages(store, forms.initial)
        numbers = {*pages.revisions.tolist(), *pages.query_revisions}
        unused = [number for number in of_split(split, 150) if number not in numbers]
        assert unused
        if is_loud:
            forms.spaces._store = _Loud(store, unused)
        queries = np.arange(len(pages.Q))
        found.append(
            [forms.plda(pages, queries, pages.relevance(k), k, RANKS) for k in range(N_SPLITS)]
        )
        store.close()
    assert np.array_equal(found[0][split], found[1][split])
    for k in set(range(N_SPLITS)) - {split}:
        assert not np.array_equal(found[0][k], found[1][k])


class _Loud:
    """A store in which some items have one row that no other item is like."""

    def __init__(self, store, revisions):
        self._store, self._loud, self.item_ids = store, set(revisions), store.item_ids

    def vectors(self, revisions):
        found = self._store.vectors(revisions)
        return {r: [0.0, 0.0, 0.0, 0.0, 0.0, 99.0] if r in self._loud else found[r] for r in found}


@pytest.mark.parametrize("leak", ["relevance", "space"])
def test_a_leak_is_found(tmp_path, monkeypatch, leak):
    """The two tests above fail where a split is trained on."""
    if leak == "relevance":
        usual = Pages.relevance
        monkeypatch.setattr(
            Pages, "relevance", lambda self, split=None, until=np.inf: usual(self, None, until)
        )
        check = test_an_intruder_leaves_no_trace_in_the_forms_that_its_split_judges
        arguments = tmp_path, 0, 0
    else:
        usual_space = Spaces._space
        monkeypatch.setattr(Spaces, "_space", lambda self, split: usual_space(self, None))
        check = test_rows_of_a_split_leave_no_trace_in_the_directions_that_it_judges
        arguments = tmp_path, 0
    with pytest.raises(AssertionError):
        check(*arguments)


def test_clicks_that_can_only_be_memorized_promote_nothing(rng, monkeypatch):
    """Every query wants an item of its own, and nothing about one tells about another."""
    queries, items = (unit(rng.normal(size=(n, 200))) for n in (60, 300))
    wanted = np.argsort(-(queries @ items.T), axis=1)[:, 5]

    def promoted():
        stream = Stream(queries, items)
        for number in range(120):
            shown = np.argsort(-(queries[number % 60] @ items.T), kind="stable")[:10]
            stream.add(number % 60, shown, shown == wanted[number % 60])
        return stream.promoted

    assert promoted() == []
    usual = Pages.relevance
    monkeypatch.setattr(
        Pages, "relevance", lambda self, split=None, until=np.inf: usual(self, None, until)
    )
    assert promoted() != []


@pytest.mark.parametrize("which", [0, 1, 2])
def test_an_intruder_leaves_no_trace_in_the_twin_of_aroma(tmp_path, which):
    states = []
    for name, extra in (("with", [intruders(0)[which]] * 5), ("without", [])):
        store = filled(tmp_path / f"{name}.sqlite", "aroma")
        fill_journal(store, extra)
        learn_all(store)
        checkpoint = store.checkpoint()
        states.append([from_bytes(s).state_.W for s in (checkpoint.state, checkpoint.twin)])
        store.close()
    (whole, twin), (other_whole, other_twin) = states
    assert np.array_equal(twin, other_twin)
    assert not np.array_equal(whole, other_whole)


def test_the_twin_of_aroma_is_what_the_gate_judges(tmp_path):
    store = filled(tmp_path / "store.sqlite", "aroma")
    fill_journal(store, intruders(0) * 5)
    learn_all(store)
    initial, checkpoint = InitialModel.from_store(store), store.checkpoint()
    pages = journal_pages(store, initial)
    held_out = HeldOutPages(pages, np.arange(80))
    whole, twin = (from_bytes(s).state_.W for s in (checkpoint.state, checkpoint.twin))
    expected, other = (matrix_scores(pages, held_out, W.astype(np.float64)) for W in (twin, whole))
    found = AromaMethod(store, initial, checkpoint).scores(pages, held_out, 0)
    np.testing.assert_allclose(found[SHARES.index(1.0), 0], expected, rtol=1e-6)
    assert not np.allclose(found[SHARES.index(1.0), 0], other, rtol=1e-6)
    info = VersionInfo(2, "learned", 10**6, 0.0, 0.0, False, Recipe("aroma"), None, True)
    files = VersionFiles(
        to_bytes(initial.to_similarity(whole)), None, to_bytes(initial.to_similarity(twin))
    )
    version = ScoredVersion(info, files, pages, Forms(initial, Spaces(store, initial)))
    np.testing.assert_allclose(version.scores(held_out, 0), expected, rtol=1e-6)
    assert version.scores(held_out, 1) is None
    judged = JudgedItems(pages, np.arange(80))
    expected_map = pages.Q[judged.queries] @ initial.matrix(from_bytes(files.twin))
    np.testing.assert_array_equal(version.mapped(judged.queries, 0), expected_map)
    assert version.mapped(judged.queries, 1) is None
    store.close()


def test_an_item_passed_over_leaves_no_trace_in_the_twin_either(tmp_path):
    (item,), (query, chosen) = of_split(0, 1), of_split(1, 2)
    twins = []
    for name, extra in (("with", [Page(query, (item, chosen), (chosen,))]), ("without", [])):
        store = filled(tmp_path / f"{name}.sqlite", "aroma")
        fill_journal(store, extra)
        learn_all(store)
        twins.append(from_bytes(store.checkpoint().twin).state_.W)
        store.close()
    assert np.array_equal(*twins)


@pytest.mark.parametrize(
    "recipe",
    [Recipe("ridge", alpha=3.0, gamma=0.5), Recipe("plda", rank=20, gamma=0.2)],
    ids=lambda recipe: recipe.learner,
)
@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_live_version_is_judged_without_what_it_learned_from_its_judges(
    tmp_path, which, recipe
):
    found = []
    for name, extra in (("with", [intruders(2)[which]] * 5), ("without", [])):
        store = filled(tmp_path / f"{name}.sqlite")
        fill_journal(store, extra)
        initial = InitialModel.from_store(store)
        pages = journal_pages(store, initial)
        info = VersionInfo(2, "learned", 10**6, 0.0, 0.0, False, recipe, None, True)
        forms = Forms(initial, Spaces(store, initial))
        version = ScoredVersion(info, VersionFiles(b"", None, None), pages, forms)
        held_out, judged = HeldOutPages(pages, np.arange(80)), JudgedItems(pages, np.arange(80))
        found.append(
            [
                (version.scores(held_out, split), version.mapped(judged.queries, split))
                for split in (2, 1)
            ]
        )
        store.close()
    for with_it, without in zip(found[0][0], found[1][0], strict=True):
        assert np.array_equal(with_it, without)
    for with_it, without in zip(found[0][1], found[1][1], strict=True):
        assert not np.array_equal(with_it, without)
