"""Columns of every kind become numbers, the same way each time, and say so."""

import json
import struct
from datetime import date, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array, random
from sklearn.utils.estimator_checks import parametrize_with_checks

import likewise as lw
from likewise.tables import Columns

SHOES = {
    "id": ["a", "b", "c", "d", "e", "f"],
    "price": [10.0, 20.0, None, 40.0, 50.0, 30.0],
    "size": [36, 37, 38, 39, 40, 41],
    "kind": ["boot", "boot", "sandal", "sandal", None, "boot"],
    "about": [
        "a red boot for the rain",
        "the blue boot of winter",
        "a sandal for the beach",
        "light sandal and warm sand",
        "some shoe that nobody knows",
        "one more boot for rain",
    ],
    "stock": [1, 1, 1, 1, 1, 1],
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@parametrize_with_checks([Columns(), Columns(scale="range"), Columns(scale="none")])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(params=FRAMES)
def shoes(request):
    return FRAMES[request.param](SHOES)


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


def test_every_library_gives_the_same_numbers_and_sentences(shoes):
    columns = Columns().fit(shoes)
    expected = Columns().fit(pa.table(SHOES))
    assert columns.sentences_ == expected.sentences_
    np.testing.assert_allclose(
        dense(columns.transform(shoes)), dense(expected.transform(pa.table(SHOES)))
    )


def test_what_was_done_is_stated(shoes):
    assert Columns().fit(shoes).sentences_ == [
        "id: the ids of the rows.",
        "stock: not used; the same in every row.",
        "2 numeric columns: price, size; mean 0 and deviation 1; "
        "1 missing cell filled with the median.",
        "kind: 2 categories, a 0/1 column each; 1 missing cell without any.",
        "about: text, tf-idf of 21 words.",
    ]


def test_numbers_are_scaled_and_the_median_fills_what_is_missing(shoes):
    X = dense(Columns(ignore=["about"]).fit_transform(shoes))
    price = np.array([10, 20, 30, 40, 50, 30.0])
    np.testing.assert_allclose(X[:, 0], (price - price.mean()) / price.std())
    np.testing.assert_allclose(X[:, 1].mean(), 0, atol=1e-12)
    np.testing.assert_array_equal(X[:, 2:], [[1, 0], [1, 0], [0, 1], [0, 1], [0, 0], [1, 0]])


def test_text_is_what_tfidf_of_scikit_learn_gives(shoes):
    from sklearn.feature_extraction.text import TfidfVectorizer

    columns = Columns(ignore=["price", "size", "kind", "stock"]).fit(shoes)
    expected = TfidfVectorizer(sublinear_tf=True).fit_transform(SHOES["about"])
    np.testing.assert_allclose(columns.transform(shoes), expected.toarray())


def test_many_words_stay_sparse():
    texts = [" ".join(f"w{i * 60 + j}" for j in range(60)) for i in range(5)]
    X = Columns().fit_transform(pa.table({"about": texts}))
    assert X.format == "csr"
    assert X.shape == (5, 300)


def test_new_rows_are_treated_as_the_old_ones_were():
    columns = Columns(ignore=["about"]).fit(pa.table(SHOES))
    new = pa.table({"kind": ["slipper"], "size": [36], "price": [None], "more": ["ignored"]})
    X = columns.transform(new)
    np.testing.assert_allclose(X[0, :2], columns.transform(pa.table(SHOES))[[2, 0], [0, 1]])
    assert (X[0, 2:] == 0).all()


def test_a_column_that_is_missing_or_renamed_is_refused_by_name():
    columns = Columns().fit(pa.table(SHOES))
    renamed = pa.table(SHOES).rename_columns(["id", "prices", *list(SHOES)[2:]])
    with pytest.raises(ValueError, match=r"no column 'price', .* Was it renamed to 'prices'"):
        columns.transform(renamed)


def test_text_where_numbers_were_is_refused_with_its_row():
    columns = Columns().fit(pa.table({"a": [1.0, 2.0], "b": [1.0, 3.0]}))
    with pytest.raises(ValueError, match="column 'b' must hold numbers, but row 1 holds 'six'"):
        columns.transform(pd.DataFrame({"a": [1.0, 2.0], "b": [4, "six"]}))


def test_missing_cells_can_be_refused():
    with pytest.raises(
        ValueError, match="1 missing cell, and missing='refuse': fill it, or use mis"
    ):
        Columns(missing="refuse").fit(pa.table(SHOES))
    columns = Columns(missing="refuse").fit(pa.table({"a": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="column 'a' has 2 missing cells"):
        columns.transform(pa.table({"a": pa.array([None, None], pa.float64())}))


def test_columns_can_be_claimed():
    columns = Columns(categorical=["size"], ignore=["price", "about", "stock"], text=["kind"])
    columns.fit(pa.table(SHOES))
    assert [block["kind"] for block in columns.blocks_] == ["categorical", "text"]
    with pytest.raises(ValueError, match=r"text must be one of .* Did you mean 'about'\?"):
        Columns(text=["abuot"]).fit(pa.table(SHOES))
    with pytest.raises(TypeError, match="text must be a list of column names"):
        Columns(text="about").fit(pa.table(SHOES))


def test_names_are_not_used_and_that_is_said():
    n = 120
    table = pa.table(
        {
            "x": np.arange(n),
            "who": [f"person{i}" for i in range(n)],
            "when": [date(2020, 1, 1)] * n,
            "long": [timedelta(i) for i in range(n)],
        }
    )
    said = " ".join(Columns().fit(table).sentences_)
    assert "who: not used; 120 different values in 120 rows" in said
    assert "when: not used; the same in every row." in said
    assert "long: not used; neither numbers, dates, words nor images" in said


def test_when_nothing_varies_nothing_can_be_learned():
    with pytest.raises(ValueError, match="no column is left to learn from: a: not used"):
        Columns().fit(pa.table({"a": [1.0, 1.0]}))


def test_a_pixel_grid_is_one_image():
    digits = lw.datasets.load("digits")
    columns = Columns(image_shape=(8, 8), scale="range").fit(digits.X)
    X = columns.transform(digits.X)
    np.testing.assert_allclose(X, digits.X / 16)
    np.testing.assert_array_equal(columns.display(digits.X[:2]), digits.X[:2].reshape(2, 8, 8))
    named = pa.table({f"pixel{i}": digits.X[:, i] for i in range(64)})
    assert Columns().fit(named).blocks_[0]["kind"] == "pixels"
    with pytest.raises(ValueError, match="image_shape is 9 x 9, but there are 64 numeric columns"):
        Columns(image_shape=(9, 9)).fit(digits.X)


def test_vectors_in_a_column_are_their_numbers(rng):
    vectors = rng.normal(size=(5, 4))
    table = pa.table({"embedding": vectors.tolist()})
    np.testing.assert_allclose(Columns(scale="none").fit_transform(table), vectors)
    with pytest.raises(
        ValueError, match="'embedding' must hold 4 numbers in each row, but row 0 has 3"
    ):
        Columns(scale="none").fit(table).transform(pa.table({"embedding": [[1.0, 2.0, 3.0]]}))


def test_images_are_read_from_files_and_from_bytes(tmp_path):
    pictures = pytest.importorskip("PIL.Image", reason="needs Pillow")
    for name, gray in (("dark", 0), ("light", 255)):
        pictures.new("L", (20, 30), gray).save(tmp_path / f"{name}.png")
    paths = [str(tmp_path / "dark.png"), str(tmp_path / "light.png")]
    for values in (paths, [(tmp_path / f"{n}.png").read_bytes() for n in ("dark", "light")]):
        X = Columns().fit_transform(pa.table({"photo": values}))
        np.testing.assert_array_equal(X[:, 0], [0, 1])
        assert X.shape == (2, 256)
    with pytest.raises(ValueError, match="column 'photo', row 0: not a readable image"):
        Columns().fit(pa.table({"photo": [b"no picture", b"at all"]}))


def test_sparse_rows_stay_sparse():
    X = csr_array(random(20, 6, density=0.4, random_state=0))
    scaled = Columns().fit_transform(X)
    assert scaled.format == "csr"
    assert abs(scaled).max() == 1
    np.testing.assert_array_equal(Columns(scale="none").fit_transform(X).toarray(), X.toarray())
    with pytest.raises(TypeError, match="fitted on sparse rows"):
        Columns().fit(X).transform(X.toarray())
    with pytest.raises(TypeError, match="fitted on a table"):
        Columns().fit(X.toarray()).transform(X)


def test_a_saved_transformer_does_the_same(tmp_path, shoes):
    columns = Columns().fit(shoes)
    lw.save(columns, tmp_path / "columns")
    again = lw.load(tmp_path / "columns")
    assert again.sentences_ == columns.sentences_
    np.testing.assert_array_equal(dense(again.transform(shoes)), dense(columns.transform(shoes)))


def test_a_file_that_was_tampered_with_is_refused(tmp_path):
    lw.save(Columns().fit(pa.table({"a": [1.0, 2.0]})), tmp_path / "columns")
    raw = (tmp_path / "columns").read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + length])
    meta = header["__metadata__"]
    meta["fitted"] = meta["fitted"].replace('"numeric"', '"system"')
    text = json.dumps(header).encode()
    (tmp_path / "columns").write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + length :])
    with pytest.raises(ValueError, match=r"blocks_\[0\] must be a block of columns"):
        lw.load(tmp_path / "columns")


def test_infinity_and_two_columns_of_one_name_are_refused():
    with pytest.raises(ValueError, match="column 'a' holds infinity in row 1"):
        Columns().fit(pa.table({"a": [1.0, np.inf]}))
    with pytest.raises(ValueError, match=r"two columns named 'a'|duplicate|unique"):
        Columns().fit(pa.table([[1.0], [2.0]], names=["a", "a"]))


def test_one_fit_gives_the_columns_of_every_scale(shoes):
    expected = {scale: Columns(scale=scale).fit(shoes) for scale in ("standard", "none")}
    fitted = Columns(scale="range").fit_scales(shoes, ["standard", "none"])
    assert list(fitted) == ["standard", "none"]
    for scale, columns in fitted.items():
        assert columns.scale == scale
        assert columns.sentences_ == expected[scale].sentences_
        np.testing.assert_array_equal(
            dense(columns.transform(shoes)), dense(expected[scale].transform(shoes))
        )


def test_blocks_without_a_scale_are_fitted_once(shoes, monkeypatch):
    from likewise.tables._blocks import Text

    fits = []
    fit = Text.fit.__func__
    monkeypatch.setattr(
        Text, "fit", classmethod(lambda cls, *given: fits.append(1) or fit(cls, *given))
    )
    Columns().fit_scales(shoes, ["standard", "range", "none"])
    assert len(fits) == 1


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_an_affine_encoding_is_the_transformation_as_numbers(make):
    numbers = make({name: SHOES[name] for name in ("price", "size")})
    columns = Columns().fit(numbers)
    missing, center, scale = columns.affine()
    X = np.array([SHOES["price"], SHOES["size"]], dtype=float).T
    X = np.where(np.isnan(X), missing, X)
    np.testing.assert_array_equal((X - center) / scale, columns.transform(numbers))
    assert Columns().fit(make(SHOES)).affine() is None  # kinds and texts
    assert Columns().fit(csr_array(np.eye(3))).affine() is None
    complete = make({"size": SHOES["size"]})
    assert Columns(missing="refuse").fit(complete).affine() is None
