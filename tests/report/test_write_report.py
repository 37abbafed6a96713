"""The page: what it says, for whom, and what it refuses."""

import base64
import os
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.report.selections import selection_of

import likewise as lw
from likewise.report import check_report_path, write_report
from likewise.report._charts import number, padded_range, png_address, ticks
from likewise.report._sections import learning_curve
from likewise.report._text import default_snippets

EUCLID = lw.as_similarity("euclidean")
HOSTILE = "<script>window.hacked = 1</script>"


COMPARISON = {
    "Euclid": ("baseline", [0.90, 0.91, 0.92]),
    "LMNN": ("learned", [0.96, 0.97, 0.985]),
    "logistic regression": ("reference", [0.95, 0.97, 0.98]),
}


@pytest.fixture(scope="module")
def iris():
    data = lw.datasets.load("iris")
    return data.X, np.array(data.target_names)[data.y], list(data.feature_names)


@pytest.fixture(scope="module")
def learned(iris):
    return lw.LMNN().fit(*iris[:2])


def written(path, result, **arguments):
    write_report(result, path, **arguments)
    return path.read_text(encoding="utf-8")


def headings(page):
    return re.findall("<h2>(.*?)</h2>", page)


def test_the_page_has_everything(tmp_path, iris, learned):
    X, y, names = iris
    page = written(
        tmp_path / "report.html",
        selection_of(COMPARISON, "LMNN", (y, np.roll(y, 1)), notes=["A note of the selection."]),
        model=learned,
        title="iris",
        X=X,
        y=y,
        before=EUCLID,
        feature_names=names,
        columns=["Nothing was done to the 4 columns."],
        notes=["Look here first."],
    )
    assert headings(page) == [
        "How it compares",
        "How it learned",
        "Neighbors before and after",
        "How well it separates classes",
        "A map before and after",
        "A plane learned from the labels",
        "What it looks at",
        "Where it is wrong",
        "How the columns were encoded",
        "How to use it",
    ]
    assert "A Mahalanobis distance was learned from 150 rows in 3 classes." in page
    assert "147 of 150 rows were classified correctly" in page  # rolled by one: three edges
    assert (
        "the accuracy of the choice made in each split (LMNN) is 97.2\u00a0±\u00a01.3\u00a0%"
        in page
    )
    assert "its inner accuracy, 0.9717, is the best" in page
    assert "Expected accuracy of the choice: 0.9717" in page
    assert "A note of the selection." in page
    assert "Look here first." in page
    assert "petal" in page
    assert not re.search(r"(?:src|href)=\"(?!data:|#)", page)  # nothing from elsewhere
    assert "<script" not in page
    assert os.listdir(tmp_path) == ["report.html"]


def test_the_same_input_gives_the_same_page(tmp_path, iris, learned):
    X, y, _ = iris
    given = {"result": learned, "title": "iris", "X": X, "y": y, "before": EUCLID}
    assert written(tmp_path / "a.html", **given) == written(tmp_path / "b.html", **given)


def test_nothing_that_a_person_gave_is_markup(tmp_path, rng):
    X = rng.normal(size=(20, 2))
    y = np.array([HOSTILE, '"><img src=x onerror=alert(1)>'] * 10)
    history = [{HOSTILE: 1, "loss": 2.0}, {HOSTILE: 2, "loss": 1.0}]
    learner = SimpleNamespace(similarity_=lw.Mahalanobis(rng.normal(size=(2, 2))), history_=history)
    scores = {HOSTILE: ("baseline", [0.5, 0.6]), f"{HOSTILE}'": ("learned", [0.4, 0.6])}
    page = written(
        tmp_path / "report.html",
        selection_of(scores, HOSTILE, (y, y[::-1]), notes=[HOSTILE]),
        model=learner,
        title=HOSTILE,
        X=X,
        y=y,
        before=EUCLID,
        feature_names=[HOSTILE, "'><b>"],
        display=[HOSTILE] * 20,
        columns=[HOSTILE],
        model_path=f"{HOSTILE}.safetensors",
        notes=[HOSTILE],
    )
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "<b>'" not in page
    assert page.count("&lt;script&gt;") >= 10


def test_images_are_shown_as_images(tmp_path, rng):
    images = rng.integers(0, 255, size=(30, 4, 3))
    X = images.reshape(30, -1).astype(float)
    page = written(
        tmp_path / "report.html",
        lw.Mahalanobis(rng.normal(size=(5, 12))),
        title="images",
        X=X,
        y=np.arange(30) % 3,
        before=EUCLID,
        display=images,
    )
    assert page.count('class="tile"') >= 10
    assert "The weight of each pixel" in page
    assert "The strongest directions" in page
    assert "strongest features" not in page  # x7 would mean nothing


def test_texts_are_shown_as_texts_and_rows_may_be_sparse(tmp_path, rng):
    X = csr_array(np.abs(rng.normal(size=(25, 6))) * (rng.random((25, 6)) < 0.6))
    page = written(
        tmp_path / "report.html",
        lw.Bilinear(rng.normal(size=(6, 6)), norm="cosine"),
        title="texts",
        X=X,
        y=np.arange(25) % 2,
        before=lw.as_similarity("cosine"),
        display=[f"text number {i}" for i in range(25)],
    )
    assert page.count("text number") >= 10
    assert "A bilinear cosine similarity was learned from 25 rows in 2 classes." in page


def test_queries_and_items_of_different_width(tmp_path, rng):
    page = written(
        tmp_path / "report.html",
        lw.Bilinear(rng.normal(size=(3, 5))),
        title="clicks",
        X=rng.normal(size=(12, 3)),
        before=None,
        items=rng.normal(size=(9, 5)),
        item_names=["price", "weight", "size", "age", "stars"],
    )
    assert headings(page) == ["Neighbors", "What it looks at", "How to use it"]
    assert "12 queries and 9 items" in page
    assert "price" in page


def test_objects_are_shown_in_their_own_words(tmp_path):
    page = written(
        tmp_path / "report.html",
        lw.from_distance(lambda a, b: sum(x != y for x, y in zip(a, b, strict=True))),
        title="words",
        X=["pear", "peer", "plum", "palm"],
        y=["a", "a", "b", "b"],
        before=None,
    )
    assert "pear" in page
    assert "No vector database computes this similarity" in page


@pytest.mark.parametrize(
    "y", [None, ["a"] * 6, ["a"] * 5 + ["b"], list("abcdef"), [0, 0, 1, 1, 2, 2]]
)
def test_any_labels_will_do(tmp_path, rng, y):
    page = written(
        tmp_path / "report.html",
        lw.Mahalanobis([[1.0, 1.0]]),
        title="few",
        X=rng.normal(size=(6, 2)),
        y=y,
        before=EUCLID,
    )
    assert ("How well it separates classes" in page) == (y == [0, 0, 1, 1, 2, 2])


def test_constant_rows_and_equal_similarities_are_shown(tmp_path):
    labels = [0, 0, 1, 1, 1]
    scores = {"Euclid": ("baseline", [0.5] * 3), "LMNN": ("learned", [0.5] * 3)}
    learner = SimpleNamespace(
        similarity_=lw.Mahalanobis([1.0, 0.0]), history_=np.array([(0, 1.0), (1, 1.0)])
    )
    page = written(
        tmp_path / "report.html",
        selection_of(scores, "Euclid", (labels, labels)),
        model=learner,
        title="constant",
        X=np.ones((5, 2)),
        y=labels,
        before=EUCLID,
    )
    assert "None of the 5 rows examined has other neighbors than before." in page
    assert "A learned similarity does not help here" in page
    assert "The value was 1 at the start and at the end." in page
    assert "nan" not in page.partition("</style>")[2]


GIVEN = {
    "title": "t",
    "X": np.eye(4),
    "y": [0, 0, 1, 1],
    "before": EUCLID,
    "result": lw.Mahalanobis(np.eye(4)),
}


SELECTION = selection_of(COMPARISON, "LMNN", ([0, 1], [1, 1]))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"X": np.eye(3)}, "X has 3 columns, but 4 are needed"),
        ({"X": np.eye(4)[:1], "y": [0]}, "X has one row; at least two are needed"),
        ({"y": [0, 1]}, "X has 4 rows and y has 2"),
        ({"result": "euclidean"}, "model must be a similarity or an estimator .* 'euclidean' was"),
        ({"result": lw.Precomputed()}, "model is a matrix of scores"),
        ({"result": SELECTION}, "model must be a similarity or an estimator"),
        ({"before": "cosine"}, "before must be a similarity, but 'cosine' was given"),
        ({"feature_names": ["a"]}, "feature_names has 1 names, but there are 4 features"),
        ({"display": ["a"]}, "X has 4 rows and display has 1"),
        ({"display": np.eye(4)}, "display must be a list of texts, or images"),
    ],
)
def test_bad_input_gets_one_sentence_and_no_file(tmp_path, wrong, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        write_report(path=tmp_path / "report.html", **{**GIVEN, **wrong})
    assert not list(tmp_path.iterdir())


def test_an_unwritable_place_is_refused_before_the_work(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        write_report(path=tmp_path / "no" / "report.html", **GIVEN)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_report_path(tmp_path)


def test_a_folder_without_permission_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda place, mode: False)  # root may write anywhere
    with pytest.raises(PermissionError, match="which is not writable"):
        check_report_path(tmp_path / "report.html")


def test_what_goes_wrong_leaves_the_old_report(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_report(path=path, **GIVEN)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_similarity_alone_is_named_with_its_data(tmp_path):
    page = written(tmp_path / "report.html", **GIVEN)
    assert "A Mahalanobis distance was learned from 4 rows in 2 classes." in page


@pytest.mark.parametrize(
    ("history", "x", "y", "label"),
    [
        ([(0, 1.0), (5, 0.5)], [0, 5], [1, 0.5], "value"),
        ([{"iteration": 0, "objective": 3, "seconds": 0.1}], [0], [3], "objective"),
        (
            [
                {"triplets": 9, "loss": 3.0, "validation": None},
                {"triplets": 20, "loss": 2.0, "validation": 0.7},
            ],
            [20],
            [0.7],
            "validation",
        ),
        ([(0, 1.0), (1, np.nan), (2, 0.5)], [0, 2], [1, 0.5], "value"),
    ],
)
def test_any_history_gives_a_curve(history, x, y, label):
    found = learning_curve(history)
    assert found[0].tolist() == x
    assert found[1].tolist() == y
    assert found[3] == label


@pytest.mark.parametrize(
    "similarity",
    [
        lw.Mahalanobis(np.eye(3)[:2]),
        lw.Bilinear(np.eye(3), norm="cosine"),
        lw.Bilinear(np.eye(3), norm="dice"),
    ],
)
def test_the_snippets_run(tmp_path, rng, similarity):
    """Those in Python, as they stand; the command line's are tested where the commands are."""
    path = tmp_path / 'a "model".safetensors'
    similarity.save(path)
    rows = np.abs(rng.normal(size=(12, 3)))
    known = {"queries": rows[:2], "items": rows, "candidates": rows}
    snippets = dict(default_snippets(similarity, str(path)))
    assert list(snippets) == ["Python", "Command line", "Vector database"]
    exec(snippets["Python"], known)
    exec(snippets["Vector database"], known)
    assert known["matches"].ids.shape == (2, 10)
    if getattr(similarity, "norm", None) != "dice":
        assert known["stored"].shape[1] == known["sent"].shape[1]


@pytest.mark.parametrize("shape", [(3, 5), (2, 4, 4)])
def test_images_are_pngs_with_the_same_pixels(rng, shape):
    mpl = pytest.importorskip("matplotlib.image")
    from io import BytesIO

    pixels = rng.integers(0, 256, size=shape, dtype=np.uint8)
    head, _, data = png_address(pixels).partition(",")
    assert head == "data:image/png;base64"
    found = mpl.imread(BytesIO(base64.b64decode(data)), format="png")
    np.testing.assert_array_equal(np.round(found * 255).astype(np.uint8), pixels)


def test_ticks_are_round_and_within():
    np.testing.assert_allclose(ticks(0.03, 1.02), [0.2, 0.4, 0.6, 0.8, 1.0])
    np.testing.assert_allclose(ticks(-7, 180), [0, 50, 100, 150])
    assert not np.signbit(ticks(-0.1, 0.9)).any()
    for values in ([3.0, 3.0], [0.0, 0.0], [-1e9, 1e9], [1e-12, 2e-12]):
        low, high = padded_range([np.array(values)])
        assert low < min(values) <= max(values) < high
        assert 2 <= len(ticks(low, high)) <= 8


def test_numbers_are_short():
    assert [number(v) for v in (0, -0.5, 1234.5, 0.00001)] == ["0", "−0.5", "1,234", "1e−05"]


def test_a_report_needs_no_plotting_library(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "<svg" in written(tmp_path / "report.html", **GIVEN)


def test_without_jinja2_the_error_names_the_extra_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"a report needs jinja2: pip install '\S+\[cli\]'"):
        write_report(path=tmp_path / "report.html", **GIVEN)
