"""The report of a regression: predicted numbers, residuals, neighbors and planes."""

import numpy as np
import pytest
from tests.report.test_report_browser import OVERFLOW, OVERLAPS, Opened

import likewise as lw
from likewise.report import write_report
from likewise.report._numbers import errors_section, number_ranges
from likewise.report._plane import plane_section
from likewise.selection import family_named, select


def test_the_figures_are_those_of_the_predictions(rng):
    truth = rng.normal(100, 20, size=300)
    predicted = truth + rng.normal(0, 5, size=300)
    shown = errors_section(truth, predicted)
    r2 = 1 - ((truth - predicted) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()
    assert f"On 300 held-out rows R² is {r2:.3f} and the mean absolute error " in shown["text"]
    assert f"{np.abs(truth - predicted).mean():.3g}" in shown["text"]
    (_, equal), (_, residuals) = shown["plots"]
    assert len(equal["points"]) == len(residuals["points"]) == 300
    for plot in (equal, residuals):
        for x, y in plot["points"]:
            assert plot["left"] <= x <= plot["right"]
            assert plot["top"] <= y <= plot["bottom"]
    assert sum(rows for _, rows, _, _ in shown["ranges"]) == 300


def test_a_perfect_prediction_has_no_residuals():
    truth = np.arange(40.0)
    shown = errors_section(truth, truth)
    assert "R² is 1.000 and the mean absolute error 0;" in shown["text"]


def test_the_plane_of_numbers_is_learned_from_numbers(rng):
    X = rng.normal(size=(200, 6)) * [1, 1, 1, 1, 9, 9]
    numbers = X[:, 0] + 0.5 * X[:, 1]
    shown = plane_section(X, number_ranges(numbers), numbers)
    assert shown["heading"] == "A plane learned from the numbers"
    pca, mlkr = (float(plane["figure"].split()[-1][:-1]) for plane in shown["maps"])
    assert mlkr > 0.7 > 0.3 > pca
    assert {plane["plot"]["palette"] for plane in shown["maps"]} == {"q"}


@pytest.fixture(scope="module")
def houses(tmp_path_factory):
    """Return the report on numbers that were predicted by MLKR."""
    import pandas as pd

    rng = np.random.default_rng(0)
    n = 150
    frame = pd.DataFrame(
        {
            "area": rng.gamma(4, 20, n),
            "rooms": rng.integers(1, 8, n),
            "district": rng.choice(["North", "South"], n),
            "built": pd.date_range("1950-01-01", periods=n, freq="170D").strftime("%Y-%m-%d"),
        }
    )
    price = 50_000 + 2_500 * frame["area"] + 60_000 * (frame["district"] == "North")
    price = (price + rng.normal(0, 5_000, n)).to_numpy()
    families = [family_named(name, "regression") for name in ("euclidean", "mlkr")]
    selection = select(frame, price, families=families, n_splits=3, budget=20)
    model = selection.fit(frame, price)
    path = tmp_path_factory.mktemp("houses") / "houses.html"
    write_report(
        selection, path, model=model, title="houses", X=model.transform(frame), y=price,
        before=lw.as_similarity("euclidean"), encoding=model.columns, table=frame,
    )  # fmt: skip
    return path, price


@pytest.mark.parametrize("width", [1280, 390])
def test_a_regression_is_seen_in_a_browser(browser, houses, width):
    path, price = houses
    with Opened(browser, path, width=width) as opened:
        assert opened.troubles == []
        assert opened.page.evaluate(OVERFLOW) <= 0
        assert opened.page.evaluate(OVERLAPS) == []
        plots = opened.page.locator("#errors svg.plot").all()
        assert len(plots) == 2
        assert all(plot.locator("circle.point").count() == 150 for plot in plots)
        assert "R² is" in opened.page.locator("#errors").inner_text()
        assert "mean absolute error" in opened.page.locator("#errors").inner_text()
        first = opened.page.locator("#neighbors h3").first.inner_text()
        row, label = first.split()[1:]
        assert label == f"{price[int(row)]:,.0f}"
        opened.keep(f"regression-{width}.png")
