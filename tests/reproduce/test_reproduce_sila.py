"""Tables 1 and 2 and Figure 1 of the SiLA paper."""

import json
import socket

import numpy as np
import pytest
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier

import likewise as lw
from reproduce import Row, reproduce, sila


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """Hide the folder and scikit-learn's cache, and send every download to a closed port."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # never listening: a connection is refused
        for scheme in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(scheme, f"http://127.0.0.1:{bound.getsockname()[1]}")
        for exception in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(exception, raising=False)
        monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
        monkeypatch.delenv("LIKEWISE_DATA", raising=False)
        yield


def keep(monkeypatch, *settings):
    """Keep only these settings of Table 1, with one seed, one form, and little training."""
    published = {name: sila._PUBLISHED[name] for name in settings if name != "votes"}
    monkeypatch.setattr(sila, "_PUBLISHED", published)
    monkeypatch.setattr(sila, "_MULTICLASS", {})
    monkeypatch.setattr(sila, "_SEEDS", range(1))
    monkeypatch.setattr(sila, "_NEIGHBORS", (1, 5))
    monkeypatch.setattr(sila, "_FORMS", (("symmetric", "zero"),))
    monkeypatch.setattr(sila, "_EPOCHS", dict.fromkeys((*settings, "wine"), 5))
    monkeypatch.setattr(sila, "_LEARNED_NEIGHBORS", dict.fromkeys((*settings, "wine"), (1,)))
    monkeypatch.setattr(sila, "_CURVE", (1, 2))
    monkeypatch.setattr(sila, "_curves", {})


def test_the_table_is_written_and_drawn(monkeypatch, tmp_path):
    keep(monkeypatch, "balance")
    rows = reproduce("sila", tmp_path)
    table = [row for row in rows if row.setting == "balance"]
    assert [(row.method, row.published) for row in table] == [
        ("kNN euclidean", 0.911),
        ("kNN cosine", 0.959),
        ("SkNN cosine", 0.969),
        ("kNN-A symmetric", 0.979),
        ("SkNN-A symmetric", 0.983),
    ]
    assert all(0.8 < row.ours < 1 and 0 < row.deviation < 0.1 for row in table)
    assert table[0].note in ("k=1, 5 splits", "k=5, 5 splits")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "sila-figure1.png",
        "sila-table1.png",
        "sila.json",
        "sila.md",
    ]
    assert json.loads((tmp_path / "sila.json").read_text())["rows"][1]["published"] == 0.959
    assert (tmp_path / "sila-table1.png").read_bytes().startswith(b"\x89PNG")


def test_a_set_that_is_not_to_be_had_is_a_row_with_a_note(monkeypatch, tmp_path, offline):
    keep(monkeypatch, "news")
    news, *_ = reproduce("sila", tmp_path)
    assert (news.setting, news.ours, news.deviation) == ("news", None, None)
    assert "LIKEWISE_DATA" in news.note
    assert "| news | all | – | – | – | " in (tmp_path / "sila.md").read_text()


def test_only_the_sets_that_are_named_are_measured(monkeypatch):
    keep(monkeypatch, "balance", "iris")
    assert {row.setting for row in sila.rows("Iris")} == {"iris"}


def test_dice_and_jaccard_are_learned_at_least_as_good_as_their_bases(monkeypatch, data_dir):
    keep(monkeypatch, "votes")
    monkeypatch.setattr(sila, "_EPOCHS", {"votes": 10})
    found = {row.method: row.ours for row in sila.rows()}
    assert len(found) == 4
    for norm in ("dice", "jaccard"):
        assert found[f"SiLA {norm}, symmetric"] >= found[norm] > 0.9


def test_a_figure_without_any_measured_row_can_be_drawn(monkeypatch):
    monkeypatch.setattr(sila, "_curves", {})
    ((title, figure),) = sila.figures([])
    assert title == "table1"
    assert figure.axes[0].get_ylabel() == "average accuracy"


def test_bars_are_as_high_as_the_measured_rows(monkeypatch):
    monkeypatch.setattr(sila, "_curves", {})
    rows = [Row("news", "all", None, None), Row("balance", "kNN cosine", 0.959, 0.96, 0.01)]
    ((_, figure),) = sila.figures(rows)
    assert [bar.get_height() for bar in figure.axes[0].patches] == [0.959, 0.96]


def test_the_curve_goes_on_from_where_it_is(monkeypatch):
    """Figure 1 after four epochs is what four epochs at once give."""
    monkeypatch.setattr(sila, "_SEEDS", range(1))
    monkeypatch.setattr(sila, "_CURVE", (1, 2, 4))
    monkeypatch.setattr(sila, "_curves", {})
    one, _ = sila._long_run("wine", list(sila._folds("wine")))
    right = []
    for split in sila._folds("wine"):
        learner = lw.SiLA("symmetric", n_neighbors=1, n_epochs=4, protocol="one_vs_rest")
        right.append(sila._average(split, learner.fit(*split[:2]).similarities_, "kNN", 1))
    assert one.ours == pytest.approx(np.mean(right))
    assert sila._curves[1].shape == (3, 2)
    assert (np.diff(sila._curves[1][:, 0]) > 0).all()


def test_all_classes_at_once_are_measured_beside_what_the_paper_quotes(monkeypatch):
    keep(monkeypatch, "iris")
    monkeypatch.setattr(sila, "_EPOCHS", {"iris": 20})
    published = {"MCML": 0.9, "ITML": 0.9, "SVM": 0.9, "SiLA": 0.982, "LMNN": 0.953}
    rows = list(sila._all_classes("iris", published, list(sila._folds("iris"))))
    assert [row.method for row in rows] == ["SiLA symmetric", "MCML", "LMNN", "ITML", "SVM"]
    assert all(row.ours > 0.9 for row in rows)
    assert [row.published for row in rows] == [0.982, 0.9, 0.953, 0.9, 0.9]


def test_a_part_of_a_set_is_measured_alone(monkeypatch):
    keep(monkeypatch, "iris", "wine")
    assert [row.method for row in sila.rows("iris: bases")] == [
        "kNN euclidean", "kNN cosine", "SkNN cosine",
    ]  # fmt: skip
    assert {row.method for row in sila.rows("iris: symmetric")} == {
        "kNN-A symmetric", "SkNN-A symmetric",
    }  # fmt: skip


def test_columns_are_standardized_by_the_training_part(monkeypatch):
    monkeypatch.setattr(sila, "_SEEDS", range(1))
    raw, scaled = (list(sila._folds(name)) for name in ("wine", "wine, standardized"))
    for (X, y, X_test, _), (Z, labels, Z_test, _) in zip(raw, scaled, strict=True):
        np.testing.assert_array_equal(y, labels)
        np.testing.assert_allclose(Z, (X - X.mean(axis=0)) / X.std(axis=0), atol=1e-9)
        np.testing.assert_allclose(Z_test, (X_test - X.mean(axis=0)) / X.std(axis=0), atol=1e-9)


def test_each_rule_is_validated_by_itself():
    learners = [sila._learner("square", "zero", "iris", 3, rule=rule) for rule in ("kNN", "SkNN")]
    assert [each.validation_rule for each in learners] == ["majority", "symmetric"]
    assert {each.protocol for each in learners} == {"one_vs_rest"}


@pytest.mark.parametrize("similarity", ["euclidean", "cosine"])
def test_one_against_rest_averages_over_one_binary_problem_a_class(similarity, rng, monkeypatch):
    """As scikit-learn's neighbors do on each problem; an odd k cannot tie."""
    monkeypatch.setattr(sila, "_NEIGHBORS", (1, 3, 7))
    X, X_test = rng.normal(size=(90, 3)), rng.normal(size=(40, 3))
    y, y_test = rng.integers(3, size=90), rng.integers(3, size=40)
    found = sila._one_against_rest(similarity, X, y, X_test, y_test)
    expected = []
    for k in (1, 3, 7):
        problems = OneVsRestClassifier(KNeighborsClassifier(k, metric=similarity)).fit(X, y)
        right = [
            np.mean(binary.predict(X_test) == (y_test == c))
            for c, binary in enumerate(problems.estimators_)
        ]
        expected.append(np.mean(right))
    assert found == pytest.approx(expected)


def test_a_part_is_named_as_in_the_table_or_with_a_colon():
    for only in ("wine, Figure 1", "wine: figure 1", "Figure"):
        assert sila._is_meant(only, "wine", "Figure 1")
    assert not sila._is_meant("wine, Figure 1", "wine", "bases")
    assert not sila._is_meant("wine, Figure 1", "wine, standardized", "Figure 1")


def test_folds_cover_every_row_once_a_seed(monkeypatch):
    monkeypatch.setattr(sila, "_SEEDS", range(2))
    folds = list(sila._folds("balance"))
    assert len(folds) == 10
    everything = np.unique(lw.datasets.load("balance").X, axis=0)
    for seed in (folds[:5], folds[5:]):
        tested = np.concatenate([X_test for _, _, X_test, _ in seed])
        assert np.array_equal(tested[np.lexsort(tested.T[::-1])], everything)
    for X, _, X_test, _ in folds:
        assert len(X) + len(X_test) == 625


def test_what_is_learned_on_balance_is_above_cosine_on_the_same_folds(monkeypatch):
    """Published .979 and .959, the average of one classifier against the rest for each class."""
    keep(monkeypatch, "balance")
    monkeypatch.setattr(sila, "_EPOCHS", {"balance": 8})
    monkeypatch.setattr(sila, "_FORMS", (("square", "zero"),))
    splits = list(sila._folds("balance"))
    found = {
        row.method: row.ours
        for part in ("bases", "square")
        for row in sila._measure("balance", part, splits)
    }
    assert found["kNN-A square"] >= 0.965
    assert found["kNN-A square"] > found["kNN cosine"] >= 0.95
