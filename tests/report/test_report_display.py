"""How rows of tables, images and many classes are displayed."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
from tests.report.selections import selection_of

import likewise as lw
from likewise.report import write_report
from likewise.report._charts import Line, Scale, fitting_ticks, line_plot, short_number, text_width
from likewise.report._display import display_of_table, telling_columns
from likewise.report._findings import feature_weights, strongest_directions
from likewise.report._plane import plane_section
from likewise.report._sections import class_legend, confusion_section
from likewise.tables import Columns

EUCLID = lw.as_similarity("euclidean")


@pytest.fixture
def shoes(rng):
    n = 60
    numbers = {f"n{i}": rng.normal(size=n) for i in range(8)}
    return pd.DataFrame(
        {
            **numbers,
            "price": np.where(np.arange(n) == 3, np.nan, 1234.5 + np.arange(n)),
            "kind": np.array(["boot", "sandal"])[np.arange(n) % 2],
            "added": [f"{date(2024, 1, 1) + timedelta(days=i):%d.%m.%Y}" for i in range(n)],
            "about": [f"pair number {i} of many words" for i in range(n)],
        }
    )


def test_the_strongest_columns_of_every_kind_are_displayed(shoes):
    columns = Columns().fit(shoes)
    weights = np.array([float(name == "price") for name, _ in columns.sources()])
    chosen = telling_columns(columns, weights + 1e-6)
    assert len(chosen) == 6
    assert chosen[0] == ("price", "numeric")
    assert {kind for _, kind in chosen} == {"numeric", "categorical", "date", "text"}
    weights = np.array([float(name in ("n6", "n7")) for name, _ in columns.sources()])
    assert [name for name, _ in telling_columns(columns, weights)][:2] == ["n6", "n7"]


def test_cells_are_in_the_units_of_the_table(shoes):
    columns = Columns().fit(shoes)
    weights = np.array([float(name == "price") for name, _ in columns.sources()])
    shown = display_of_table(columns, shoes, weights)
    cells = {name: cell for (name, _), cell in zip(shown.heads, shown.cells(7), strict=True)}
    assert cells["price"] == ("1,242", "number")
    assert cells["kind"] == ("sandal", "word")
    assert cells["added"] == ("08.01.2024", "word")
    assert cells["about"] == ("pair number 7 of many words", "text")
    assert shown.cells(3)[0] == ("–", "number")
    assert not shown.has_images


def test_a_table_of_one_text_is_displayed_as_text():
    texts = pd.DataFrame({"about": [f"one text of number {i}" for i in range(60)]})
    columns = Columns().fit(texts)
    shown = display_of_table(columns, texts, np.ones(len(columns.feature_names_)))
    assert shown.is_text
    assert shown.cells(2) == [("one text of number 2", "text")]


def test_images_have_their_other_columns_beside_them(rng):
    frame = pd.DataFrame(rng.random((30, 16)), columns=[f"pixel{i}" for i in range(16)])
    frame["price"] = rng.normal(size=30)
    columns = Columns().fit(frame)
    shown = display_of_table(columns, frame, np.ones(17))
    assert shown.has_images
    assert shown.image(0).startswith("data:image/png")
    assert [name for name, _ in shown.heads] == ["price"]
    assert columns.image_features() == [(1, (4, 4))]


def test_weights_are_shares_of_the_mean_squared_distance(rng):
    X = rng.normal(size=(400, 3)) * [1, 2, 3]
    L = rng.normal(size=(2, 3))
    weights = feature_weights(lw.Mahalanobis(L), X, None, 0)
    np.testing.assert_allclose(weights, (L**2).sum(axis=0) * X.var(axis=0))
    np.testing.assert_allclose(feature_weights(EUCLID, X, None, 0), X.var(axis=0))
    W = rng.normal(size=(3, 3))
    expected = np.diag(W) * (X**2).mean(axis=0)
    np.testing.assert_allclose(feature_weights(lw.Bilinear(W), X, None, 0), expected)
    wide = rng.normal(size=(3, 2))
    items = rng.normal(size=(50, 2))
    for side, rows in ((0, X), (1, items)):
        size = np.linalg.norm(wide, axis=1 - side) * np.sqrt((rows**2).mean(axis=0))
        np.testing.assert_allclose(feature_weights(lw.Bilinear(wide), X, items, side), size)


def test_directions_are_those_of_the_learned_map(rng):
    X = rng.normal(size=(200, 4))
    L = np.diag([0.1, 5.0, 0.1, 1.0])
    directions = strongest_directions(lw.Mahalanobis(L), X, 2)
    np.testing.assert_allclose(np.abs(directions), [[0, 1, 0, 0], [0, 0, 0, 1]], atol=1e-9)
    assert strongest_directions(EUCLID, X) is None


def test_more_pixels_than_a_matrix_shows_are_drawn_too(tmp_path, rng):
    images = rng.random((60, 25, 30))
    path = tmp_path / "report.html"
    write_report(
        lw.Mahalanobis(rng.normal(size=(3, 750))), path, title="x", X=images.reshape(60, -1),
        y=np.arange(60) % 2, before=EUCLID, display=images,
    )  # fmt: skip
    page = path.read_text(encoding="utf8")
    assert "The weight of each pixel" in page
    assert "strongest features" not in page  # x123 would mean nothing


def test_many_classes_share_a_legend_of_ten_and_the_others():
    labels = np.repeat([f"c{i:02d}" for i in range(30)], np.arange(1, 31))
    legend, kinds = class_legend(labels, len(labels))
    assert legend == [*((i, f"c{20 + i}") for i in range(10)), (-1, "20 others")]
    assert set(kinds[labels == "c29"]) == {9}
    assert set(kinds[labels < "c20"]) == {-1}
    few, kinds = class_legend(labels[labels >= "c19"], 11)
    assert [name for _, name in few] == [f"c{i}" for i in range(19, 30)]


def test_many_classes_share_a_confusion_matrix_of_ten_and_the_others():
    truth = np.repeat(np.arange(30), np.arange(1, 31))
    predicted = np.where(truth < 2, 29, np.where(truth == 5, 6, truth))
    shown = confusion_section(truth, predicted)
    assert shown["names"] == [*range(20, 30), "20 others"]
    name, recall, cells = shown["rows"][-1]
    n_others = (truth < 20).sum()
    assert name == "20 others"
    assert [count for count, _, _ in cells[-2:]] == [3, n_others - 3]
    assert float(recall) == pytest.approx((n_others - 3 - 6) / n_others, abs=1e-3)
    assert cells[-1][1] == ""  # right and wrong ones


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0, 123456789), (1e-9, 2e-9), (-1e5, 1e5), (0, 99999), (3, 3.0001)]
)
def test_labels_of_an_axis_do_not_overlap(low, high):
    for length in (324, 120, 60):
        ticks = fitting_ticks(low, high, length)
        places = (ticks - low) / (high - low) * length
        halves = np.array([text_width(short_number(tick)) / 2 for tick in ticks])
        assert (np.diff(places) > halves[1:] + halves[:-1]).all()
        assert len(ticks) >= 1
    for place, label in Scale(low, high).axis(short_number):
        assert text_width(label) / 2 <= place <= 400 - text_width(label) / 2
    x = np.linspace(low, high, 5)
    plot = line_plot([Line("a", x, x * 1e6, "after")], "x", "y", "t")
    assert plot["left"] >= 18 + max(text_width(label) for _, label, _ in plot["y_ticks"])


def test_axis_numbers_are_short():
    numbers = (9999, 10000, -123456, 2500000, 3e9, 0.001)
    assert [short_number(n) for n in numbers] == ["9,999", "10k", "−123.5k", "2.5M", "3G", "0.001"]


def test_chinese_letters_are_wide():
    assert text_width("颜色") > 1.5 * text_width("ab")


def _percent(plane):
    return int(plane["figure"].split()[0])


def test_the_plane_shows_rows_that_it_was_not_learned_from(rng):
    """Labels without meaning are not separated; a plane of the rows drawn would separate them."""
    X, y = rng.normal(size=(120, 60)), np.arange(120) % 2
    shown = plane_section(X, rng.permutation(y))
    assert shown["n_learned"] + shown["n_shown"] == 120
    assert all(_percent(plane) < 75 for plane in shown["maps"])
    X[:, 5] += 6 * y
    X[:, 7:9] *= 30
    pca, nca = plane_section(X, y)["maps"]
    assert _percent(nca) > 85 > _percent(pca)


def test_copies_are_not_on_both_sides_of_the_plane(rng):
    rows = np.repeat(rng.normal(size=(60, 4)), 2, axis=0)
    y = np.repeat(rng.permutation(np.arange(60) % 2), 2)
    assert all(_percent(plane) < 80 for plane in plane_section(rows, y)["maps"])


@pytest.mark.parametrize("shape", [(30, 5), (100, 2)])
def test_few_rows_or_features_have_no_plane(rng, shape):
    assert plane_section(rng.normal(size=shape), np.arange(shape[0]) % 2) is None


def test_encoding_and_table_belong_together(tmp_path, rng):
    frame = pd.DataFrame(rng.normal(size=(10, 3)), columns=list("abc"))
    columns = Columns().fit(frame)
    arguments = {"title": "x", "X": columns.transform(frame), "before": EUCLID}
    with pytest.raises(ValueError, match="encoding and table belong together"):
        write_report(EUCLID, tmp_path / "x.html", **arguments, encoding=columns)
    with pytest.raises(ValueError, match="X has 10 rows and table has 9"):
        write_report(EUCLID, tmp_path / "x.html", **arguments, encoding=columns, table=frame[:9])


def test_the_report_of_a_table_has_its_values(tmp_path, shoes):
    columns = Columns().fit(shoes)
    X, y = columns.transform(shoes), np.arange(60) % 2
    path = tmp_path / "report.html"
    selection = selection_of({"Euclid": ("baseline", [0.5, 0.6, 0.7])}, "Euclid", (y, y))
    write_report(
        selection, path, model=EUCLID, title="shoes", X=X, y=y,
        before=lw.as_similarity("cosine"), encoding=columns, table=shoes,
    )  # fmt: skip
    page = path.read_text(encoding="utf8")
    for part in ("sandal", "pair number", ".2024", "n1"):
        assert part in page
