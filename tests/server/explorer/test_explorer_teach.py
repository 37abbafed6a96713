"""The Teach page in a real browser: texts in view, answers of every kind, the goal."""

import re

import pytest
from tests.server.explorer.visit import LOOKS, Visit

OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
BOXES = """all => all.filter(e => e.checkVisibility()).map(e => {
  const box = e.getBoundingClientRect();
  return [box.left, box.top, box.right, box.bottom];
})"""


@pytest.mark.parametrize("look", ["light", "phone"])
@pytest.mark.parametrize("name", ["abstracts", "digits"])
def test_the_whole_question_is_in_view(browser, servers, name, look):
    with Visit(browser, servers[name], **LOOKS[look]) as visit:
        page = visit.open("teach")
        visit.until("() => document.querySelector('.goal p')")
        size = LOOKS[look]["viewport"]
        assert page.evaluate(OVERFLOW) <= 0
        parts = ".stage .query, .stage .choice, .stage .pick, .toolbar.answers button"
        boxes = page.locator(parts).evaluate_all(BOXES)
        assert len(boxes) == 9  # a query, two candidates and their buttons, and four more
        for left, top, right, bottom in boxes:
            assert 0 <= left < right <= size["width"]
            assert 0 <= top < bottom <= size["height"]
        side = page.locator("aside").bounding_box()
        for _, _, right, bottom in boxes:
            assert right <= side["x"] or bottom <= side["y"]
        assert visit.untroubled()


@pytest.mark.parametrize("look", ["light", "phone"])
def test_a_long_text_has_three_lines_and_more(browser, servers, look):
    with (
        Visit(browser, servers["abstracts"], **LOOKS[look]) as visit,
        servers["abstracts"].client() as client,
    ):
        page = visit.open("teach")
        question = client.teach_next()
        assert question.left.kind == "text"
        assert question.left.title
        assert set(question.left.row) == {"about"}
        texts = page.locator(".stage blockquote")
        lines = "e => e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight)"
        assert [round(text.evaluate(lines)) for text in texts.all()] == [3, 3, 3]
        assert page.locator(".stage .chip").count() == 3
        more = page.locator(".choice.left .unfold")
        more.click()
        assert more.get_attribute("aria-expanded") == "true"
        cut = "e => e.scrollHeight > e.clientHeight + 1 && getComputedStyle(e).overflowY !== 'auto'"
        assert not texts.nth(1).evaluate(cut)
        assert texts.nth(1).evaluate(lines) > 3
        assert page.locator(".told").inner_text().startswith("Press")  # it was not an answer
        more.click()
        assert round(texts.nth(1).evaluate(lines)) == 3
        assert page.evaluate(OVERFLOW) <= 0


def test_marked_words_are_shared_by_one_candidate_only(browser, servers):
    with Visit(browser, servers["abstracts"], **LOOKS["light"]) as visit:
        page = visit.open("teach")
        query, left, right = (
            _words(face) for face in page.locator(".stage .query, .stage .choice .face").all()
        )
        n_marked = 0
        for side, own, other in (("left", left, right), ("right", right, left)):
            for word in page.locator(f".choice.{side} mark").all_inner_texts():
                n_marked += 1
                assert word.casefold() in query & own - other
        assert n_marked > 0


def _words(face):
    """Return the words of a title and its text, without the label beside them."""
    text = " ".join(face.locator(".title, .clamped").all_inner_texts())
    return set(re.findall(r"[^\W_]+(?:['’.-][^\W_]+)*", text.casefold()))


def _told(visit, act):
    """Act, wait for what is said about it, and return that."""
    visit.page.evaluate("document.querySelector('.told').textContent = ''")
    act()
    visit.until(
        "() => document.querySelector('.told').textContent !== ''"
        " && !document.querySelector('.stage[aria-busy]')"
    )
    return visit.page.locator(".told").inner_text()


def _press(visit, key):
    return _told(visit, lambda: visit.page.keyboard.press(key))


def _shows(visit, answers):
    visit.until(
        "n => parseInt(document.querySelector('.goal .count')?.textContent) === n"
        " && document.querySelector('.teach .figure')?.textContent === String(n)"
        " && document.querySelector('#pulse').textContent.includes(` ${n} answer`)",
        answers,
    )


def test_ten_comparisons_are_taught_by_keyboard_and_one_is_undone(browser, servers):
    with (
        Visit(browser, servers["digits"], **LOOKS["light"]) as visit,
        servers["digits"].client() as client,
    ):
        page = visit.open("teach")
        before = client.teach_goal().answers
        kept = len(client.export().splitlines())
        for n in range(10):
            _press(visit, "ArrowLeft" if n % 2 else "ArrowRight")
        assert client.teach_goal().answers == before + 10
        last = client.export().splitlines()[-1]
        asked = _press(visit, "s")
        assert "Skipped" in asked
        assert client.teach_goal().answers == before + 10
        said = _press(visit, "u")
        assert "Undone: left" in said
        rows = client.export().splitlines()
        assert len(rows) == kept + 9
        assert last not in rows
        # The question is asked again, and can be answered the other way.
        query, closer, farther = last.split(",")[:3]
        pictures = page.locator(".stage img").evaluate_all("all => all.map(i => i.alt)")
        assert pictures == [f"image {name}" for name in (query, closer, farther)]
        _press(visit, "ArrowRight")
        assert client.export().splitlines()[-1].split(",")[:3] == [query, farther, closer]
        client.wait()
        _shows(visit, before + 10)  # without the one that was undone
        assert page.locator("aside .chart").count() == 1
        assert visit.untroubled()


def test_both_and_neither_are_pairs_and_an_undo_updates_the_count(browser, servers):
    with (
        Visit(browser, servers["digits"], **LOOKS["light"]) as visit,
        servers["digits"].client() as client,
    ):
        page = visit.open("teach")
        before, known = client.teach_goal().answers, client.export(kind="pairs").splitlines()
        _shows(visit, before)
        asked = page.locator(".stage img").evaluate_all("all => all.map(i => i.alt.slice(6))")
        assert "Noted: both" in _press(visit, "b")
        assert "Noted: neither" in _told(
            visit, page.get_by_role("button", name="Neither", exact=False).click
        )
        _shows(visit, before + 2)
        rows = [line.split(",")[:3] for line in client.export(kind="pairs").splitlines()]
        new = rows[len(known) :]
        assert new[:2] == [[asked[0], asked[1], "1"], [asked[0], asked[2], "1"]]
        assert [label for *_, label in new[2:]] == ["0", "0"]
        _press(visit, "u")
        _press(visit, "u")
        _shows(visit, before)
        assert client.export(kind="pairs").splitlines() == known
        pictures = page.locator(".stage img").evaluate_all("all => all.map(i => i.alt.slice(6))")
        assert pictures == asked
        assert visit.untroubled()


@pytest.mark.parametrize("name", ["digits", "wines", "abstracts"])
def test_pairs_are_asked_and_answered_by_keyboard(browser, servers, name):
    with (
        Visit(browser, servers[name], **LOOKS["phone"]) as visit,
        servers[name].client() as client,
    ):
        page = visit.open("teach")
        page.get_by_label("Ask").focus()
        page.get_by_label("Ask").dispatch_event("pointerdown")
        page.get_by_label("Ask").select_option("pair informative")
        page.wait_for_selector("h2:has-text('Are these the same?')")
        assert page.evaluate(OVERFLOW) <= 0
        assert not page.get_by_role("button", name="Both").is_visible()
        known = len(client.export(kind="pairs").splitlines())
        assert "Noted: same" in _press(visit, "y")
        assert "Noted: different" in _press(visit, "n")
        rows = client.export(kind="pairs").splitlines()[known:]
        assert [row.split(",")[2] for row in rows] == ["1", "0"]
        verdicts = page.locator(".verdicts button").evaluate_all(BOXES)
        assert all(0 < bottom <= 844 for *_, bottom in verdicts)
        _press(visit, "u")
        _press(visit, "u")
        assert len(client.export(kind="pairs").splitlines()) == known
        assert visit.untroubled()


def test_the_goal_says_how_many_answers_and_how_long(browser, zygote, tmp_path):
    from tests.server.explorer.sets import serving, write_set

    write_set("wines", tmp_path)
    with (
        serving(zygote, "wines", tmp_path) as server,
        Visit(browser, server, **LOOKS["light"]) as visit,
    ):
        page = visit.open("teach")
        said = "document.querySelector('.goal p')?.textContent"
        visit.until(f"() => {said} !== undefined")
        assert page.evaluate(said) == (
            "0 answers given. About 20 more answers until versions can be evaluated, 2 minutes at "
            "a usual pace."
        )
        for n in range(3):
            _press(visit, "ArrowLeft")
            _shows(visit, n + 1)
        told = page.evaluate(said)
        assert told.startswith("3 answers given. About 17 more answers until")
        assert told.endswith("at your pace.")


def test_a_learner_of_comparisons_only_does_not_ask_about_pairs(browser, zygote, tmp_path):
    from tests.server.explorer.sets import serving, write_set

    write_set("wines", tmp_path)
    with (
        serving(zygote, "wines", tmp_path, learner="aroma") as server,
        Visit(browser, server, **LOOKS["light"]) as visit,
    ):
        page = visit.open("teach")
        assert page.get_by_role("button", name="Both").count() == 0
        assert page.get_by_label("Ask").locator("option").count() == 2
        page.keyboard.press("n")
        assert page.locator(".told").inner_text().startswith("Press")
