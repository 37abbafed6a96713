"""The Teach page for pairs of records: journal, judges, undo, restart, and the page itself."""

import csv
import io
import json

import httpx
import pandas as pd
import pytest
from tests.server.explorer.test_explorer_access import _check
from tests.server.explorer.visit import LOOKS, Visit
from tests.server.running import InProcess

import likewise as lw
from likewise.server import Settings, create_app
from likewise.server.pairs._service import PairService
from likewise.server.store import AlreadyExists, InvalidRequest, NotFound

THINGS = ("Sony Bravia television", "Canon PowerShot camera", "Bose wave radio", "LG wide monitor")


def tables():
    """Return two tables whose records are the same where their numbers are."""
    left, right = [], []
    for n in range(24):
        thing, code = THINGS[n % len(THINGS)], f"KX-{1000 + 37 * n}"
        maker = thing.split()[0]
        left.append({"id": n, "name": f"{thing} {code}", "maker": maker if n % 3 else None})
        told = "refurbished" if n % 4 == 0 else code.replace("-", "")
        right.append({"id": f"r{n}", "name": f"{thing.lower()} black {told}", "maker": maker})
    return pd.DataFrame(left), pd.DataFrame(right)


def new_matcher():
    """Return a matcher whose fits are fast."""
    return lw.Matcher(k=3, learner="logistic")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the paths of a matcher and of its tables."""
    folder = tmp_path_factory.mktemp("pairs")
    frames = tables()
    for frame, name in zip(frames, ("shop", "catalogue"), strict=True):
        frame.to_csv(folder / f"{name}.csv", index=False)
    new_matcher().fit(*frames).save(folder / "matcher.safetensors")
    return folder


def settings_of(files, folder, **given):
    return Settings(
        files / "matcher.safetensors",
        left=files / "shop.csv",
        right=files / "catalogue.csv",
        store=str(folder / "store.sqlite"),
        **given,
    )


def truth(question):
    return question.right_id == f"r{question.left_id}"


def answered(service, n):
    """Answer n questions truthfully, and return them."""
    asked = []
    for _ in range(n):
        question = service.next()
        service.answer(question.key, question.left_id, question.right_id, same=truth(question))
        asked.append(question)
    return asked


def labels_of(service):
    return list(csv.DictReader(io.StringIO(service.export())))


def test_every_fifth_question_judges_and_is_never_learned_from(files, tmp_path):
    service = PairService(settings_of(files, tmp_path))
    asked = answered(service, 20)
    service.next()  # learns
    assert [place for place, q in enumerate(asked) if q.judges] == [4, 9, 14, 19]
    assert len({(q.left_id, q.right_id) for q in asked}) == 20
    labels = service._matcher._tables.labels
    assert labels.judging.sum() == 4
    learned = service._matcher._tables.learned.pairs
    taught = set(zip(learned.left.tolist(), learned.right.tolist(), strict=True))
    rows = {(q.left_id, int(q.right_id[1:])) for q in asked if q.judges}
    assert len(taught) == 16
    assert not taught & rows
    service.stop()


def test_a_judging_answer_leaves_no_trace_in_what_was_learned(files, tmp_path):
    """The intruder: judging answers that are all wrong change no score."""
    found = []
    for name, is_wrong in (("wrong", True), ("right", False)):
        (tmp_path / name).mkdir()
        service = PairService(settings_of(files, tmp_path / name))
        for _ in range(2):
            for question in service._ask():
                same = truth(question) != (is_wrong and question.judges)
                service.answer(question.key, question.left_id, question.right_id, same=same)
            service._learn()
        found.append((service._matcher, [row["label"] for row in labels_of(service)]))
        service.stop()
    (wrong, told), (right, other) = found
    assert told != other
    assert (wrong._scores.uncertainty == right._scores.uncertainty).all()
    assert wrong.judged_ != right.judged_


def test_answers_survive_a_restart_and_are_labels(files, tmp_path):
    service = PairService(settings_of(files, tmp_path))
    asked = answered(service, 13)  # ends within a round
    exported, curve = service.export(), service.progress()["curve"]
    assert [point["answers"] for point in curve] == [10]
    again = PairService(settings_of(files, tmp_path))  # while the other one still has the store
    assert again.export() == exported
    progress = again.progress()
    assert (progress["answers"], progress["judging"], progress["waiting"]) == (13, 2, 0)
    assert [point["answers"] for point in progress["curve"]] == [10, 13]
    assert again.next().left_id is not None
    (tmp_path / "labels.csv").write_text(exported)
    matcher = new_matcher().fit(*tables(), pairs=pd.read_csv(tmp_path / "labels.csv"))
    assert matcher.forecast_ == pytest.approx(again._matcher.forecast_)
    assert matcher.judged_["n"] == 2
    known = {(q.left_id, q.right_id) for q in asked}
    assert not known & {(q.left_id, q.right_id) for q in again._ask()}
    service.stop()
    again.stop()


def test_keys_that_no_store_takes_are_refused(files, tmp_path):
    app = create_app(settings_of(files, tmp_path))
    client = InProcess(app)
    for key in ("learn-\0", "learn-é", "learn- ", ""):
        answer = {"key": key, "left_id": 0, "right_id": "r0", "same": True}
        assert client.post("/v1/pairs/answers", json=answer).status_code == 422
    for path, status in (("learn-%00", 422), ("learn-%C3%A9", 422), ("learn-never", 404)):
        found = client.request("DELETE", f"/v1/pairs/answers/{path}")
        assert found.status_code == status
    app.state.pairs.stop()


def test_head_is_answered_without_a_body(files, tmp_path):
    app = create_app(settings_of(files, tmp_path))
    client = InProcess(app)
    for path in ("/", "/healthz", "/readyz"):
        head = client.request("HEAD", path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == client.get(path).headers["content-length"]
    app.state.pairs.stop()


def test_an_answer_counts_once_and_can_be_taken_back(files, tmp_path):
    service = PairService(settings_of(files, tmp_path))
    first, second = answered(service, 2)
    given = first.key, first.left_id, first.right_id
    before = service.answer(*given, same=truth(first))  # sent again
    assert 0 <= before <= 1
    assert len(labels_of(service)) == 2
    service.undo(first.key)
    with pytest.raises(AlreadyExists):  # sent once more, late
        service.answer(*given, same=truth(first))
    assert [row["right_id"] for row in labels_of(service)] == [second.right_id]
    with pytest.raises(NotFound):
        service.undo("learn-never")
    for key, pair in (("other", (0, "r0")), ("learn-1", (99, "r0")), ("learn-1", (0, "r99"))):
        with pytest.raises(InvalidRequest):
            service.answer(key, *pair, same=True)
    service.stop()


def test_the_last_of_contradicting_answers_counts(files, tmp_path):
    """Two people were asked about a pair: neither learning nor the export stumbles over it."""
    service = PairService(settings_of(files, tmp_path))
    question = service.next()
    pair = str(question.left_id), question.right_id
    service.answer(question.key, *pair, same=True)
    service.answer("learn-other", question.left_id, question.right_id, same=False)
    service._queue.clear()
    service.next()
    (row,) = labels_of(service)
    assert (row["left_id"], row["right_id"], row["label"]) == (*pair, "0")
    assert service._matcher._tables.labels.n_others == 1
    service.stop()


def test_an_undone_answer_is_unlearned(files, tmp_path):
    """Whether it is asked about again or not, the matcher ends as if it had never come."""
    service = PairService(settings_of(files, tmp_path))
    asked = answered(service, 10)
    service.next()
    taught = next(q for q in asked if not q.judges)
    service.undo(taught.key)
    service._queue.clear()
    service.next()
    expected = new_matcher().fit(*tables())
    expected.learn(pd.read_csv(io.StringIO(service.export())))
    assert service._matcher.forecast_ == expected.forecast_
    service.answer("learn-again", taught.left_id, taught.right_id, same=not truth(taught))
    service._learn()
    expected.learn([(taught.left_id, taught.right_id, int(not truth(taught)))])
    assert service._matcher.forecast_ == expected.forecast_
    service.stop()


def test_an_undone_answer_is_erased(files, tmp_path):
    settings = settings_of(files, tmp_path)
    service = PairService(settings)
    first, second = answered(service, 2)
    service.undo(first.key)
    erased, kept, undo = service._store.entries(0)
    assert (erased.key, erased.pages, erased.size) == (first.key, (), 1)
    assert (kept.key, len(kept.pages), undo.undoes) == (second.key, 1, erased.number)
    service._store.undo(second.key)  # as by a server that ended before it erased the answer
    service.stop()
    again = PairService(settings)
    assert [entry.pages for entry in again._store.entries(0)] == [(), (), (), ()]
    with pytest.raises(AlreadyExists, match="taken back"):
        again.answer(second.key, second.left_id, second.right_id, same=True)
    again.stop()


def test_duplicates_are_asked_about_in_one_table(files, tmp_path):
    left, _ = tables()
    left.to_csv(tmp_path / "one.csv", index=False)
    new_matcher().fit(left).save(tmp_path / "one.safetensors")
    settings = Settings(tmp_path / "one.safetensors", left=tmp_path / "one.csv")
    service = PairService(settings)
    question = service.next()
    assert question.left_id != question.right_id
    assert service.record(1, question.right_id)["name"] == left["name"][question.right_id]
    service.answer(question.key, question.left_id, question.right_id, same=False)
    with pytest.raises(InvalidRequest, match="two different records"):
        service.answer("learn-1", 3, "3", same=True)
    service.answer("learn-2", question.right_id, question.left_id, same=True)  # the same pair
    service.stop()
    again = PairService(settings)
    assert len(labels_of(again)) == 1
    again.stop()


def test_bad_input_is_refused_in_a_sentence(files, tmp_path):
    left, right = files / "shop.csv", files / "catalogue.csv"
    model = files / "matcher.safetensors"
    with pytest.raises(ValueError, match=r"right needs left, the table of a matcher\."):
        Settings(model, right=right)
    with pytest.raises(ValueError, match=r"a matcher, which has no items\."):
        Settings(model, items=right, left=left)
    with pytest.raises(ValueError, match=r"no\.csv, but there is no such file\."):
        Settings(model, left=files / "no.csv")
    with pytest.raises(ValueError, match=r"contains a Matcher, which needs --left"):
        create_app(Settings(model, store=str(tmp_path / "none.sqlite")))
    lw.save(lw.Bilinear([1.0, 2.0]), tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match=r"--left needs a matcher, but .* holds a Bilinear\."):
        PairService(Settings(tmp_path / "other.safetensors", left=left))
    service = PairService(settings_of(files, tmp_path))
    answered(service, 1)
    service.stop()
    tables()[0].iloc[:0].to_csv(tmp_path / "empty.csv", index=False)
    with pytest.raises(ValueError, match=r"empty.csv has column names but no rows."):
        PairService(Settings(model, left=tmp_path / "empty.csv", right=right))
    shorter = tables()[0].iloc[[20]]
    shorter.to_csv(tmp_path / "shorter.csv", index=False)
    with pytest.raises(
        ValueError, match=r"whose left_id is .*, but no record has this id. Give the tables"
    ):
        PairService(
            Settings(
                model,
                left=tmp_path / "shorter.csv",
                right=right,
                store=str(tmp_path / "store.sqlite"),
            )
        )
    lw.Matcher(k=2, learner="logistic").fit(*tables()).save(tmp_path / "second.safetensors")
    with pytest.raises(ValueError, match=r"belongs to another model than"):
        PairService(
            Settings(
                tmp_path / "second.safetensors",
                left=left,
                right=right,
                store=str(tmp_path / "store.sqlite"),
            )
        )


SIZES = {
    "wide": {"color_scheme": "light", "viewport": {"width": 1280, "height": 800}},
    "phone": LOOKS["phone"],
}
CELLS = "[...document.querySelectorAll('.fields > div')].map((e) => e.innerText)"
FITS = """() => {
  const buttons = [...document.querySelectorAll('.verdicts button')];
  const inView = (e) => e.getBoundingClientRect().bottom <= innerHeight;
  return document.documentElement.scrollWidth <= innerWidth && buttons.every(inView);
}"""


@pytest.mark.parametrize("size", SIZES)
def test_the_page_asks_marks_and_tells_only_after_the_answer(
    browser, zygote, files, tmp_path, size
):
    store = str(tmp_path / "store.sqlite")
    given = {"left": files / "shop.csv", "right": files / "catalogue.csv", "store": store}
    model = files / "matcher.safetensors"
    with (
        zygote.server(model, None, **given) as server,
        Visit(browser, server, **SIZES[size]) as visit,
    ):
        page = visit.page
        page.goto(server.address)
        page.wait_for_selector(".verdicts")
        page.wait_for_selector(".tiles")
        assert page.evaluate(FITS)
        assert "%" not in page.locator(".stage, .told").all_inner_texts()[0]
        _check(page, "pairs")
        _right_words_are_marked(page, *tables())
        question = page.evaluate(CELLS)
        _press(visit, "y", r"Noted: the same. The matcher gave \d+ % for the same")
        second = page.evaluate(CELLS)
        _press(visit, "u", "Undone: the same")
        assert page.evaluate(CELLS) == question
        _press(visit, "n", "Noted: different")
        assert page.evaluate(CELLS) == second
        _press(visit, "s", "Skipped")
        for n in range(8):
            _press(visit, "yn"[n % 2], f"Noted: {('the same', 'different')[n % 2]}")
        page.wait_for_selector(".chart")
        visit.until("() => document.querySelector('.tile .figure').textContent === '9'")
        assert "judged" in page.locator(".legend").inner_text()
        assert page.evaluate(FITS)
        _check(page, "pairs, after ten")
        with page.expect_download() as download:
            page.get_by_role("button", name="CSV").click()
        rows = list(csv.DictReader(download.value.path().read_text().splitlines()))
        assert list(rows[0]) == ["left_id", "right_id", "label", "judge"]
        assert len(rows) == 9
        assert visit.untroubled()
        server.kill()
    with zygote.server(model, None, **given) as server:
        again = httpx.get(f"{server.address}/v1/pairs/export").text
        assert list(csv.DictReader(io.StringIO(again))) == rows
        assert json.loads(httpx.get(f"{server.address}/readyz").text) == {"status": "ok"}


def _press(visit, key, told):
    """Press a key, and wait until the page says so and shows the next question."""
    visit.page.evaluate("document.querySelector('.told').textContent = ''")
    visit.page.keyboard.press(key)
    visit.until(
        "told => new RegExp(told).test(document.querySelector('.told').textContent)"
        " && !document.querySelector('.stage[aria-busy]')",
        told,
    )


def _right_words_are_marked(page, left, right):
    """Words of one cell alone are marked, words of both are plain, and missing cells say so."""
    first, second = page.locator(".heads dd").all_inner_texts()
    one = left.set_index("id").loc[int(first.removeprefix("shop "))]
    other = right.set_index("id").loc[second.removeprefix("catalogue ")]
    marked = page.locator(".fields > div:nth-child(2) dd.left mark").all_inner_texts()
    words = other["name"].lower().split()
    assert marked == [word for word in one["name"].split() if word.lower() not in words]
    missing = page.locator(".fields > div:nth-child(3) dd.left.missing").count()
    assert missing == int(pd.isna(one["maker"]))
