"""The report as a person sees it: in a real browser, light, dark, on a phone and on paper.

Screenshots are kept in ``results/``.
"""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.report.selections import selection_of

import likewise as lw
from likewise.report import write_report

KEPT = Path(__file__).parents[2] / "results" / "report"
HOSTILE = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


class Opened:
    """A page, and all that happened while it was opened."""

    def __init__(self, browser, path, width=1100, **settings):
        self.context = browser.new_context(viewport={"width": width, "height": 900}, **settings)
        self.page = self.context.new_page()
        self.troubles, self.asked = [], []
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", lambda dialog: self.troubles.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def asked_elsewhere(self):
        return [url for url in self.asked[1:] if not url.startswith("data:")]

    def keep(self, name):
        KEPT.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=KEPT / name, full_page=True)


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Return the report on some digits: it has every section, and images."""
    data = lw.datasets.load("digits")
    X, y = data.X[:200] / 16, data.y[:200]
    learner = lw.LMNN(max_iter=100, tol=0.1).fit(X, y)
    classifiers = {
        "Euclid": lw.SimilarityClassifier(),
        "LMNN": lw.SimilarityClassifier(learner=lw.LMNN(max_iter=100, tol=0.1)),
    }
    scores = lw.compare(classifiers, X, y, cv=3).scores
    nearest = learner.similarity_.neighbors(X, X, 1, exclude_self=True).ids[:, 0]
    path = tmp_path_factory.mktemp("report") / "digits.html"
    kinds = {"Euclid": "baseline", "LMNN": "learned"}
    families = {name: (kinds[name], values) for name, values in scores.items()}
    write_report(
        selection_of(families, "LMNN", (y, y[nearest])),
        path,
        model=learner,
        title="digits",
        X=X,
        y=y,
        before=lw.as_similarity("euclidean"),
        display=data.X[:200].reshape(-1, 8, 8),
        columns=["64 pixels were divided by 16."],
    )
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_without_errors_or_requests_and_shows_its_plots(browser, digits, scheme):
    with Opened(browser, digits, color_scheme=scheme) as opened:
        assert opened.troubles == []
        assert opened.asked_elsewhere() == []
        plots = opened.page.locator("figure svg.plot").all()
        assert len(plots) == 11  # curve, goodness, two maps, two planes, pixels, four directions
        for plot in [*plots, *opened.page.locator("td.interval svg").all()]:
            assert plot.is_visible()
            box = plot.bounding_box()
            assert box["width"] > 100
            assert box["height"] > 10
        drawn = opened.page.evaluate("[...document.images].map(image => image.naturalWidth)")
        assert len(drawn) >= 20
        assert set(drawn) == {8}
        opened.keep(f"digits-{scheme}.png")


def test_every_plot_has_ink_of_its_own(browser, digits, tmp_path):
    """A plot whose colors were all those of the page would be there and not be seen."""
    from matplotlib.image import imread

    for scheme in ("light", "dark"):
        with Opened(browser, digits, color_scheme=scheme) as opened:
            for number, plot in enumerate(opened.page.locator("figure svg.plot").all()):
                path = tmp_path / f"{scheme}-{number}.png"
                plot.screenshot(path=path)
                pixels = imread(path)[..., :3].reshape(-1, 3)
                commonest = np.median(pixels, axis=0)
                assert (np.abs(pixels - commonest).max(axis=1) > 0.2).mean() > 0.004


OVERLAPS = """() => {
  const found = [];
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].map(e => [e, e.getBoundingClientRect()]);
    for (const [e, box] of texts)
      if (box.left < frame.left - 1 || box.right > frame.right + 1) found.push(e.textContent);
    const level = texts.filter(([e]) => !e.getAttribute('transform'));
    for (const [i, [e, a]] of level.entries())
      for (const [f, b] of level.slice(i + 1))
        if (a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2)
          found.push(e.textContent + ' | ' + f.textContent);
  }
  return found;
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_no_labels_overlap_or_are_cut(browser, digits, tmp_path, rng, width):
    with Opened(browser, digits, width=width) as opened:
        assert opened.page.evaluate(OVERLAPS) == []
    path = tmp_path / "wide.html"
    X = 1e7 * rng.normal(size=(40, 12))
    learner = SimpleNamespace(
        similarity_=lw.Mahalanobis(rng.normal(size=(12, 12))),
        history_=[(i * 1_000_000, -1e8 + i * 3e7) for i in range(8)],
    )
    write_report(
        learner, path, title="wide", X=X, y=np.arange(40) % 2,
        before=lw.as_similarity("euclidean"),
        feature_names=[f"一二三四五六七八九十 {i}" for i in range(12)],
    )  # fmt: skip
    with Opened(browser, path, width=width) as opened:
        assert opened.page.evaluate(OVERLAPS) == []
        assert opened.page.evaluate(OVERFLOW) <= 0
        fonts = opened.page.evaluate("getComputedStyle(document.body).fontFamily")
        assert "Noto Sans CJK" in fonts
        opened.keep(f"wide-{width}.png")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Return the report on a table with columns of every kind."""
    import pandas as pd

    rng = np.random.default_rng(0)
    n = 80
    kinds = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "价格": rng.gamma(3, 25, n),
            "weight": rng.normal(500, 80, n),
            "length": rng.normal(size=n),
            "added": pd.date_range("2023-01-01", periods=n, freq="11D").strftime("%d.%m.%Y"),
            "color": rng.choice(["red", "blue"], n),
            "about": [f"pair {i} with {'warm' if kinds[i] else 'light'} lining" for i in range(n)],
        }
    )
    columns = lw.tables.Columns().fit(frame)
    X = columns.transform(frame)
    path = tmp_path_factory.mktemp("mixed") / "mixed.html"
    write_report(
        lw.NCA(max_iter=20).fit(X, kinds), path, title="鞋 shoes", X=X, y=kinds,
        before=lw.as_similarity("euclidean"), encoding=columns, table=frame,
        columns=columns.sentences_,
    )  # fmt: skip
    return path


@pytest.mark.parametrize("width", [1280, 390])
def test_a_mixed_table_shows_columns_of_every_kind(browser, mixed, width):
    with Opened(browser, mixed, width=width) as opened:
        assert opened.troubles == []
        assert opened.page.evaluate(OVERFLOW) <= 0
        assert opened.page.evaluate(OVERLAPS) == []
        tables = opened.page.locator("#neighbors table")
        assert tables.count() >= 2
        inside = "e => e.parentElement.scrollWidth - e.parentElement.clientWidth"
        assert max(table.evaluate(inside) for table in tables.all()) <= 0  # nothing is cut
        for part in ("价格", "added", "color", "about"):
            assert opened.page.locator(f'#neighbors td[data-name="{part}"]').first.is_visible()
        opened.keep(f"mixed-{width}.png")


def test_dark_is_dark_and_light_is_light(browser, digits):
    def brightness(scheme):
        with Opened(browser, digits, color_scheme=scheme) as opened:
            color = opened.page.evaluate(BACKGROUND)
        return np.mean([int(part) for part in color.strip("rgb()").split(",")])

    assert brightness("dark") < 60
    assert brightness("light") > 200


def test_on_a_phone_nothing_is_wider_than_the_screen(browser, digits):
    with Opened(browser, digits, width=360, device_scale_factor=2) as opened:
        assert opened.page.evaluate(OVERFLOW) <= 0
        opened.keep("digits-phone.png")


def test_on_paper_it_is_light_and_has_no_links_to_jump_by(browser, digits):
    with Opened(browser, digits, color_scheme="dark") as opened:
        opened.page.emulate_media(media="print", color_scheme="dark")
        assert opened.page.evaluate(BACKGROUND) == "rgb(255, 255, 255)"
        assert not opened.page.locator("nav").is_visible()
        KEPT.mkdir(parents=True, exist_ok=True)
        opened.page.pdf(path=KEPT / "digits.pdf")
        assert os.path.getsize(KEPT / "digits.pdf") > 20_000


def test_hostile_and_long_names_stay_text(browser, tmp_path, rng):
    path = tmp_path / "hostile.html"
    labels = np.array([HOSTILE, "long" * 60] * 10)
    names = {"long" * 40: ("learned", [0.5]), HOSTILE: ("baseline", [0.4])}
    write_report(
        selection_of(names, "long" * 40, (labels, labels[::-1])),
        path,
        model=lw.Mahalanobis(rng.normal(size=(3, 3))),
        title=HOSTILE,
        X=rng.normal(size=(20, 3)),
        y=labels,
        before=lw.as_similarity("euclidean"),
        feature_names=[HOSTILE, "wide" * 50, "{{x}}"],
        display=[HOSTILE] * 20,
        columns=[HOSTILE],
        notes=[HOSTILE],
    )
    with Opened(browser, path, width=360) as opened:
        assert opened.troubles == []
        assert opened.asked_elsewhere() == []
        assert opened.page.evaluate("typeof window.hacked") == "undefined"
        assert opened.page.locator("h1").inner_text() == HOSTILE
        assert opened.page.evaluate("document.querySelectorAll('script, img').length") == 0
        assert opened.page.evaluate(OVERFLOW) <= 0
        opened.keep("hostile-phone.png")
