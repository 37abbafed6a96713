"""Estimators compared on the same splits."""

import os
import signal
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from tests.oracles import comparison as oracle

import likewise as lw
from likewise.exceptions import InterruptedWarning, MissingExtraError

IRIS = lw.datasets.load("iris")
ESTIMATORS = {
    "one": lw.SimilarityClassifier(n_neighbors=1),
    "cosine": lw.SimilarityClassifier(similarity="cosine", n_neighbors=5),
    "theirs": KNeighborsClassifier(40),
}


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers the rows of every fit; presses Ctrl-C in one of them."""

    fits: list = []  # noqa: RUF012 (shared by all clones on purpose)

    def __init__(self, interrupt_at=None):
        self.interrupt_at = interrupt_at

    def fit(self, X, y):
        self.fits.append(np.asarray(X))
        self.classes_ = np.unique(y)
        if len(self.fits) == self.interrupt_at:
            os.kill(os.getpid(), signal.SIGINT)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    monkeypatch.setattr(Recorder, "fits", [])


@pytest.fixture(scope="module")
def report():
    return lw.compare(ESTIMATORS, IRIS.X, IRIS.y)


@pytest.mark.parametrize(
    "cv", [5, RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=1)]
)
@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro"])
def test_scores_are_those_of_cross_val_score(cv, scoring):
    found = lw.compare(ESTIMATORS, IRIS.X, IRIS.y, cv=cv, scoring=scoring, random_state=4)
    same = StratifiedKFold(5, shuffle=True, random_state=4) if cv == 5 else cv
    assert list(found.scores) == list(ESTIMATORS)
    for name, estimator in ESTIMATORS.items():
        expected = cross_val_score(estimator, IRIS.X, IRIS.y, cv=same, scoring=scoring)
        assert_allclose(found.scores[name], expected, rtol=1e-15)


def test_all_estimators_see_the_same_splits(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    lw.compare({"a": Recorder(), "b": Recorder()}, X, y, cv=4)
    assert len(Recorder.fits) == 8
    for first, second in zip(Recorder.fits[::2], Recorder.fits[1::2], strict=True):
        assert_array_equal(first, second)
    assert not np.array_equal(Recorder.fits[0], Recorder.fits[2])


def test_the_seed_decides_on_the_splits():
    means = [
        lw.compare(ESTIMATORS, IRIS.X, IRIS.y, random_state=seed).scores["one"]
        for seed in (0, 0, 1)
    ]
    assert_array_equal(means[0], means[1])
    assert not np.array_equal(means[0], means[2])


def test_the_given_estimators_stay_unfitted(report):
    assert not any(hasattr(estimator, "classes_") for estimator in ESTIMATORS.values())


def test_p_values_are_those_of_the_corrected_test(report):
    for name in ESTIMATORS:
        gaps = report.scores[report.best] - report.scores[name]
        expected = 1.0 if name == report.best else oracle.p_value(gaps, n_test=30, n_train=120)
        assert report.p_value(name) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("n_splits", [2, 3, 10, 30])
@pytest.mark.parametrize("share", [1 / 9, 1.0])
def test_the_corrected_test_follows_its_formula(n_splits, share, rng):
    worse, better = rng.random(n_splits), rng.random(n_splits) + 0.2
    found = comparison({"worse": worse, "better": better}, share)
    if found.best == "worse":
        worse, better = better, worse
    expected = oracle.p_value(better - worse, n_test=share, n_train=1)
    other = next(name for name in found.scores if name != found.best)
    assert found.p_value(other) == pytest.approx(expected, rel=1e-3)
    assert 0 < expected < 1


def comparison(scores, share=0.25):
    seconds = {name: np.ones(len(values)) for name, values in scores.items()}
    n_splits = len(next(iter(scores.values())))
    return lw.Comparison(
        {name: np.asarray(values) for name, values in scores.items()},
        seconds,
        seconds,
        np.full(n_splits, share),
        "accuracy",
    )


def test_equal_scores_do_not_differ_and_equal_gaps_leave_no_test():
    found = comparison({"a": [0.5, 0.7], "b": [0.5, 0.7], "c": [0.4, 0.6]})
    assert found.best == "a"
    assert found.p_value("b") == 1
    assert np.isnan(found.p_value("c"))
    assert "0.000 " not in str(found)


def test_small_p_values_are_not_printed_as_zero():
    found = comparison({"a": [0.9, 0.9001, 0.9], "b": [0.5, 0.5, 0.5]})
    assert 0 < found.p_value("b") < 0.0005
    assert str(found).splitlines()[2].split()[3] == "<0.001"


def test_one_split_tells_nothing_about_a_difference():
    found = comparison({"a": [0.5], "b": [0.4]})
    assert np.isnan(found.p_value("b"))
    assert str(found).splitlines()[2].split()[:4] == ["b", "0.4000", "–", "–"]


def test_the_table_has_the_best_first(report):
    head, *lines = str(report).splitlines()
    assert head.split()[:2] == ["accuracy", "deviation"]
    means = {name: values.mean() for name, values in report.scores.items()}
    assert [line.split()[0] for line in lines] == sorted(means, key=means.get, reverse=True)
    assert [line.split()[3] for line in lines] == [
        "best" if name == report.best else f"{report.p_value(name):.3f}"
        for name in sorted(means, key=means.get, reverse=True)
    ]


def test_the_table_has_mean_and_deviation(report):
    for line in str(report).splitlines()[1:]:
        name, mean, deviation = line.split()[:3]
        values = report.scores[name]
        assert mean == f"{values.mean():.4f}"
        assert deviation == f"{np.sqrt(((values - values.mean()) ** 2).sum() / 4):.4f}"


def test_seconds_are_counted_for_every_split(report):
    for seconds in (report.fit_seconds, report.predict_seconds):
        assert list(seconds) == list(ESTIMATORS)
        assert all(len(values) == 5 and (values > 0).all() for values in seconds.values())


def test_html_escapes_names():
    html = comparison({"<b>bold</b> & more": [0.5, 0.6]})._repr_html_()
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; more" in html
    assert "<b>" not in html


def test_the_representation_names_the_best(report):
    best = report.scores[report.best].mean()
    assert repr(report) == f"Comparison(3 estimators, 5 splits, best={report.best!r} at {best:.4f})"


def test_the_plot_shows_every_split_and_the_tables_deviation(report):
    mpl.use("agg")
    ax = report.plot()
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[-1] == report.best
    for height, (name, bars) in enumerate(zip(names, ax.containers, strict=True)):
        values = report.scores[name]
        assert any(np.array_equal(line.get_xdata(), values) for line in ax.get_lines())
        (segment,) = bars.lines[2][0].get_segments()
        ends = values.mean() + np.array([-1, 1]) * values.std(ddof=1)
        assert_allclose(segment, np.stack([ends, [height, height]], axis=1))
    assert report.plot(ax=ax) is ax
    mpl.pyplot.close(ax.figure)


def test_the_plot_without_matplotlib_says_what_to_install(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\S+\[plots\]'"):
        report.plot()


def test_ctrl_c_keeps_the_finished_splits(rng):
    """The sixth fit is the second of the third split."""
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    before = signal.getsignal(signal.SIGINT)
    estimators = {"a": Recorder(interrupt_at=6), "b": Recorder(interrupt_at=6)}
    with pytest.warns(InterruptedWarning, match=r"after 6 of 10 fits; kept: the finished splits"):
        found = lw.compare(estimators, X, y)
    assert len(Recorder.fits) == 6
    assert {name: len(values) for name, values in found.scores.items()} == {"a": 2, "b": 2}
    assert len(found.test_share) == 2
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("interrupt_at", [1, 2])
def test_ctrl_c_before_the_first_split_is_finished_is_an_interrupt(interrupt_at, rng):
    """Nothing is kept, so nothing is said to be."""
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    estimators = {"a": Recorder(interrupt_at), "b": Recorder(interrupt_at)}
    with pytest.raises(KeyboardInterrupt, match="before the first split"):
        lw.compare(estimators, X, y)
    assert len(Recorder.fits) == interrupt_at


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("series", [pd.Series, pl.Series, list])
def test_frames_and_text_labels_compare_as_arrays_do(frame, series, report):
    names = np.array(["setosa", "versicolor", "virginica"])[IRIS.y]
    columns = {f"x{j}": IRIS.X[:, j] for j in range(4)}
    found = lw.compare(ESTIMATORS, frame(columns), series(names.tolist()))
    for name in ESTIMATORS:
        assert_array_equal(found.scores[name], report.scores[name])


def test_sparse_rows_compare_as_dense_ones_do(report):
    found = lw.compare({"cosine": ESTIMATORS["cosine"]}, csr_array(IRIS.X), IRIS.y)
    assert_allclose(found.scores["cosine"], report.scores["cosine"], atol=0.04)


def test_a_precomputed_matrix_is_cut_on_both_sides():
    matrix = lw.as_similarity("cosine").score(IRIS.X, IRIS.X)
    clf = lw.SimilarityClassifier(similarity="precomputed", n_neighbors=5)
    splits = StratifiedKFold(5, shuffle=True, random_state=0)
    expected = cross_val_score(clf, matrix, IRIS.y, cv=splits)
    assert_array_equal(lw.compare({"given": clf}, matrix, IRIS.y).scores["given"], expected)


def test_words_are_compared_as_a_list():
    by_length = lw.from_distance(lambda a, b: abs(len(a) - len(b)))
    clf = lw.SimilarityClassifier(similarity=by_length, n_neighbors=1)
    words = ["a", "b", "c", "dddd", "eeee", "ffff"]
    found = lw.compare({"length": clf}, words, ["short"] * 3 + ["long"] * 3, cv=3)
    assert found.scores["length"].tolist() == [1, 1, 1]


def test_progress_is_shown_when_asked_for(rng, capsys):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    lw.compare({"a": Recorder()}, X, y)
    assert capsys.readouterr().err == ""
    lw.compare({"a": Recorder()}, X, y, verbose=True)
    assert "comparing: 5/5 fits" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "kind", "sentence"),
    [
        ({"estimators": {}}, TypeError, "estimators must be a mapping .* at least one"),
        ({"estimators": [Recorder()]}, TypeError, "estimators must be a mapping"),
        ({"estimators": {"x": 3}}, TypeError, r"estimators\['x'\] must be an estimator, but 3"),
        ({"estimators": {"x": Recorder}}, TypeError, r"estimators\['x'\] must be an estimator"),
        ({"y": IRIS.y[:-1]}, ValueError, "X has 150 rows and y has 149"),
        ({"scoring": "acuracy"}, ValueError, "'acuracy' is not a valid scoring value"),
        ({"scoring": None}, TypeError, "scoring must be the name of a scorer, but None"),
        ({"scoring": max}, TypeError, "scoring must be the name of a scorer, but <built-in"),
        ({"cv": 1}, ValueError, "n_splits=2 or more, got n_splits=1"),
        ({"cv": 200}, ValueError, "n_splits=200 greater than the number"),
        ({"cv": "five"}, ValueError, "Expected `?cv`? as an integer.* Got five"),
        ({"cv": []}, ValueError, "cv gives no splits"),
    ],
)
def test_bad_input_is_refused_before_anything_is_fitted(arguments, kind, sentence):
    arguments = {"estimators": {"x": Recorder()}, "X": IRIS.X, "y": IRIS.y, **arguments}
    with pytest.raises(kind, match=sentence):
        lw.compare(**arguments)
    assert Recorder.fits == []
