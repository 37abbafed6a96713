"""LMNN's table: parameters by validation, leave-one-out errors, and a column for each method."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier

from reproduce import Row, lmnn


@pytest.fixture
def split(rng):
    X, y = load_iris(return_X_y=True)
    order = rng.permutation(150)
    return X[order[:90]], y[order[:90]], X[order[90:]], y[order[90:]]


@pytest.fixture
def one_setting(monkeypatch, split):
    """Replace the sets by one, and try few parameters."""
    setting = lmnn.Setting("flowers", lambda: iter([split]), published={"LMNN tuned": 4.7})
    monkeypatch.setattr(lmnn, "SETTINGS", [setting])
    monkeypatch.setattr(lmnn, "_KS", (3, 1))
    monkeypatch.setattr(lmnn, "_CS", (1.0, 0.1))


def test_every_method_is_measured_and_has_its_column(one_setting):
    rows = list(lmnn.rows())
    measured = {row.method: row for row in rows}
    assert set(measured) == set(lmnn._METHODS) - {"SVM polynomial"}  # which is for MNIST
    assert all(0 <= row.ours < 20 for row in rows)
    assert measured["LMNN tuned"].published == 4.7
    assert measured["LMNN tuned"].note.startswith("1 split of 90 rows; LMNN k=")
    neighbors, training, rivals, svms, notes = lmnn.tables(rows)
    assert neighbors.heads == ("set", *lmnn.NEIGHBORS)
    assert neighbors.rows[0][4] == f"{measured['LMNN tuned'].ours:.2f} [4.7]"
    assert len(training.rows) == len(rivals.rows) == len(svms.rows) == len(notes.rows) == 1
    assert svms.rows[0][-1] == "–"
    ((name, figure),) = lmnn.figures(rows)
    assert (name, len(figure.axes[0].patches)) == ("errors", len(lmnn.NEIGHBORS) + 2)


def test_test_rows_leave_no_trace_in_what_is_tuned(split, one_setting):
    X, y, X_test, _ = split
    told = [lmnn._tuned_lmnn((X, y, rows, labels))["majority"] for rows, labels in
            ((X_test, split[3]), (1e6 * X_test, (split[3] + 1) % 3))]  # fmt: skip
    assert told[0][:2] == told[1][:2]
    np.testing.assert_array_equal(told[0].model.components_, told[1].model.components_)
    inner = lmnn.validation_split(split)
    assert len(inner[0]) == 63
    both = np.vstack([inner[0], inner[2]])
    np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(X, axis=0))


def test_training_errors_leave_the_row_out(split):
    X, y = split[:2]
    expected = np.mean([
        KNeighborsClassifier(1).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])
        != y[i]
        for i in range(len(X))
    ])  # fmt: skip
    assert lmnn.leave_one_out_error("euclidean", split, 1) == pytest.approx(100 * expected)


def test_a_deviation_and_a_published_value_are_shown():
    assert lmnn._cell(None) == "–"
    assert lmnn._cell(Row("a", "b", None, 2.0)) == "2.00"
    assert lmnn._cell(Row("a", "b", 1.3, 2.0, 0.24)) == "2.00 ± 0.2 [1.3]"
    assert lmnn._choice("LMNN", ["k=3", "k=1", "k=3"]) == "LMNN k=3 (2×), k=1 (1×)"
