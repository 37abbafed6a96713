"""What is chosen inside is scored outside, within a time, and said honestly."""

import dataclasses
import os
import signal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_blobs
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

import likewise as lw
from likewise import selection
from likewise.exceptions import InterruptedWarning
from likewise.selection import FAMILIES, Family, family_named, select
from likewise.selection import _select as module
from likewise.tables import Columns, TableModel

FAST = tuple(
    dataclasses.replace(family, grid=family.grid[:2])
    for family in map(family_named, ("euclidean", "cosine", "lmnn", "logistic"))
)


@pytest.fixture
def table():
    X, y = make_blobs(60, n_features=3, centers=3, cluster_std=2.0, random_state=0)
    names = np.array(["red", "green", "blue"])
    return pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}), names[y]


def test_outer_scores_are_those_of_cross_validation(table):
    rows, labels = table
    settings = {"scale": "standard", "n_neighbors": 5}
    alone = dataclasses.replace(family_named("euclidean"), grid=(settings,))
    found = select(rows, labels, families=[alone], n_splits=4)
    pipeline = make_pipeline(Columns(), lw.SimilarityClassifier(n_neighbors=5))
    splits = StratifiedKFold(4, shuffle=True, random_state=0)
    expected = cross_val_score(pipeline, rows.to_pandas(), labels, cv=splits)
    np.testing.assert_allclose(found.rows[0]["scores"], expected)
    np.testing.assert_allclose(found.nested, expected)


def test_the_same_seed_gives_the_same_choice(table):
    first, second = (select(*table, families=FAST, n_splits=3, random_state=1) for _ in range(2))
    assert first.rows == second.rows
    assert first.family is second.family
    np.testing.assert_array_equal(first.predictions[1], second.predictions[1])


def test_every_kind_is_compared_and_one_that_searches_is_chosen(table):
    found = select(*table, families=FAST, n_splits=3)
    assert [row["name"] for row in found.rows if row["chosen"]] == [found.family.title]
    assert found.family.searchable
    assert {row["kind"] for row in found.rows} == {"baseline", "learned", "reference"}
    assert [row["mean"] for row in found.rows] == sorted(
        (row["mean"] for row in found.rows), reverse=True
    )
    truth, predicted = found.predictions
    assert sorted(truth) == sorted(table[1])
    assert np.mean(truth == predicted) == pytest.approx(found.nested.mean(), abs=0.02)
    assert found.table().heads[2] == "accuracy"


def test_labels_without_meaning_are_not_learned(rng):
    """A choice scored on what it was made on would look better than chance."""
    rows, labels = rng.normal(size=(120, 4)), np.repeat([0, 1], 60)
    found = select(rows, rng.permutation(labels), families=FAST, n_splits=4)
    assert abs(found.nested.mean() - 0.5) < 0.17


def test_columns_are_fitted_once_a_split_on_the_training_rows_alone(table, monkeypatch):
    seen = []
    fit = Columns.fit_scales
    monkeypatch.setattr(
        Columns, "fit_scales", lambda self, X, scales: seen.append(len(X)) or fit(self, X, scales)
    )
    select(*table, families=FAST, n_splits=3)
    assert seen == [40, 40, 40]  # one fit a split, for two scales


def test_what_was_chosen_is_fitted_on_all_rows_and_can_be_saved(table, tmp_path):
    rows, labels = table
    found = select(rows, labels, families=FAST, choose_from=["lmnn"], n_splits=2)
    assert found.chosen == "lmnn"
    model = found.fit(rows, labels, target="color")
    assert isinstance(model, TableModel)
    assert len(model.estimator.items_) == 60
    assert model.columns.scale == found.settings["scale"]
    model.save(tmp_path / "model")
    again = lw.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


@pytest.mark.filterwarnings("ignore::UserWarning")  # such as: nothing better than the start
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_and_setting_can_be_fitted(family, table):
    rows, labels = table
    for settings in family.grid:
        X = Columns(scale=settings["scale"]).fit_transform(rows)
        fitted = family.estimator(settings, 0).fit(X, labels)
        assert np.mean(fitted.predict(X) == labels) > 0.4
        assert hasattr(fitted, "similarity_") == family.searchable


def test_little_time_still_gives_one_split(table):
    found = select(*table, families=FAST, budget=1e-9, n_splits=3)
    assert len(found.nested) == 1
    assert found.chosen == "euclidean"
    assert any("The budget was too short for" in note for note in found.notes)


def test_a_budget_for_some_splits_is_reported(table, monkeypatch):
    found = select(*table, families=FAST[:2], budget=1e-4, n_splits=3)
    assert len(found.nested) < 3
    assert any("a larger budget gives more reliable figures" in note for note in found.notes)


def test_rows_beyond_many_are_sampled_and_that_is_said(table, monkeypatch):
    monkeypatch.setattr(module, "_MAX_ROWS", 30)
    found = select(*table, families=FAST[:2], n_splits=2)
    assert len(found.predictions[0]) == 30
    assert "Compared on 30 of 60 rows" in found.notes[0]


def test_sparse_rows_leave_out_who_cannot_take_them(rng):
    X = csr_matrix(rng.poisson(0.7, size=(40, 6)).astype(float))
    y = (X.toarray()[:, 0] > 0).astype(int)
    found = select(X, y, families=FAST, n_splits=2)
    assert {row["name"] for row in found.rows} == {
        "Euclidean kNN",
        "cosine kNN",
        "logistic regression",
    }
    assert "Left out, because rows are sparse: LMNN." in found.notes
    with pytest.raises(ValueError, match="none of the families to choose from takes these"):
        select(X, y, families=FAST, choose_from=["lmnn"], n_splits=2)


def test_a_scale_that_changes_nothing_is_tried_once():
    kinds = pa.table({"kind": ["boot", "boot", "sandal", "sandal"] * 5})
    found = select(kinds, ["u", "u", "v", "v"] * 5, families=FAST[:1], n_splits=2)
    assert found.rows[0]["mean"] == 1.0
    family = module._with_one_scale(family_named("euclidean"))
    assert [s["n_neighbors"] for s in family.grid] == [5, 1, 15]


def test_wide_rows_are_learned_from_in_fewer_directions(rng):
    X = rng.normal(size=(40, 101))
    X[:20, 0] += 6
    found = select(X, np.repeat([0, 1], 20), families=FAST[::2], choose_from=["lmnn"], n_splits=2)
    model = found.fit(X, np.repeat([0, 1], 20))
    assert model.similarity_.L.shape == (30, 101)


def test_minus_one_is_a_class_like_others(table):
    rows, labels = table
    signs = np.where(labels == "red", -1, 1)
    families = (*FAST[:1], family_named("landmarks"))
    found = select(rows, signs, families=families, n_splits=2)
    assert [row["name"] for row in found.rows] == ["Euclidean kNN"]


def test_ctrl_c_keeps_the_finished_splits(table):
    def pressing(settings, seed):
        os.kill(os.getpid(), signal.SIGINT)
        return lw.SimilarityClassifier()

    presses = Family("late", "late", "reference", "", pressing, ({"scale": "none"},),
                     searchable=False)  # fmt: skip
    with pytest.warns(InterruptedWarning, match="kept: the best so far"):
        found = select(*table, families=[*FAST[:2], presses], n_splits=3)
    assert len(found.nested) == 1
    assert any("Interrupted: the figures are of 1 of 3 splits" in note for note in found.notes)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1] * 60, "the target has one class, 1; at least two"),
        ([0] * 59 + [7], "class '7' of the target has one row"),
        ([0] * 58 + [7, 8], r"class '7' \(and 1 more\)"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(table, labels, message):
    with pytest.raises(ValueError, match=message):
        select(table[0], labels, families=FAST)


def test_a_class_of_two_rows_is_enough(table):
    labels = np.where(np.arange(60) < 2, "rare", "common")
    found = select(table[0], labels, families=FAST[:2])
    assert len(found.nested) == 2


def test_the_verdict_tells_when_learning_is_not_worth_it(rng):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] ** 2 + X[:, 1] ** 2 > 1.2).astype(int)  # a circle: nothing for a linear map
    found = select(X, y, families=FAST, n_splits=4)
    verdict = found.verdict
    assert ("does not help here" in verdict) != ("percentage points" in verdict)
    best = {kind: max(r["mean"] for r in found.rows if r["kind"] == kind)
            for kind in ("baseline", "learned")}  # fmt: skip
    assert ("does not help here" in verdict) == (best["learned"] <= best["baseline"])


def test_frames_of_pandas_and_arrays_are_taken_too(table):
    rows, labels = table
    expected = select(rows, labels, families=FAST[:2], n_splits=2)
    frame = rows.to_pandas()
    assert select(frame, labels, families=FAST[:2], n_splits=2).rows == expected.rows
    array = frame.to_numpy()
    assert select(array, labels, families=FAST[:2], n_splits=2).rows == expected.rows
    odd = pd.DataFrame(frame).set_index(np.arange(60)[::-1])
    assert select(odd, labels, families=FAST[:2], n_splits=2).rows == expected.rows


def test_parameters_are_checked(table):
    with pytest.raises(ValueError, match="budget must be finite and above"):
        select(*table, budget=0)
    with pytest.raises(ValueError, match="n_splits must be at least 2"):
        select(*table, n_splits=1)
    with pytest.raises(ValueError, match=r"learner must be one of .* Did you mean 'lmnn'\?"):
        selection.family_named("lmn")
    with pytest.raises(ValueError, match="families is empty"):
        select(*table, families=[])
