"""The section on held-out queries and items: in words, in figures and in a browser."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import likewise as lw
from likewise.report import write_report
from likewise.selection import select_triplets

VALIDATION = {
    "measure": "right order",
    "overall": (0.533, 0.644, 0.02, 180),
    "seen": (0.52, 0.7, 0.03, 150),
    "new": (0.551, 0.5, 0.01, 1),
    "published": False,
    "splits": 5,
}


def written(path, result, rng, width=3):
    if isinstance(result, dict):
        similarity = lw.Bilinear(np.eye(3), norm="cosine")
        result = SimpleNamespace(similarity_=similarity, validation_=result)
    write_report(result, path, title="t", X=rng.normal(size=(12, width)), before=None)
    return path.read_text(encoding="utf-8")


def plots(page):
    """Return the places of the start, of what was learned and of the ends of its bar."""
    drawn = re.findall(r'<svg viewBox="0 0 400 28".*?</svg>', page, re.S)
    return [
        (
            float(re.search(r'<circle cx="([\d.]+)"[^>]*class="start"', plot)[1]),
            float(re.search(r'<circle cx="([\d.]+)"[^>]*class="mean"', plot)[1]),
            [float(x) for x in re.findall(r'<line x1="([\d.]+)"[^>]*class="whisker"', plot)],
        )
        for plot in drawn
    ]


def test_start_and_learned_lie_on_one_scale_with_the_error_of_their_difference(tmp_path, rng):
    page = written(tmp_path / "r.html", VALIDATION, rng)
    assert "On queries and items it had not learned from" in page
    assert "in 5 splits" in page
    assert "so the start was kept" in page
    for said in ("0.533", "0.644\u00a0±\u00a00.020", "180 queries", "1 query", "new items"):
        assert said in page
    drawn = plots(page)
    values = [(start, learned) for start, learned, _, _ in map(VALIDATION.get, ("overall", "seen"))]
    values.append(VALIDATION["new"][:2])
    places = np.array([(start, learned) for start, learned, _ in drawn]).ravel()
    slope, offset = np.polyfit(np.ravel(values), places, 1)
    np.testing.assert_allclose(places, slope * np.ravel(values) + offset, atol=0.11)
    ends = drawn[0][2]
    np.testing.assert_allclose(max(ends) - min(ends), 2 * 0.02 * slope, atol=0.2)


def test_kinds_without_queries_are_left_out(tmp_path, rng):
    nothing = (np.nan, np.nan, np.nan, 0)
    page = written(tmp_path / "r.html", {**VALIDATION, "new": nothing}, rng)
    assert len(plots(page)) == 2
    assert "nan" not in page
    empty = dict.fromkeys(("overall", "seen", "new"), nothing)
    assert "had not learned from" not in written(tmp_path / "r.html", empty, rng)


def test_validation_of_a_learner_is_shown_as_it_is(tmp_path, rng):
    wine = lw.datasets.load("wine")
    X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    ridge = lw.RidgeSimilarity(random_state=0).fit(X, wine.y)
    page = written(tmp_path / "r.html", ridge, rng, width=13)
    assert "On rows it had not learned from" in page
    assert "mean average precision" in page
    assert f"{ridge.validation_['overall'].learned:.3f}" in page
    assert len(plots(page)) == 1


def test_other_validations_are_refused(tmp_path, rng):
    with pytest.raises(ValueError, match=r"\(start, learned, error, n\) as 'new'.*None was given"):
        written(tmp_path / "r.html", {k: v for k, v in VALIDATION.items() if k != "new"}, rng)


def test_in_a_browser_it_is_seen_whole_at_any_width(browser, tmp_path, rng):
    Q = rng.normal(size=(60, 6))
    triplets = np.array([rng.choice(60, 3, replace=False) for _ in range(900)])
    found = select_triplets(triplets, Q, learners=["ridge", "oasis"])
    path = tmp_path / "r.html"
    page = written(path, found, rng, width=6)
    assert found.verdict in page
    assert "All learners and baselines" in page
    for width in (1100, 360):
        context = browser.new_context(viewport={"width": width, "height": 900})
        opened = context.new_page()
        troubles = []
        opened.on("console", lambda message: troubles.append(message.text))  # noqa: B023
        opened.goto(path.as_uri())
        for plot in opened.locator("#held-out td.interval svg").all():
            assert plot.bounding_box()["width"] > 200
        wide = "document.documentElement.scrollWidth - window.innerWidth"
        assert opened.evaluate(wide) <= 0
        assert opened.locator("#held-out .badge").count() == 1
        assert troubles == []
        context.close()
