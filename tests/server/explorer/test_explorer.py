"""The explorer in a real browser, on a real server of images, texts and rows."""

import posixpath
import re
from pathlib import PurePosixPath

import pytest
from tests.server.explorer.sets import SETS, TOKEN, promote_learned, serving, teach, write_set
from tests.server.explorer.visit import LOOKS, PAGES, READY, SHOWN, Visit
from tests.server.running import web_files

OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
HOSTILE = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


@pytest.mark.parametrize(("name", "look"), SHOWN)
def test_every_page_opens_without_a_message_and_fits(browser, servers, name, look):
    with Visit(browser, servers[name], **LOOKS[look]) as visit:
        for route in PAGES:
            page = visit.open(route)
            visit.until("() => !document.querySelector('.waiting')")
            assert page.locator("h1").inner_text().lower() == route
            assert page.locator("nav a[aria-current=page]").inner_text().lower() == route
            assert page.evaluate(OVERFLOW) <= 0, route
        assert visit.troubles == []
        assert visit.asked_elsewhere() == []


def test_each_kind_is_shown_as_what_it_is(browser, servers):
    expected = {
        "digits": ".near .picture.pixels",
        "sentences": ".near .said",
        "wines": ".near .few",
    }
    for name, what in expected.items():
        with Visit(browser, servers[name], **LOOKS["light"]) as visit:
            page = visit.open("neighbors")
            assert page.locator(what).count() == 20, name
    with Visit(browser, servers["digits"], **LOOKS["light"]) as visit:
        widths = "[...document.querySelectorAll('.near img')].map(image => image.naturalWidth)"
        assert set(visit.open("neighbors").evaluate(widths)) == {8}


def test_neighbors_say_what_moved_and_the_server_agrees(browser, servers):
    with (
        Visit(browser, servers["digits"], **LOOKS["light"]) as visit,
        servers["digits"].client() as client,
    ):
        page = visit.open("neighbors/digit-003")
        version = client.models().live
        expected = [m.id for m in client.search(id="digit-003", k=10).matches]
        assert page.locator(".side.after .near .name").all_inner_texts() == expected
        base = [m.id for m in client.search(id="digit-003", k=10, version=1).matches]
        assert page.locator(".side.before .near .name").all_inner_texts() == base
        assert f"version {version}" in page.locator(".side.after h2").inner_text()
        fresh = page.locator(".side.after .move.new")
        assert fresh.count() == len(set(expected) - set(base)) > 0
        first = fresh.first.locator("xpath=..").get_attribute("data-item")
        rank = int(fresh.first.inner_text().split()[-1])
        everyone = [m.id for m in client.search(id="digit-003", k=299, version=1).matches]
        assert everyone[rank - 1] == first
        assert page.locator(".links path").count() == len(set(expected) & set(base))


@pytest.mark.parametrize("name", SETS)
def test_why_shows_terms_that_sum_to_the_scores(browser, servers, name):
    with Visit(browser, servers[name], **LOOKS["light"]) as visit:
        page = visit.open("neighbors")
        asks = page.locator(".side.after .near button").first
        asks.click()
        page.wait_for_selector(".why")
        assert asks.get_attribute("aria-expanded") == "true"
        scores = [_number(b) for b in page.locator(".why > p b").all_inner_texts()]
        rows = page.locator(".why .bars tbody tr").all()
        assert len(rows) == 9
        for column, score in enumerate(scores):
            cells = [r.locator("td.number").nth(column).inner_text() for r in rows]
            assert sum(_number(cell) for cell in cells if cell != "–") == pytest.approx(
                score, abs=0.006
            )
        assert visit.untroubled()


def _number(text):
    return float(text.replace("−", "-"))


def test_an_item_is_found_by_typing_and_by_keyboard_alone(browser, servers):
    with Visit(browser, servers["digits"], **LOOKS["light"]) as visit:
        page = visit.open("neighbors")
        box = page.get_by_role("combobox", name="Find an item")
        box.fill("digit-21")
        page.wait_for_selector("#found-7 >> text=digit-217")
        texts = page.locator(".found .name").all_inner_texts()
        assert texts == [f"digit-21{i}" for i in range(8)]
        box.press("ArrowDown")
        box.press("ArrowDown")
        assert box.get_attribute("aria-activedescendant") == "found-1"
        box.press("Enter")
        page.wait_for_selector("h2:has-text('digit-211')")
        assert page.url.endswith("#/neighbors/digit-211")
        page.get_by_role("combobox", name="Find an item").fill("no such thing")
        page.wait_for_selector(".found >> text=No item")
        page.get_by_role("button", name="Random item").click()
        page.wait_for_selector(".near")
        assert visit.untroubled()


def test_a_text_of_ones_own_finds_neighbors(browser, servers):
    words = "petal and sepal of the iris?"
    with (
        Visit(browser, servers["sentences"], **LOOKS["light"]) as visit,
        servers["sentences"].client() as client,
    ):
        page = visit.open("neighbors")
        page.get_by_role("combobox", name="Find an item").fill(words)
        page.get_by_role("button", name="Search by this text").click()
        page.wait_for_selector("h2:has-text('Your text')")
        assert page.locator(".asked blockquote").inner_text() == words
        for which, version in (("before", 1), ("after", None)):
            found = [m.id for m in client.search(text=words, version=version).matches]
            page.wait_for_selector(".near")
            assert page.locator(f".side.{which} .near .name").all_inner_texts() == found
        page.locator(".near button").first.click()
        page.wait_for_selector(".why")
        assert visit.untroubled()


def test_the_answers_are_saved_as_a_file(browser, servers):
    with Visit(browser, servers["wines"], **LOOKS["light"]) as visit:
        page = visit.open("teach")
        with page.expect_download() as waiting:
            page.get_by_role("button", name="CSV").click()
        assert waiting.value.suggested_filename == "triplets.csv"
        with open(waiting.value.path()) as file:
            assert file.readline().startswith("query,closer,farther")


def test_a_version_is_promoted_and_rolled_back_after_a_confirmation(browser, servers):
    with (
        Visit(browser, servers["sentences"], **LOOKS["light"]) as visit,
        servers["sentences"].client() as client,
    ):
        page = visit.open("models")
        live = client.models().live
        other = next(m.version for m in client.models().models if m.status == "rejected")
        row = page.locator(f"tr[data-version='{other}']").inner_text()
        assert "not clearly better" in row  # its mean may be higher than that of the live version
        page.get_by_role("button", name=f"Promote version {other}", exact=True).click()
        page.get_by_role("button", name="Cancel").click()
        assert client.models().live == live
        page.get_by_role("button", name=f"Promote version {other}", exact=True).click()
        page.locator("dialog button.main").click()
        page.wait_for_selector(f"tr.live[data-version='{other}']")
        assert client.models().live == other
        page.get_by_role("button", name="Roll back to version 1", exact=True).click()
        page.locator("dialog button.main").click()
        page.wait_for_selector("tr.live[data-version='1']")
        assert (client.models().live, client.models().gate) == (1, "held")
        page.get_by_role("button", name="Open the gate").click()
        page.locator("dialog button.main").click()
        page.wait_for_selector(".gate >> text=gate open")
        assert (client.models().live, client.models().gate) == (1, "open")
        assert visit.untroubled()


def test_what_was_lost_comes_first_by_how_much_and_opens_neighbors(browser, servers):
    with (
        Visit(browser, servers["sentences"], **LOOKS["light"]) as visit,
        servers["sentences"].client() as client,
    ):
        version = promote_learned(servers["sentences"])
        page = visit.open("quality")
        page.wait_for_selector(".triplet")
        standing = client._send("GET", "/v1/explore/quality").json()["standing"]
        rows = page.locator(".standing tbody tr").all()
        assert [row.locator("th").inner_text().split()[0] for row in rows] == [
            kind for kind in ("overall", "seen", "new") if standing[kind]["n"]
        ]
        assert page.locator(".standing .chart .mark.after").count() == len(rows)
        assert f"Version {version}" in page.locator(".standing thead").inner_text()
        told = page.locator(".triplet .margin").all_inner_texts()
        assert told
        link = page.locator(".triplet").first
        target = link.get_attribute("href")
        link.click()
        page.wait_for_selector(READY["neighbors"])
        assert page.url.endswith(target)
        assert visit.untroubled()


def test_a_token_is_asked_for_once_and_sent_as_a_header(browser, zygote, tmp_path):
    frame, label = write_set("wines", tmp_path)
    with (
        serving(zygote, "wines", tmp_path, token=TOKEN) as server,
        Visit(browser, server, **LOOKS["light"]) as visit,
    ):
        teach(server, frame, label, 20, token=TOKEN)
        page = visit.page
        page.goto(f"{server.address}/#/models")
        page.get_by_label("Token of the server").fill("wrong-but-long-enough")
        page.get_by_role("button", name="Continue").click()
        page.wait_for_selector("text=That was not the token")
        page.get_by_label("Token of the server").fill(TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector(READY["models"])
        refused = len(visit.troubles)
        for route in PAGES:
            visit.open(route)
        assert len(visit.troubles) == refused
        assert page.locator("dialog").count() == 0
        assert not any(TOKEN in url for url in visit.asked)


def test_what_the_server_refuses_is_said_in_a_sentence(browser, servers):
    refusals = [
        (429, "too many feedback requests; try again."),
        (409, "that key was used for something else."),
    ]
    refusal = None

    def answer(route):
        if refusal is not None and route.request.method == "POST":
            status, sentence = refusal
            route.fulfill(status=status, json={"error": sentence})
        else:
            route.continue_()

    with Visit(browser, servers["wines"], **LOOKS["light"]) as visit:
        visit.page.route("**/v1/feedback", answer)
        page = visit.open("neighbors/nobody", ".notice.bad")
        assert "nobody" in page.locator(".notice.bad").inner_text()
        for refusal in refusals:
            page = visit.open("teach")
            page.keyboard.press("ArrowLeft")
            page.wait_for_selector(".notice.bad")
            assert refusal[1][1:] in page.locator(".notice.bad").inner_text()
            refusal = None
            page.keyboard.press("ArrowLeft")  # the same answer, under the same key
            page.wait_for_selector(".notice.bad", state="detached")
            visit.open("models")


def test_a_server_that_cannot_be_reached_is_said_in_a_sentence(browser, servers):
    is_away = False

    def answer(route):
        if is_away:
            route.abort()
        else:
            route.continue_()

    with Visit(browser, servers["wines"], **LOOKS["light"]) as visit:
        visit.page.route("**/v1/**", answer)
        visit.open("models")
        is_away = True
        page = visit.open("quality", ".notice.bad")
        assert "cannot be reached" in page.locator(".notice.bad").inner_text()


def test_a_model_that_cannot_learn_says_why(browser, zygote, flowers, tmp_path):
    model, items, store = flowers / "ready.safetensors", flowers / "items.parquet", tmp_path / "s"
    with (
        zygote.server(model, items, store=store) as server,
        Visit(browser, server, **LOOKS["light"]) as visit,
    ):
        page = visit.open("teach", ".notice")
        assert "Bilinear" in page.locator(".notice").inner_text()
        for route in ("neighbors", "quality", "models", "map"):
            visit.open(route)
        assert visit.untroubled()


def test_hostile_items_stay_text(browser, zygote, tmp_path):
    write_set("sentences", tmp_path)
    row = {"text": HOSTILE, "about": HOSTILE}
    with (
        serving(zygote, "sentences", tmp_path) as server,
        server.client() as client,
        Visit(browser, server, **LOOKS["phone"]) as visit,
    ):
        client.add_items([{"id": HOSTILE, "row": row}, {"id": "../x/?y#z", "row": row}])
        for route in (*PAGES, "neighbors/..%2Fx%2F%3Fy%23z"):
            page = visit.open(route)
        assert page.locator("h2").first.inner_text().startswith("../x/?y#z")
        box = page.get_by_role("combobox", name="Find an item")
        box.fill("onerror")
        box.press("Enter")  # at once: what is taken was searched for, not what was listed before
        visit.until("() => decodeURIComponent(location.hash).includes('<script>')")
        page.wait_for_selector(READY["neighbors"])
        assert HOSTILE in page.locator(".asked").inner_text()
        assert page.evaluate("typeof window.hacked") == "undefined"
        assert page.evaluate(OVERFLOW) <= 0
        assert visit.untroubled()


def test_a_long_id_leaves_room_for_its_label(browser, zygote, tmp_path):
    write_set("sentences", tmp_path)
    name, row = "y" * 200, {"text": "A sentence.", "about": "unique label"}
    with (
        serving(zygote, "sentences", tmp_path) as server,
        server.client() as client,
        Visit(browser, server, **LOOKS["phone"]) as visit,
    ):
        client.add_items([{"id": name, "row": row}])
        page = visit.open(f"neighbors/{name}")
        assert page.locator(".asked .chip").bounding_box()["height"] < 30  # one line
        assert page.evaluate(OVERFLOW) <= 0


def test_no_script_reads_markup_or_code_from_text():
    ways = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc"
    for name, text in web_files().items():
        assert not re.search(ways, text), name
        if name.endswith(".html"):
            assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|<style|\son\w+=", text), name
        assert not re.search(r"https?://(?!www\.w3\.org/)", text), name


def test_every_file_that_a_page_names_is_served():
    served = web_files()
    for name, text in served.items():
        folder = "/" if name.endswith(".html") else PurePosixPath("/web", name).parent
        named = re.findall(r'(?:from|import) "(\.[^"]+)"', text)
        named += re.findall(r'(?:href|src)="(web/[^"]+)"', text)
        for other in named:
            path = posixpath.normpath(posixpath.join(folder, other)).removeprefix("/web/")
            assert path in served, (name, other)
    assert {"index.html", "reference.html", "app.js", "pages/teach.js"} <= served.keys()
