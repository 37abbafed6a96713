"""The map in a real browser: zoom, search, selection and categories."""

import pytest
from tests.server.explorer.visit import LOOKS, READY, Visit

OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
ZOOM = "Number(document.querySelector('canvas.plane').dataset.zoom ?? 1)"


def test_the_map_goes_from_before_to_after_and_shows_items(browser, servers):
    with Visit(browser, servers["wines"], **LOOKS["light"]) as visit:
        page = visit.open("map")
        after = page.locator("canvas.plane").screenshot()
        page.get_by_role("button", name="Before").click()
        assert page.locator("#way").input_value() == "0"
        assert page.locator("canvas.plane").screenshot() != after
        plane = page.locator("canvas.plane")
        plane.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".over .few")
        shown = page.locator(".over b").inner_text()
        page.keyboard.press("Enter")
        page.wait_for_selector(READY["neighbors"])
        assert page.url.endswith(f"#/neighbors/{shown}")
        page = visit.open("map?by=alcohol", "canvas.plane")
        assert "alcohol" in page.locator(".mapped > p").last.inner_text()
        page = visit.open("map", ".kinds")
        assert page.locator(".kinds button").all_inner_texts() == ["first", "second", "third"]
        assert visit.untroubled()


def test_the_wheel_zooms_where_the_pointer_is_and_lets_the_page_scroll_at_the_end(browser, servers):
    with Visit(browser, servers["digits"], **LOOKS["light"]) as visit:
        page = visit.open("map")
        box = page.locator("canvas.plane").bounding_box()
        page.keyboard.press("Tab")
        page.locator("canvas.plane").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".over b")
        page.mouse.move(box["x"] + 200, box["y"] + 150)
        page.mouse.wheel(0, -600)
        visit.until(f"() => {ZOOM} > 2")
        assert page.evaluate("scrollY") == 0
        page.mouse.wheel(0, 2_000)
        visit.until(f"() => {ZOOM} === 1")
        page.mouse.wheel(0, 400)
        visit.until("() => scrollY > 0")
        page.locator("canvas.plane").focus()
        page.keyboard.press("+")
        assert page.evaluate(ZOOM) == pytest.approx(1.6)
        page.keyboard.press("0")
        assert page.evaluate(ZOOM) == 1
        page.get_by_role("button", name="Zoom in").click()
        before = page.locator("canvas.plane").screenshot()
        _drag(page, (300, 200), (420, 260))
        assert page.locator("canvas.plane").screenshot() != before
        page.get_by_role("button", name="Show the whole map").click()
        assert page.evaluate(ZOOM) == 1
        assert visit.untroubled()


def _drag(page, start, end, **given):
    box = page.locator("canvas.plane").bounding_box()
    x, y = box["x"], box["y"]
    page.mouse.move(x + start[0], y + start[1])
    page.mouse.down(**given)
    page.mouse.move(x + end[0], y + end[1], steps=4)
    page.mouse.up()


def test_two_fingers_zoom(browser, servers):
    with Visit(browser, servers["digits"], **LOOKS["phone"], has_touch=True) as visit:
        page = visit.open("map")
        page.locator("canvas.plane").scroll_into_view_if_needed()
        box = page.locator("canvas.plane").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        devtools = visit.context.new_cdp_session(page)

        def touch(kind, apart):
            points = [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
            devtools.send(
                "Input.dispatchTouchEvent",
                {"type": kind, "touchPoints": [] if kind == "touchEnd" else points},
            )

        touch("touchStart", 30)
        for apart in (45, 60, 75, 90):
            touch("touchMove", apart)
        touch("touchEnd", 0)
        visit.until(f"() => {ZOOM} > 2")
        assert page.evaluate(ZOOM) == pytest.approx(3, rel=0.2)
        assert page.evaluate("visualViewport.scale") == 1  # the page has not zoomed
        assert visit.untroubled()


@pytest.mark.parametrize("look", ["light", "phone"])
def test_a_box_selects_items_and_counts_their_labels(browser, servers, look):
    with Visit(browser, servers["digits"], **LOOKS[look]) as visit:
        page = visit.open("map")
        page.get_by_role("button", name="Select").click()
        page.locator("canvas.plane").scroll_into_view_if_needed()
        box = page.locator("canvas.plane").bounding_box()
        whole = (box["width"] - 15, box["height"] - 15)  # its corners are round
        _drag(page, (15, 15), whole)
        assert page.locator(".selection h2").inner_text() == "300 items selected"
        counts = [
            text.split(": ")
            for text in page.locator(".selection .kinds-counted .chip").all_inner_texts()
        ]
        assert sorted(label for label, _ in counts) == list("0123456789")
        assert sum(int(n) for _, n in counts) == 300
        visit.until("() => document.querySelectorAll('.chosen-items img').length === 12")
        assert page.evaluate(OVERFLOW) <= 0
        page.get_by_role("button", name="Clear").click()
        assert page.locator(".selection").count() == 0
        page.get_by_role("button", name="Select").click()
        page.locator("canvas.plane").scroll_into_view_if_needed()
        page.keyboard.down("Shift")
        _drag(page, (15, 15), (whole[0], whole[1] / 2))
        page.keyboard.up("Shift")
        some = int(page.locator(".selection h2").inner_text().split()[0])
        assert 0 < some < 300
        page.locator("canvas.plane").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press(" ")
        page.keyboard.press("Escape")
        changed = int(page.locator(".selection h2").inner_text().split()[0])
        assert abs(changed - some) == 1
        assert visit.untroubled()


def test_an_item_is_found_on_the_map(browser, servers):
    with Visit(browser, servers["digits"], **LOOKS["light"]) as visit:
        page = visit.open("map")
        box = page.get_by_role("combobox", name="Find an item")
        box.fill("digit-123")
        page.wait_for_selector("#found-0 >> text=digit-123")
        box.press("Enter")
        page.wait_for_selector(".over b >> text=digit-123")
        assert page.evaluate(ZOOM) == 4
        assert page.evaluate("document.activeElement.className").startswith("plane")
        assert visit.untroubled()


def test_labels_are_categories_unless_they_are_numbers(servers):
    with servers["digits"].client() as client:
        told = _map(client)
        assert {point["label"] for point in told["points"]} == set("0123456789")
        assert told["numeric"] is False  # texts that look like numbers
    with servers["wines"].client() as client:
        assert _map(client, "alcohol")["numeric"] is True
        assert _map(client, "grower")["numeric"] is False
        assert _map(client, "nothing")["numeric"] is False


def _map(client, by=None):
    path = "/v1/explore/map" + ("" if by is None else f"?by={by}")
    while (told := client._send("GET", path).json())["status"] == "computing":
        pass
    return told


def test_twenty_categories_have_twenty_looks(browser, servers):
    """Kinds that share a color have different shapes, so that all can be told apart."""
    with Visit(browser, servers["digits"], **LOOKS["light"]) as visit:

        def answer(route):
            points = [
                {
                    "id": f"digit-{n:03d}",
                    "before": [n, 0],
                    "after": [n, n % 7],
                    "label": f"0{n % 20}",
                }
                for n in range(200)
            ]
            told = {"status": "ready", "points": points, "numeric": False, "n_items": 200}
            route.fulfill(json={**told, "base_model": 1, "model": 2})

        visit.page.route("**/v1/explore/map*", answer)
        page = visit.open("map", ".kinds")
        keys = page.locator(".kinds canvas").evaluate_all("all => all.map(e => e.toDataURL())")
        assert len(keys) == len(set(keys)) == 20
