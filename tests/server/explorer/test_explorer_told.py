"""What pages say, where a careless sentence would contradict itself."""

import pandas as pd
from tests.server.explorer.sets import serving, write_set
from tests.server.explorer.visit import LOOKS, Visit

OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"


def _with(page, path, change):
    """Change what the server answers to a page that is not open yet."""

    def answer(route):
        told = route.fetch().json()
        route.fulfill(json=change(told))

    page.route(path, answer)


def test_losses_that_cannot_be_shown_are_not_called_nothing(browser, servers):
    with Visit(browser, servers["digits"], **LOOKS["light"]) as visit:
        _with(
            visit.page,
            "**/v1/explore/quality",
            lambda told: told | {"n_lost": 3, "lost": [], "n_won": 0, "won": []},
        )
        page = visit.open("quality")
        visit.until("() => !document.querySelector('.outcomes').textContent.includes('Measuring')")
        lost, won = page.locator(".outcomes section").all()
        assert lost.locator(".chip").inner_text() == "3"
        assert "Nothing" not in lost.inner_text()
        assert "They cannot be shown" in lost.inner_text()
        assert "Nothing was won yet." in won.inner_text()


def test_both_sides_of_a_canary_are_shown(browser, servers):
    arm = {"version": 3, "searches": 1200, "pages": 80, "clicks": 95, "mrr": 0.5, "error": 0.025}
    none = {"version": None, "searches": 130, "pages": 0, "clicks": 0, "mrr": None, "error": None}
    canary = {"share": 0.1, "live": arm, "candidate": none}
    with Visit(browser, servers["digits"], **LOOKS["phone"]) as visit:
        assert visit.open("quality").locator(".canary").count() == 0
    with Visit(browser, servers["digits"], **LOOKS["phone"]) as visit:
        _with(visit.page, "**/v1/explore/quality", lambda told: told | {"canary": canary})
        page = visit.open("quality", ".canary")
        assert "10 %" in page.locator(".canary h2").inner_text()
        rows = page.locator(".canary tbody tr").all_inner_texts()
        assert "1,200" in rows[0]
        assert "0.500 ± 0.025" in rows[0]
        assert rows[1].rstrip().endswith("–")
        assert page.evaluate(OVERFLOW) <= 0


def test_labels_that_no_two_items_share_are_not_counted(browser, servers, zygote, tmp_path):
    with Visit(browser, servers["abstracts"], **LOOKS["light"]) as visit:
        assert "Of the same label" in visit.open("neighbors").locator(".gist").inner_text()
    write_set("abstracts", tmp_path)
    with (
        serving(zygote, "abstracts", tmp_path, label="title") as server,
        Visit(browser, server, **LOOKS["light"]) as visit,
    ):
        assert "label" not in visit.open("neighbors").locator(".gist").inner_text()


def test_a_phone_shows_before_or_after(browser, servers):
    with Visit(browser, servers["sentences"], **LOOKS["phone"]) as visit:
        page = visit.open("neighbors")
        assert page.locator(".side.after").is_visible()
        assert not page.locator(".side.before").is_visible()
        for route in ("quality", "map", "models", "neighbors"):
            page = visit.open(route)
            visit.until("() => !document.querySelector('.waiting')")
            assert page.evaluate("document.documentElement.scrollHeight") < 2_700, route
        page.get_by_role("button", name="Before", exact=True).click()
        assert page.locator(".side.before").is_visible()
        assert not page.locator(".side.after").is_visible()
    with Visit(browser, servers["sentences"], **LOOKS["light"]) as visit:
        page = visit.open("neighbors")
        assert page.locator(".side.before").is_visible()
        assert page.locator(".side.after").is_visible()
        assert not page.locator(".toggles").is_visible()


def test_why_names_the_columns_after_a_restart_without_the_table(browser, zygote, tmp_path):
    frame, _ = write_set("wines", tmp_path)
    import likewise as lw

    frame = pd.DataFrame(frame.drop(columns="grower"))
    frame.to_parquet(tmp_path / "plain.parquet", index=False)
    lw.save(lw.Bilinear(1.0, "cosine"), tmp_path / "plain.safetensors")
    model, items = tmp_path / "plain.safetensors", tmp_path / "plain.parquet"
    for given in (items, None):
        with (
            zygote.server(model, given) as server,
            Visit(browser, server, **LOOKS["light"]) as visit,
        ):
            page = visit.open("neighbors")
            page.locator(".side.after .near button").first.click()
            page.wait_for_selector(".why")
            names = page.locator(".why .bars tbody th").all_inner_texts()
            assert set(names) - {"all others"} <= set(frame.columns)
            assert "proline" in names


def test_the_search_box_lists_items_on_one_line_each(browser, servers):
    for name in ("abstracts", "wines", "digits"):
        with Visit(browser, servers[name], **LOOKS["phone"]) as visit:
            page = visit.open("neighbors")
            page.get_by_role("combobox", name="Find an item").focus()
            page.wait_for_selector("#found-0")
            heights = page.locator(".found [role=option]").evaluate_all(
                "all => all.map(e => e.getBoundingClientRect().height)"
            )
            assert max(heights) < 50, name
            assert page.evaluate(OVERFLOW) <= 0
            box = page.locator(".found").bounding_box()
            assert box["x"] + box["width"] <= 390
            page.keyboard.press("Escape")
            assert not page.locator(".found").is_visible()


def test_why_shows_all_numbers_on_a_phone(browser, servers):
    with Visit(browser, servers["wines"], **LOOKS["phone"]) as visit:
        page = visit.open("neighbors")
        page.locator(".side.after .near button").first.click()
        page.wait_for_selector(".why .bars")
        assert (
            page.evaluate(
                "(() => { const e = document.querySelector('.why .scroll');"
                " return e.scrollWidth - e.clientWidth; })()"
            )
            <= 0
        )
