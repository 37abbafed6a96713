"""A live version's recipe, trained on more answers; and the questions that decide about it."""

from contextlib import closing

import numpy as np
import pytest
from tests.server.learning.held_out import forms_of, journal_pages
from tests.server.learning.test_learner import filled, learn_all, rows

import likewise as lw
from likewise._files import to_bytes
from likewise.server.learning._gate import Means, judge_retrained
from likewise.server.learning._initial import BASE_VERSION, InitialModel
from likewise.server.learning._learner import Learner
from likewise.server.learning._questions import PairForm
from likewise.server.learning._ridge import ALPHAS, GAMMAS, RidgeMethod
from likewise.server.learning._spaces import RANKS
from likewise.server.store import Candidate, Evaluation, Page, Recipe, Verdict

N_ITEMS = len(rows())
HIDDEN = lw.Bilinear(np.diag([4.0, 2.0, 1.0, 0.0, 0.0, 0.0]), "cosine").score(rows(), rows())
NOTHING = Evaluation(0.5, 0.6, 0.01, 30)


def _means(of_live, of_file, of_retrained):
    """Return means of queries, all chosen items being new; the forms are the file and another."""
    live, *forms = (
        np.array([v, np.full(len(v), np.nan), v]) for v in (of_live, of_file, of_retrained)
    )
    return Means(live, np.array(forms)[:, None], None)


@pytest.mark.parametrize(
    ("of_live", "of_file", "passes"),
    [(0.8, 0.5, True), (0.7, 0.5, True), (0.95, 0.5, False), (0.8, 0.79, False)],
)
def test_a_retrained_recipe_beats_the_file_and_keeps_up_with_the_live_version(
    rng, of_live, of_file, passes
):
    noise = 0.1 * rng.normal(size=(3, 40))
    noise -= noise.mean(axis=1, keepdims=True)
    means = _means(of_live + noise[0], of_file + noise[1], 0.8 + noise[2])
    verdict = judge_retrained(means, (1, 0), live=5, test=2)
    assert verdict.passes is passes
    assert (verdict.live, verdict.against, verdict.test) == (5, BASE_VERSION, 2)
    start, learned, _, n = verdict.overall
    np.testing.assert_allclose((start, learned, n), (of_file, 0.8, 40))


def test_random_answers_do_not_retrain(rng):
    passed = [
        judge_retrained(_means(*rng.normal(size=(3, 40))), (1, 0), live=5, test=1).passes
        for _ in range(300)
    ]
    assert np.mean(passed) < 0.05


def test_a_recipe_is_found_among_the_candidates(tmp_path):
    store = filled(tmp_path / "store.sqlite")
    store.append("one", "x", [Page(1, (2, 3), (2,))])
    method = RidgeMethod(forms_of(store))
    pages = journal_pages(store, InitialModel.from_store(store))
    verdict = Verdict(1, NOTHING, NOTHING, NOTHING, 1, 2.5, passes=True)
    for form in range(len(ALPHAS) + len(RANKS)):
        for step in range(len(GAMMAS)):
            recipe = method.candidate(form, step, pages, verdict).recipe
            assert method.place(recipe) == (form, step)
    assert method.place(Recipe("plda", rank=20)) is None  # of an earlier release
    assert method.place(Recipe("aroma")) is None


def _answer(store, n, rng, *, honest):
    """Answer questions about items of which one is more alike, and pairs."""
    for number in range(n):
        query, *shown = rng.choice(N_ITEMS, 3, replace=False).tolist()
        value = HIDDEN[query] if honest else rng.random(N_ITEMS)
        chosen = [item + 1 for item in shown if value[item] > np.quantile(value, 0.65)]
        page = Page(query + 1, tuple(item + 1 for item in shown), tuple(chosen))
        store.append(f"{honest} {number}", "x", [page])


@pytest.mark.parametrize("honest", [True, False])
def test_once_a_version_is_live_answers_judge_its_recipe_only(tmp_path, rng, honest):
    store = filled(tmp_path / "store.sqlite")
    bits = to_bytes(InitialModel.from_store(store).similarity)
    verdict = Verdict(1, NOTHING, NOTHING, NOTHING, 1, 2.5, passes=True)
    recipe = Recipe("plda", rank=RANKS[0])
    store.save_checkpoint(store.checkpoint(), (), Candidate(recipe, verdict, bits))
    _answer(store, 150, rng, honest=honest)
    learn_all(store)
    judged = [version for version in store.versions() if version.number > 2]
    assert judged
    assert all(version.verdict.against == BASE_VERSION for version in judged)
    assert all(version.recipe == recipe for version in judged)
    assert (store.status().live > 2) is honest


def test_a_pair_that_was_judged_is_known_in_both_orders_unless_undone(tmp_path):
    store = filled(tmp_path / "store.sqlite")
    store.append("kept", "x", [Page(1, (2, 3), (2,))])
    store.append("undone", "x", [Page(1, (4, 5), (4,))])
    store.append("vector", "x", [Page(rows()[0].tolist(), (6, 7), (7,))])
    store.undo("undone")
    pairs = PairForm(store)
    start, learned = pairs.contenders(np.random.default_rng(0))
    assert np.array_equal(start.W, InitialModel.from_store(store).similarity.W)
    assert not np.array_equal(start.W, learned.W)
    assert pairs.judged_with(1) == {2, 3}
    assert pairs.judged_with(3) == {1}
    assert pairs.judged_with(4) == pairs.judged_with(6) == set()


@pytest.mark.parametrize(("fall", "passes"), [(-0.02, True), (0.02, False)])
def test_questions_promote_nothing_by_which_the_head_of_the_ranking_falls(
    tmp_path, rng, monkeypatch, fall, passes
):
    """Pages of clicks may lose one standard error, which .02 is below."""
    live = rng.random((3, 40))
    heads = np.stack([np.ones(40), np.ones(40)])
    heads[1] += rng.normal(scale=0.5, size=40)
    heads[1] += 1 - fall - heads[1].mean()
    means = Means(live, (live + 0.5)[None, None], heads)
    monkeypatch.setattr(Learner, "_evaluate", lambda *_: means)
    with closing(filled(tmp_path / "store.sqlite")) as store:
        learner = Learner(store)
        _answer(store, 1, rng, honest=True)
        learner.step()
        pages = learner._journal.pages()
        number, version = learner._live(pages)
        _, verdict = learner._judge(pages, np.arange(len(pages)), number, version, 1)
        assert verdict.passes == passes
        monkeypatch.setattr(type(pages), "questions", lambda *_: np.zeros(0, dtype=int))
        _, verdict = learner._judge(pages, np.arange(len(pages)), number, version, 1)
        assert verdict.passes


def test_answers_with_nothing_to_compare_are_no_test(tmp_path):
    with closing(filled(tmp_path / "store.sqlite")) as store:
        for query in range(1, N_ITEMS):  # all of them are alike
            store.append(str(query), "", [Page(query, (query + 1,), (query + 1,))])
        learn_all(store)
        assert [version.verdict for version in store.versions()] == [None]
