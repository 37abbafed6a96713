"""What is chosen inside is scored outside, within a time, and said honestly."""

import dataclasses
import os
import signal
import warnings
from pathlib import Path

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
from likewise.selection import FAMILIES, Family, default_families, family_named, select
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


def test_all_families_of_classes_include_lmnn_and_nca(table):
    both = [
        dataclasses.replace(family, grid=family.grid[:1])
        for family in FAMILIES
        if family.name in ("lmnn", "nca")
    ]
    found = select(*table, families=both, n_splits=2)
    assert {"LMNN", "NCA"} <= {row["name"] for row in found.rows}


def test_outer_scores_are_those_of_cross_validation(table):
    rows, labels = table
    settings = {"scale": "standard", "n_neighbors": 5}
    alone = dataclasses.replace(family_named("euclidean"), grid=(settings,))
    found = select(rows, labels, families=[alone], n_splits=4)
    pipeline = make_pipeline(Columns(), lw.SimilarityClassifier(n_neighbors=5))
    splits = StratifiedKFold(4, shuffle=True, random_state=0)
    expected = cross_val_score(pipeline, rows.to_pandas(), labels, cv=splits)
    row = next(row for row in found.rows if row["chosen"])
    np.testing.assert_allclose(row["scores"], expected)
    np.testing.assert_allclose(found.nested, expected)


def figures(found):
    """Return the rows without their times."""
    return [{key: row[key] for key in row if key != "fit_seconds"} for row in found.rows]


def test_the_same_seed_gives_the_same_choice(table):
    first, second = (select(*table, families=FAST, n_splits=3, random_state=1) for _ in range(2))
    assert figures(first) == figures(second)
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
    assert found.table().heads[2:4] == ["inner", "accuracy"]


def test_rivals_are_compared_only_where_they_are_named(table):
    named = {family.name for family in FAMILIES if family.by_name}
    assert named == {"itml", "lego", "pola", "mmc", "mcml"}
    usual = default_families("classification")
    assert [family.name for family in usual] == [f.name for f in FAMILIES if f.name not in named]
    found = select(*table, families=[family_named("itml")], choose_from=["itml"], n_splits=2)
    assert found.family.name == "itml"


def test_fewer_splits_than_asked_for_are_said(table):
    labels = table[1]
    largest = max(list(labels).count(name) for name in set(labels))
    found = select(*table, families=FAST[:1], n_splits=500)
    assert len(found.nested) == largest
    assert f"Compared in {largest} splits instead of 500: " in " ".join(found.notes)
    assert "instead of" not in " ".join(select(*table, families=FAST[:1], n_splits=3).notes)


def test_a_family_to_choose_from_is_named_as_given(table):
    found = select(*table, families=FAST[:2], choose_from=[FAST[0].name], n_splits=2)
    assert ", as given by choose_from (" in found.reason


def test_labels_without_meaning_are_not_learned(rng):
    """A choice scored on what it was made on would look better than chance."""
    rows, labels = rng.normal(size=(120, 4)), np.repeat([0, 1], 60)
    found = select(rows, rng.permutation(labels), families=FAST, n_splits=4)
    assert abs(found.nested.mean() - 0.5) < 0.17


def test_inner_scores_are_of_rows_that_were_not_learned_from(rng):
    """One neighbor knows each row that it has learned from, whatever its label."""
    rows, labels = rng.normal(size=(120, 4)), rng.permutation(np.repeat([0, 1], 60))
    settings = {"scale": "standard", "n_neighbors": 1}
    alone = dataclasses.replace(family_named("euclidean"), grid=(settings,))
    found = select(rows, labels, families=[alone], n_splits=4)
    assert all(row["inner"] < 0.7 for row in found.rows)


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
        assert np.mean(fitted.predict(X) == labels) > (0.3 if family.is_constant else 0.4)
        assert hasattr(fitted, "similarity_") == family.searchable


def test_sparse_rows_leave_out_who_cannot_take_them(rng):
    X = csr_matrix(rng.poisson(0.7, size=(40, 6)).astype(float))
    y = (X.toarray()[:, 0] > 0).astype(int)
    found = select(X, y, families=FAST, n_splits=2)
    assert {row["name"] for row in found.rows} == {
        "majority class",
        "Euclidean kNN",
        "cosine kNN",
        "logistic regression",
    }
    assert "Left out, because rows are sparse: LMNN." in found.notes
    with pytest.raises(ValueError, match="none of the families to choose from takes these"):
        select(X, y, families=FAST, choose_from=["lmnn"], n_splits=2)


def test_a_table_with_too_many_rows_leaves_out_who_cannot_take_them(table):
    few = dataclasses.replace(family_named("mcml"), max_rows=59)
    found = select(*table, families=[*FAST[:1], few], n_splits=2)
    assert "Left out, because the table has 60 rows: MCML." in found.notes
    assert family_named("mcml").max_rows == 10_000


def test_a_scale_that_changes_nothing_is_tried_once():
    kinds = pa.table({"kind": ["boot", "boot", "sandal", "sandal"] * 5})
    found = select(kinds, ["u", "u", "v", "v"] * 5, families=FAST[:1], n_splits=2)
    assert found.nested.mean() == 1.0
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
    assert [row["name"] for row in found.rows] == ["Euclidean kNN", "majority class"]


def pressing(name, kind="reference", *, cheap=False):
    """Return a family that presses Ctrl-C in its first fit."""

    def make(settings, seed):
        os.kill(os.getpid(), signal.SIGINT)
        return lw.SimilarityClassifier()

    return Family(name, name, kind, "", make, ({"scale": "none"},), cheap=cheap)


def test_ctrl_c_keeps_the_finished_families(table):
    with pytest.warns(InterruptedWarning, match="kept: the best so far"):
        found = select(*table, families=[*FAST[:2], pressing("late")], n_splits=3)
    assert len(found.nested) == 3
    assert {row["name"] for row in found.rows} == {"majority class", "Euclidean kNN", "cosine kNN"}
    assert any("Interrupted: families and settings" in note for note in found.notes)


def test_ctrl_c_before_anything_is_known_keeps_nothing_and_says_only_that(table):
    families = [pressing("early", "baseline", cheap=True), *FAST]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(KeyboardInterrupt):
            select(*table, families=families, n_splits=3)
    assert not [w for w in caught if issubclass(w.category, InterruptedWarning)]


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
    assert len(found.nested) == 5
    assert sorted(found.predictions[0]) == sorted(labels)


def test_frames_of_pandas_and_arrays_are_taken_too(table):
    rows, labels = table
    expected = figures(select(rows, labels, families=FAST[:2], n_splits=2))
    frame = rows.to_pandas()
    assert figures(select(frame, labels, families=FAST[:2], n_splits=2)) == expected
    array = frame.to_numpy()
    assert figures(select(array, labels, families=FAST[:2], n_splits=2)) == expected
    odd = pd.DataFrame(frame).set_index(np.arange(60)[::-1])
    assert figures(select(odd, labels, families=FAST[:2], n_splits=2)) == expected


def test_parameters_are_checked(table):
    with pytest.raises(ValueError, match="budget must be finite and above"):
        select(*table, budget=0)
    with pytest.raises(ValueError, match="n_splits must be at least 2"):
        select(*table, n_splits=1)
    with pytest.raises(ValueError, match=r"learner must be one of .* Did you mean 'lmnn'\?"):
        selection.family_named("lmn")
    with pytest.raises(ValueError, match="families is empty"):
        select(*table, families=[])


def test_rare_classes_are_found_or_that_none_is_found_is_said():
    """Classes of 83, 12 and 5 %: the accuracy of a constant is .83, its balanced accuracy .33."""
    source = Path(__file__).parents[1] / "data" / "tables" / "imbalanced.csv"
    table = lw.tables.read_table(source, target="status")
    found = select(table.rows, table.labels, families=[*FAST, family_named("nca")], n_splits=3)
    assert found.scoring.name == "balanced_accuracy"
    assert "classes have 5\u00a0% to 83\u00a0% of the rows" in found.notes[0]
    by_name = {row["name"]: row for row in found.rows}
    assert by_name["majority class"]["mean"] == pytest.approx(1 / 3)
    assert by_name["majority class"]["recall"] == {"late": 0.0, "lost": 0.0, "ok": 1.0}
    assert found.nested.mean() > 1 / 3 + 0.05
    assert min(found.recall.values()) > 0
    by_accuracy = select(table.rows, table.labels, families=[blind()], scoring="accuracy")
    assert by_accuracy.verdict.startswith("Warning: the choice made in each split (blind) pre")
    assert "No model was found that improves on the accuracy of the majority class (83.1" in (
        by_accuracy.verdict
    )


def blind():
    """Return a family whose neighbors are so many that the largest class always wins."""
    settings = {"scale": "none", "n_neighbors": 150}
    return dataclasses.replace(
        family_named("euclidean"), name="blind", title="blind", grid=(settings,)
    )


@pytest.mark.parametrize("scoring", ["f1_macro", "roc_auc", "log_loss"])
def test_scores_are_those_of_cross_validation_by_other_measures(scoring, table):
    rows, labels = table
    settings = {"scale": "standard", "n_neighbors": 5}
    alone = dataclasses.replace(family_named("euclidean"), grid=(settings,))
    svm = dataclasses.replace(family_named("svm"), grid=family_named("svm").grid[:1])
    found = select(rows, labels, families=[alone, svm], n_splits=3, scoring=scoring)
    pipeline = make_pipeline(Columns(), lw.SimilarityClassifier(n_neighbors=5))
    splits = StratifiedKFold(3, shuffle=True, random_state=0)
    name = {"roc_auc": "roc_auc_ovr", "log_loss": "neg_log_loss"}.get(scoring, scoring)
    expected = cross_val_score(pipeline, rows.to_pandas(), labels, cv=splits, scoring=name)
    np.testing.assert_allclose(found.nested, np.abs(expected))
    left_out = "Left out, because log loss needs probabilities: RBF SVM."
    assert (left_out in found.notes) == (scoring == "log_loss")
    best = min if scoring == "log_loss" else max
    assert found.rows[0]["mean"] == best(row["mean"] for row in found.rows)
