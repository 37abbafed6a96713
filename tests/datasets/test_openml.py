"""Downloads, with scikit-learn's cache laid beforehand where scikit-learn looks for it."""

import gzip
import hashlib
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise.datasets import _openml, load

SPEAKERS = [f"speaker{number}" for number in range(15)]


def lay_cache(home, openml_name, version, columns, rows):
    """Write what OpenML would answer, as scikit-learn keeps it.

    `columns` maps each name to None, for numbers, or to its categories; the last is the target.
    """
    root = home / "openml" / "openml.org"
    *_, target = columns
    types = {
        name: "REAL" if categories is None else "{" + ",".join(categories) + "}"
        for name, categories in columns.items()
    }
    header = "".join(f"@ATTRIBUTE {name} {kind}\n" for name, kind in types.items())
    lines = "\n".join(",".join(map(str, row)) for row in rows)
    arff = f"@RELATION any\n{header}@DATA\n{lines}\n".encode()
    url = "https://www.openml.org/data/v1/download/1/any.arff"
    features = [
        {
            "index": str(index),
            "name": name,
            "data_type": "numeric" if categories is None else "nominal",
            **({} if categories is None else {"nominal_value": list(categories)}),
            "is_target": str(name == target).lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for index, (name, categories) in enumerate(columns.items())
    ]
    description = {
        "id": "1",
        "name": openml_name,
        "version": str(version),
        "description": "laid by a test",
        "format": "ARFF",
        "status": "active",
        "url": url,
        "md5_checksum": hashlib.md5(arff).hexdigest(),
    }
    qualities = [{"name": "NumberOfInstances", "value": str(len(rows))}]
    api = "api/v1/json/data"
    answers = {
        f"{api}/list/data_name/{openml_name}/limit/2/data_version/{version}": {
            "data": {"dataset": [{"did": 1, "name": openml_name, "version": version}]}
        },
        f"{api}/1": {"data_set_description": description},
        f"{api}/features/1": {"data_features": {"feature": features}},
        f"{api}/qualities/1": {"data_qualities": {"quality": qualities}},
    }
    contents = {path: json.dumps(answer).encode() for path, answer in answers.items()}
    for path, content in {**contents, "data/v1/download/1/any.arff": arff}.items():
        file = root / f"{path}.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(content, compresslevel=1))


def numeric_columns(n_features, labels):
    return {f"pixel{i}": None for i in range(n_features)} | {"class": labels}


@pytest.fixture(params=["pandas", "liac-arff"])
def parser(request, monkeypatch):
    """Parse with and without pandas, which a user need not have."""
    if request.param == "pandas":
        pytest.importorskip("pandas")
    monkeypatch.setattr(_openml, "_parser", lambda: request.param)


@pytest.mark.usefixtures("parser")
def test_a_table_is_read_from_the_cache_without_a_network(sklearn_home):
    species = _openml.RECIPES["iris_uci"].labels
    X = np.random.default_rng(0).uniform(0, 8, size=(150, 4)).round(1)
    y = np.repeat([0, 2, 1], 50)
    rows = [[*values, species[label]] for values, label in zip(X, y, strict=True)]
    lay_cache(sklearn_home, "iris", 1, numeric_columns(4, species), rows)
    iris = load("iris_uci")
    assert iris.X.dtype == np.float32
    assert_array_equal(iris.X, X.astype(np.float32))
    assert_array_equal(iris.y, y)
    assert iris.target_names == species
    assert iris.feature_names == ("pixel0", "pixel1", "pixel2", "pixel3")
    assert iris.X_test is None


@pytest.mark.usefixtures("parser")
def test_vowels_keep_their_ten_features_and_the_last_speakers_test(sklearn_home):
    random = np.random.default_rng(0)
    X = random.normal(size=(990, 10)).round(3)
    y = np.tile(np.arange(11), 90)
    columns = {"Speaker_Number": SPEAKERS, "Sex": ("Male", "Female")}
    columns |= {f"Feature_{i}": None for i in range(10)} | {"Class": _openml.VOWELS}
    rows = [[SPEAKERS[i // 66], "Male", *X[i], _openml.VOWELS[y[i]]] for i in range(len(y))]
    lay_cache(sklearn_home, "vowel", 2, columns, rows)
    vowel = load("vowel")
    assert_array_equal(vowel.X, X[:528].astype(np.float32))
    assert_array_equal(vowel.X_test, X[528:].astype(np.float32))
    assert_array_equal(np.concatenate([vowel.y, vowel.y_test]), y)
    assert vowel.feature_names[0] == "Feature_0"


def test_digits_of_usps_are_numbered_from_zero_and_scaled_to_the_unit_interval(sklearn_home):
    recipe = _openml.RECIPES["usps"]
    y = np.concatenate([np.full(7291, 4), np.repeat(np.arange(10), recipe.test_counts)])
    X = np.tile([-1.0, 0.5, 1.0, 0.0], (len(y), 64))
    rows = [[*values, label + 1] for values, label in zip(X.tolist(), y.tolist(), strict=True)]
    lay_cache(sklearn_home, "usps", 2, numeric_columns(256, recipe.labels), rows)
    usps = load("usps")
    assert_allclose(usps.X[0, :4], [0, 0.75, 1, 0.5])
    assert set(usps.y) == {4}
    assert_array_equal(np.bincount(usps.y_test), recipe.test_counts)
    assert usps.target_names == tuple("0123456789")
    assert usps.extra["image_shape"].tolist() == [16, 16]


def test_a_table_of_another_size_is_refused(sklearn_home):
    species = _openml.RECIPES["iris_uci"].labels
    rows = [[1.0, 2.0, 3.0, 4.0, species[0]]] * 149
    lay_cache(sklearn_home, "iris", 1, numeric_columns(4, species), rows)
    with pytest.raises(
        ValueError, match=r"iris version 1 .*149 x 4 values, where 150 x 4 were exp"
    ):
        load("iris_uci")


def test_a_label_that_nobody_expects_is_refused(sklearn_home):
    rows = [[1.0, 2.0, 3.0, 4.0, "rose"]] * 150
    lay_cache(sklearn_home, "iris", 1, numeric_columns(4, ("rose",)), rows)
    with pytest.raises(ValueError, match="has the label 'rose', where only Iris-setosa, "):
        load("iris_uci")


def test_the_folder_comes_before_the_cache(sklearn_home, folder):
    species = _openml.RECIPES["iris_uci"].labels
    rows = [[1.0, 2.0, 3.0, 4.0, species[0]]] * 150
    lay_cache(sklearn_home, "iris", 1, numeric_columns(4, species), rows)
    np.savez(folder / "iris.npz", X=np.zeros((2, 4)), y=np.arange(2))
    assert len(load("iris_uci").y) == 2


def test_rows_in_another_order_have_no_test_part():
    counts = (2, 1)
    assert _openml.n_test_rows(np.array([1, 1, 1, 0, 0, 1]), counts) == 3
    assert _openml.n_test_rows(np.array([0, 0, 1, 1, 1, 1]), counts) == 0
    assert _openml.n_test_rows(np.array([1, 1, 1, 0, 0, 1]), None) == 0
