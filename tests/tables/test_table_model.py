"""A model that takes tables: what it does to new ones is what it did to the old."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import likewise as lw
from likewise.tables import Columns, TableModel, row_digests


@pytest.fixture
def wines():
    wine = lw.datasets.load("wine")
    frame = pd.DataFrame(wine.X, columns=wine.feature_names)
    return frame, np.array(wine.target_names)[wine.y]


@pytest.fixture
def model(wines):
    frame, labels = wines
    columns = Columns().fit(frame)
    classifier = lw.SimilarityClassifier(learner=lw.LMNN())
    return TableModel(columns, classifier.fit(columns.transform(frame), labels), target="grower")


def test_it_is_its_parts_joined(model, wines):
    frame, _ = wines
    X = model.columns.transform(frame)
    np.testing.assert_array_equal(model.transform(frame), X)
    np.testing.assert_array_equal(model.predict(frame), model.estimator.predict(X))
    np.testing.assert_array_equal(model.score(frame[:3], frame), model.similarity_.score(X[:3], X))
    np.testing.assert_array_equal(
        model.neighbors(frame[:3], frame, 4).ids, model.similarity_.neighbors(X[:3], X, 4).ids
    )
    why = model.explain(frame[:1], frame[1:2], top=2)
    assert why.score == pytest.approx(model.score(frame[:1], frame[1:2])[0, 0])
    assert {name for term in why for name in term[:2]} <= set(frame.columns)


def test_probabilities_are_those_of_the_estimator(model, wines):
    frame, _ = wines
    expected = model.estimator.predict_proba(model.transform(frame))
    np.testing.assert_array_equal(model.predict_proba(frame), expected)
    assert model.classes_.tolist() == ["class_0", "class_1", "class_2"]
    bare = TableModel(model.columns, model.similarity_)
    with pytest.raises(ValueError, match=r"the model is a Mahalanobis, which has no probabilities"):
        bare.predict_proba(frame)


def test_queries_may_lack_columns_where_that_is_allowed(model, wines):
    frame, _ = wines
    partial = frame[["alcohol", "hue"]]
    with pytest.raises(ValueError, match="no column 'malic_acid'"):
        model.transform_queries(partial)
    X = model.transform_queries(partial, absent="impute")
    others = frame.drop(columns=["alcohol", "hue"]).median()
    completed = partial.assign(**others)
    np.testing.assert_array_equal(X, model.transform_queries(completed))
    assert model.columns.missing_columns(partial) == list(others.index)
    with pytest.raises(ValueError, match="no column 'alcohol'"):
        model.transform_queries(pd.DataFrame({"alcohols": [1.0]}), absent="impute")
    with pytest.raises(ValueError, match="absent must be"):
        model.transform_queries(partial, absent="ignore")


def test_every_kind_of_column_may_be_absent():
    table = pd.DataFrame(
        {
            "x": [1.0, 2.0, 3.0, 4.0],
            "when": ["2024-03-05", "2024-03-06", "2024-03-07", "2024-04-07"],
            "kind": ["a", "b", "a", "b"],
            "about": ["one red shoe here", "one blue shoe there", "a red hat here", "a blue hat"],
            "vector": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]],
        }
    )
    columns = Columns().fit(table)
    X = columns.transform(table[["x"]], absent="impute")
    missing = columns.transform(table.assign(when=None, kind=None, about=None, vector=None))
    np.testing.assert_array_equal(X, missing)
    assert columns.missing_columns(table[["x"]]) == ["vector", "when", "kind", "about"]


def test_any_library_and_any_order_of_columns_will_do(model, wines):
    frame, _ = wines
    expected = model.score(frame[:3], frame)
    turned = frame[frame.columns[::-1]].assign(remark="ignored")
    np.testing.assert_array_equal(model.score(pl.from_pandas(turned[:3]), turned), expected)


def test_it_is_saved_as_data_and_comes_back_the_same(model, wines, tmp_path):
    frame, _ = wines
    model.save(tmp_path / "wine.safetensors")
    again = lw.load(tmp_path / "wine.safetensors")
    assert repr(again) == "TableModel(13 features, SimilarityClassifier)"
    assert again.target == "grower"
    np.testing.assert_array_equal(again.score(frame, frame), model.score(frame, frame))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert lw.as_similarity(again) is again.similarity_


def test_a_renamed_column_is_refused_by_name(model, wines):
    with pytest.raises(ValueError, match=r"no column 'alcohol', .* renamed to 'alcohols'\?"):
        model.predict(wines[0].rename(columns={"alcohol": "alcohols"}))


def test_queries_may_have_columns_of_their_own(rng):
    items = pd.DataFrame(rng.normal(size=(6, 3)), columns=list("abc"))
    queries = pd.DataFrame(rng.normal(size=(4, 2)), columns=list("xy"))
    learner = lw.AROMA().fit_triplets([[0, 1, 2], [1, 2, 3]], queries, items)
    model = TableModel(
        Columns(scale="none").fit(items), learner, Columns(scale="none").fit(queries)
    )
    expected = learner.similarity_.score(queries, items)
    np.testing.assert_array_equal(model.score(queries, items), expected)
    with pytest.raises(ValueError, match="fitted without labels"):
        model.predict(items)


def test_a_classifier_without_a_similarity_says_so(wines):
    frame, labels = wines
    columns = Columns().fit(frame)
    model = TableModel(columns, lw.DBoost(n_rounds=5).fit(columns.transform(frame), labels))
    assert len(model.predict(frame)) == len(frame)
    with pytest.raises(ValueError, match="DBoost, which predicts but has no similarity"):
        model.score(frame, frame)


def test_its_parts_are_checked(model):
    with pytest.raises(TypeError, match="columns must be Columns"):
        TableModel(None, model.estimator)
    with pytest.raises(TypeError, match="query_columns must be Columns"):
        TableModel(model.columns, model.estimator, "id")
    with pytest.raises(TypeError, match="estimator must be an estimator or a similarity"):
        TableModel(model.columns, 3)


@pytest.mark.parametrize("max_words", [20, 5000])  # dense, sparse
def test_training_rows_are_recognized_in_any_part_of_a_table(rng, max_words):
    words = [f"w{i}" for i in range(3000)]
    frame = pd.DataFrame(
        {
            "price": np.where(rng.random(80) < 0.1, np.nan, rng.normal(size=80) * 1e6),
            "kind": rng.choice(["boot", "shoe"], 80),
            "text": [" ".join(rng.choice(words, 60)) for _ in range(80)],
            "made": pd.date_range("2024-01-01", periods=80, freq="31h"),
        }
    )
    columns = Columns(text=["text"], max_words=max_words).fit(frame[:50])
    model = TableModel(
        columns,
        lw.SimilarityClassifier(similarity="cosine"),
        training_rows=row_digests(columns.transform(frame[:50])),
    )
    order = rng.permutation(80)
    for part in (order[:7], order[7:]):
        np.testing.assert_array_equal(model.is_training_row(frame.iloc[part]), part < 50)


def test_digests_are_checked(model):
    with pytest.raises(TypeError, match="training_rows must be a 1-D array of uint64"):
        TableModel(model.columns, model.estimator, training_rows=np.arange(3.0))


def test_rows_are_left_out_of_their_own_predictions_where_votes_decide(model, wines):
    frame, labels = wines
    left_out = model.predict_left_out(frame[::-1])
    ids = model.estimator.kneighbors().ids[::-1]
    for row in range(len(frame)):
        names, counts = np.unique(labels[ids[row]], return_counts=True)
        assert left_out[row] in names[counts == counts.max()]
    model.estimator.set_params(rule="symmetric")
    assert model.predict_left_out(frame) is None
    with pytest.raises(ValueError, match="X is None, which stands for the training rows"):
        model.estimator.predict(None)
