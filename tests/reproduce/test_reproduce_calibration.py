"""The measures of calibration, and one small set of the table."""

import numpy as np
from numpy.testing import assert_allclose

import likewise as lw
from reproduce import calibration


def test_the_calibration_error_is_a_mean_over_bins():
    confidence = np.array([0.52, 0.58, 0.91, 0.99, 1.0])
    correct = np.array([1, 0, 1, 1, 0])
    gaps = abs(1 - 1.10), abs(2 - 2.90)
    assert_allclose(calibration.calibration_error(correct, confidence), sum(gaps) / 5)


def test_every_method_and_calibration_has_its_figures(monkeypatch):
    iris = lw.datasets.load("iris")
    monkeypatch.setattr(calibration.datasets, "load", lambda name: iris)
    monkeypatch.setattr(calibration, "_N_SPLITS", 1)
    methods = {name: calibration._METHODS[name] for name in ("majority", "LMNN, energy")}
    monkeypatch.setattr(calibration, "_METHODS", methods)
    rows = list(calibration.rows("balance"))
    assert {row.setting for row in rows} == {"balance"}
    assert len(rows) == 2 * (2 + 4 + 4)
    of = {row.method: row.ours for row in rows}
    for method in methods:
        assert of[f"{method}, calibrate=sigmoid: coverage"] > 0.75
        assert 0 <= of[f"{method}, calibrate=isotonic: ECE"] < 0.2
