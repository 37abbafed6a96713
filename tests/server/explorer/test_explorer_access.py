"""Accessibility of the explorer: keyboard, screen reader, contrast."""

import re
from importlib.resources import files
from itertools import pairwise

import pytest
from tests.server.explorer.visit import LOOKS, PAGES, READY, Visit

NAMELESS = """() => [...document.querySelectorAll(
    'input, select, textarea, button, a[href], summary, [tabindex="0"]')]
  .filter((e) => e.checkVisibility())
  .filter((e) => !(e.ariaLabel || e.textContent.trim() || e.labels?.length
    || e.getAttribute('aria-labelledby') || e.querySelector('img[alt]:not([alt=""])')))
  .map((e) => e.outerHTML.slice(0, 200))"""

UNLABELLED = """() => [...document.querySelectorAll('input, select, textarea')]
  .filter((e) => !e.labels?.length && !e.ariaLabel).map((e) => e.outerHTML)"""

HEADINGS = """() => [...document.querySelectorAll('h1, h2, h3, h4')]
  .filter((e) => e.checkVisibility()).map((e) => Number(e.tagName[1]))"""

BROKEN = """() => {
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  const told = ['aria-controls', 'aria-labelledby', 'aria-describedby', 'for'];
  const wanted = told.flatMap((name) => [...document.querySelectorAll(`[${name}]`)]
    .flatMap((e) => e.getAttribute(name).split(' ')));
  return [...ids.filter((id, place) => ids.indexOf(id) !== place),
    ...wanted.filter((id) => !ids.includes(id)),
    ...[...document.querySelectorAll('img:not([alt])')].map((e) => e.outerHTML),
    ...[...document.querySelectorAll('[tabindex]')].filter((e) => e.tabIndex > 0)
      .map((e) => e.outerHTML)];
}"""

# WCAG's contrast of every text that is seen, against the first ground that is not transparent.
FAINT = """() => {
  const parse = (text) => {
    const mixed = /^color\\(srgb/.test(text);
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return mixed ? [255 * r, 255 * g, 255 * b, a] : [r, g, b, a];
  };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, place) => sum + c * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (e) => {
    for (let one = e; one; one = one.parentElement) {
      const color = parse(getComputedStyle(one).backgroundColor);
      if (color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const faint = [], exempt = '.unseen, :disabled, option, noscript, .skip';
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement, text = walker.currentNode.data.trim();
    if (!text || !e.checkVisibility() || e.closest(exempt)) continue;
    const style = getComputedStyle(e), size = parseFloat(style.fontSize);
    const ink = parse(e.namespaceURI.endsWith('svg') ? style.fill : style.color);
    const [a, b] = [light(ink), light(ground(e))].sort((x, y) => y - x);
    const large = size >= 24 || (size >= 18.7 && style.fontWeight >= 700);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < (large ? 3 : 4.5)) faint.push([text.slice(0, 40), contrast.toFixed(2)]);
  }
  return faint;
}"""

FOCUSED = """() => {
  const e = document.activeElement, style = getComputedStyle(e);
  const seen = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
  return [e.tagName, e.className, e.textContent.trim().slice(0, 30), seen];
}"""


@pytest.mark.parametrize("look", LOOKS)
def test_everything_is_named_ordered_and_easy_to_read(browser, servers, look):
    with Visit(browser, servers["digits"], **LOOKS[look]) as visit:
        for route in PAGES:
            _check(visit.open(route), route)
        page = visit.open("neighbors")
        page.locator(".side.after .near button").first.click()
        page.wait_for_selector(".why")
        page.get_by_role("combobox", name="Find an item").focus()
        page.wait_for_selector(".found li")
        _check(page, "neighbors, explained")
        page.goto(f"{visit.address}/docs")
        page.wait_for_selector(".route")
        page.locator(".route summary").first.click()
        _check(page, "docs")


@pytest.mark.parametrize("look", ["dark", "phone"])
def test_questions_about_texts_and_a_selection_are_named_and_easy_to_read(browser, servers, look):
    with Visit(browser, servers["abstracts"], **LOOKS[look]) as visit:
        page = visit.open("teach")
        page.locator(".choice.left .unfold").click()
        _check(page, "teach, texts")
        page.get_by_label("Ask").select_option("pair informative")
        page.wait_for_selector(".verdicts")
        _check(page, "teach, pairs")
        page = visit.open("map")
        page.locator("canvas.plane").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press(" ")
        page.wait_for_selector(".selection .thumb")
        _check(page, "map, selected")


def _check(page, where):
    assert page.evaluate(NAMELESS) == [], where
    assert page.evaluate(UNLABELLED) == [], where
    assert page.evaluate(BROKEN) == [], where
    assert page.evaluate(FAINT) == [], where
    levels = page.evaluate(HEADINGS)
    assert levels[0] == 1, where
    assert levels.count(1) == 1, where
    assert all(b - a <= 1 for a, b in pairwise(levels)), where
    assert page.evaluate("document.documentElement.lang") == "en"
    for landmark in ("main", "nav[aria-label]", "header"):
        assert page.locator(landmark).first.is_visible(), where


def test_the_focus_is_seen_wherever_it_goes(browser, servers):
    with Visit(browser, servers["digits"], **LOOKS["light"]) as visit:
        for route in PAGES:
            page = visit.open(route)
            page.evaluate("document.activeElement.blur()")
            stops = []
            for _ in range(14):
                page.keyboard.press("Tab")
                stops.append(page.evaluate(FOCUSED))
            assert all(seen for *_, seen in stops if _[0] != "BODY"), (route, stops)


def test_the_skip_link_comes_first_and_leads_to_the_content(browser, servers):
    with Visit(browser, servers["digits"], **LOOKS["light"]) as visit:
        page = visit.open("models")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to content"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        assert page.url.endswith("#/models")


def test_a_new_page_says_its_name_and_takes_the_focus(browser, servers):
    with Visit(browser, servers["digits"], **LOOKS["light"]) as visit:
        page = visit.open("models")
        page.get_by_role("link", name="Quality").click()
        page.wait_for_selector(READY["quality"])
        visit.until("() => document.activeElement.tagName === 'H1'")
        assert page.evaluate("document.activeElement.textContent") == "Quality"
        assert page.title().startswith("Quality")


def test_teaching_is_said_aloud(browser, servers):
    with Visit(browser, servers["sentences"], **LOOKS["light"]) as visit:
        page = visit.open("teach")
        said = page.locator("#said[aria-live=polite]").text_content()
        shown = page.locator(".stage blockquote").all_text_contents()
        assert len(shown) == 3
        assert all(text[:200] in said for text in shown)
        page.keyboard.press("s")
        visit.until("old => document.querySelector('#said').textContent !== old", said)
        assert page.locator(".told[role=status]").count() == 1


def test_news_of_a_version_do_not_cut_a_question_short(browser, servers):
    with Visit(browser, servers["sentences"], **LOOKS["light"]) as visit:
        looks = []

        def with_another_version(route):
            told = route.fetch().json()
            looks.append(told["model"])
            route.fulfill(json=told | {"model": told["model"] + len(looks)})

        def still_learning(route):
            told = route.fetch().json()
            route.fulfill(json=told | {"acknowledged": told["applied"] + 1})

        visit.page.route("**/v1/explore/quality", with_another_version)
        visit.page.route("**/v1/feedback", still_learning)
        page = visit.open("teach")
        visit.until("() => document.querySelector('#news').textContent.endsWith('is live now.')")
        assert len(looks) >= 2
        said = page.locator("#said[aria-live=polite]").text_content()
        assert all(t[:200] in said for t in page.locator(".stage blockquote").all_text_contents())
        page.unroute_all(behavior="ignoreErrors")


def test_a_key_that_came_too_early_is_not_said_to_have_skipped(browser, servers):
    with Visit(browser, servers["sentences"], **LOOKS["light"]) as visit:
        first, held = [], []

        def answer(route):
            if first:
                held.append(route)
            else:
                first.append(route)
                route.continue_()

        visit.page.route("**/v1/teach/next*", answer)
        page = visit.open("teach")
        page.keyboard.press("s")
        page.keyboard.press("s")
        visit.until("() => document.querySelector('.stage[aria-busy]')")
        assert page.locator(".told").inner_text().startswith("Press")
        for _ in range(300):  # a request is known here some time after the page has sent it
            if held:
                break
            page.wait_for_timeout(20)
        page.wait_for_timeout(200)  # for a second one
        assert len(held) == 1
        held[0].continue_()
        visit.until("() => document.querySelector('.told').textContent.startsWith('Skipped')")


def test_meaning_never_hangs_on_color_alone(browser, servers):
    with Visit(browser, servers["digits"], **LOOKS["light"]) as visit:
        page = visit.open("neighbors/digit-003")
        for words in page.locator(".move").all_inner_texts():
            said = " ".join(words.split())
            assert re.fullmatch(
                r"(new was|lost now|▲ up was|▼ down was|▲ up now|▼ down now) \d+|= same", said
            )
        page = visit.open("quality")
        visit.until("() => document.querySelector('.line.before')")
        dashed = "getComputedStyle(document.querySelector('.line.before')).strokeDasharray"
        assert page.evaluate(dashed) != "none"


def test_the_explorer_and_the_report_are_of_one_family():
    def tokens(css, dark):
        head = css.split("@media (prefers-color-scheme: dark)")[1 if dark else 0].split("\n}\n")[0]
        return dict(re.findall(r"(--\w[\w-]*): (#\w+)", head))

    report = files("likewise.report").joinpath("templates/style.css").read_text()
    explorer = files("likewise.server.explorer").joinpath("web/theme.css").read_text()
    for dark in (False, True):
        theirs, ours = tokens(report, dark), tokens(explorer, dark)
        # quantiles of a numeric target, which the explorer does not have
        shared = {name: color for name, color in theirs.items() if not re.match(r"--q\d", name)}
        assert len(shared) == 20
        assert shared.items() <= ours.items()
