"""The sets of the papers: files as described, and downloads from a prepared cache."""

import codecs
import gzip
import hashlib
import json
import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reproduce._datasets import RECIPES, SETS, keep_from_and_subject, load
from sklearn.utils import Bunch

import likewise
from likewise.exceptions import DatasetUnavailableError
from reproduce import _datasets

POST = "Xref: sci.space:7\nSubject: moons\nFrom: me@here\nLines: 2\n\nBody.\n\nMore: body.\n"
KEPT = "From: me@here\nSubject: moons\n\nBody.\n\nMore: body.\n"
# Files of these may hold fewer rows than the whole set: some speakers are not available everywhere.
MAY_BE_PART = {"isolet"}
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
        "file_id": "1",
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
    contents["data/v1/download/1"] = arff  # by its number: scikit-learn before 1.7
    contents["data/v1/download/1/any.arff"] = arff
    for path, content in contents.items():
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
    monkeypatch.setattr(_datasets, "_parser", lambda: request.param)


@pytest.mark.usefixtures("parser")
def test_a_table_is_read_from_the_cache_without_a_network(sklearn_home):
    species = _datasets.RECIPES["iris_uci"].labels
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
    columns |= {f"Feature_{i}": None for i in range(10)} | {"Class": _datasets.VOWELS}
    rows = [[SPEAKERS[i // 66], "Male", *X[i], _datasets.VOWELS[y[i]]] for i in range(len(y))]
    lay_cache(sklearn_home, "vowel", 2, columns, rows)
    vowel = load("vowel")
    assert_array_equal(vowel.X, X[:528].astype(np.float32))
    assert_array_equal(vowel.X_test, X[528:].astype(np.float32))
    assert_array_equal(np.concatenate([vowel.y, vowel.y_test]), y)
    assert vowel.feature_names[0] == "Feature_0"


def test_digits_of_usps_are_numbered_from_zero_and_scaled_to_the_unit_interval(sklearn_home):
    recipe = _datasets.RECIPES["usps"]
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
    species = _datasets.RECIPES["iris_uci"].labels
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
    species = _datasets.RECIPES["iris_uci"].labels
    rows = [[1.0, 2.0, 3.0, 4.0, species[0]]] * 150
    lay_cache(sklearn_home, "iris", 1, numeric_columns(4, species), rows)
    np.savez(folder / "iris.npz", X=np.zeros((2, 4)), y=np.arange(2))
    assert len(load("iris_uci").y) == 2


def test_rows_in_another_order_have_no_test_part():
    counts = (2, 1)
    assert _datasets.n_test_rows(np.array([1, 1, 1, 0, 0, 1]), counts) == 3
    assert _datasets.n_test_rows(np.array([0, 0, 1, 1, 1, 1]), counts) == 0
    assert _datasets.n_test_rows(np.array([1, 1, 1, 0, 0, 1]), None) == 0


def lay_newsgroups_cache(home):
    """Write the file that scikit-learn keeps of the newsgroups."""

    def part(*numbers):
        return Bunch(
            data=[POST.replace("Body", f"Body {number}") for number in numbers],
            target=np.array([number // 100 for number in numbers]),
            target_names=["rec.autos", "sci.space"],
            filenames=np.array([f"20news/{number}" for number in numbers]),
        )

    home.mkdir()
    cache = {"train": part(120, 9, 10), "test": part(4)}
    content = codecs.encode(pickle.dumps(cache), "zlib_codec")
    (home / "20news-bydate_py3.pkz").write_bytes(content)


def test_newsgroups_come_from_the_cache_of_scikit_learn_without_a_network(sklearn_home):
    lay_newsgroups_cache(sklearn_home)
    news = load("news20")
    assert news.y.tolist() == [0, 0, 1]
    in_order = [KEPT.replace("Body", f"Body {number}") for number in (9, 10, 120)]
    assert list(news.X) == in_order
    assert news.X_test == [KEPT.replace("Body", "Body 4")]
    assert news.target_names == ("rec.autos", "sci.space")


def test_a_post_keeps_who_wrote_it_and_about_what():
    assert keep_from_and_subject(POST) == KEPT


def test_a_line_of_the_body_is_not_taken_for_a_header():
    assert keep_from_and_subject("From: me\n\nFrom: you\n") == "From: me\n\nFrom: you\n"


@pytest.mark.parametrize("name", SETS)
def test_a_file_in_the_folder_is_as_described(name, real_folder):
    described = SETS[name]
    dataset = likewise.datasets.load(name)  # reads every set of the folder, without a download
    n_samples = len(dataset.y) + (0 if dataset.y_test is None else len(dataset.y_test))
    assert n_samples == described.n_samples or (
        name in MAY_BE_PART and n_samples < described.n_samples
    )
    assert dataset.n_classes == described.n_classes
    split = re.search(r"(\d+) \+ (\d+)", described.text)
    assert (dataset.y_test is not None) == (split is not None)
    if split is not None and name not in MAY_BE_PART:
        assert [len(dataset.y), len(dataset.y_test)] == [int(part) for part in split.groups()]
    labels = np.unique(dataset.y)
    assert len(labels) == described.n_classes
    for X, y in ((dataset.X, dataset.y), (dataset.X_test, dataset.y_test)):
        if X is None:
            continue
        assert (len(X) if isinstance(X, list) else X.shape[0]) == len(y)
        assert np.isin(y, labels).all()
        if described.n_features is None:
            assert isinstance(X[0], str)
        else:
            assert X[0].shape[-1] == described.n_features
            assert X[0].dtype in (np.float32, np.float64)


def test_downloads_are_described_with_their_source_and_split():
    for name, described in SETS.items():
        downloaded = name in RECIPES or name == "news20"
        assert downloaded == ("OpenML" in described.text or "scikit-learn" in described.text)
    for name, recipe in RECIPES.items():
        if recipe.test_counts:
            n_test = sum(recipe.test_counts)
            assert f"split {SETS[name].n_samples - n_test} + {n_test}" in SETS[name].text
        assert len(recipe.target_names or recipe.labels) == SETS[name].n_classes


@pytest.mark.parametrize("name", ["mnist", "isolet"])
def test_offline_and_absent_the_sentence_says_what_to_do(name, folder):
    with pytest.raises(DatasetUnavailableError) as caught:
        load(name)
    sentence = str(caught.value)
    assert f"the folder {folder} that LIKEWISE_DATA names holds no {name}.npz" in sentence
    assert f"put {name}.npz into a folder and set LIKEWISE_DATA to it" in sentence
    assert f"The download from OpenML as {RECIPES[name].openml_name} version 1 failed" in sentence
    assert "\n" not in sentence
    assert caught.value.__cause__ is not None


def test_offline_newsgroups_say_what_to_do():
    with pytest.raises(
        DatasetUnavailableError,
        match=r"LIKEWISE_DATA is not set; put news20_bydate.jsonl.gz into a folder .*"
        r"The download from scikit-learn failed \(",
    ):
        load("news20")


def test_a_set_without_a_download_is_refused_as_the_library_does(folder):
    with pytest.raises(DatasetUnavailableError, match=r"holds no orl\.npz; put orl\.npz into"):
        load("orl")
