"""The section on predicted numbers, and numbers as ranges for sections that show classes."""

from itertools import pairwise

import numpy as np

from likewise._validation import sample_rows
from likewise.report._charts import Line, line_plot, number
from likewise.report._sections import Section, section

_MAX_POINTS = 500
_N_RANGES = 5


def errors_section(truth: np.ndarray, predicted: np.ndarray) -> Section:
    """Return predicted numbers beside measured ones, and the errors of each prediction."""
    from sklearn.metrics import r2_score

    errors = np.abs(predicted - truth)
    of_mean = np.abs(truth - truth.mean()).mean()
    text = (
        f"On {len(truth)} held-out rows R² is {r2_score(truth, predicted):.3f} and the mean "
        f"absolute error {number(float(errors.mean()))}; that of the mean value is "
        f"{number(float(of_mean))}. Half of the predictions differ by less than "
        f"{number(float(np.median(errors)))} from the measured number, and nine in ten by less "
        f"than {number(float(np.quantile(errors, 0.9)))}."
    )
    ends = np.array([min(truth.min(), predicted.min()), max(truth.max(), predicted.max())])
    across = np.array([predicted.min(), predicted.max()])
    shown = sample_rows(len(truth), _MAX_POINTS)
    plots = [
        (
            "On the line, both are equal.",
            line_plot(
                [Line("equal", ends, ends, "before")],
                "measured",
                "predicted",
                "Predicted and measured numbers",
                points=np.stack([truth, predicted], axis=1)[shown].tolist(),
            ),
        ),
        (
            "Above the line, the prediction is too high.",
            line_plot(
                [Line("no error", across, np.zeros(2), "before")],
                "predicted",
                "predicted − measured",
                "Residuals by predicted number",
                points=np.stack([predicted, predicted - truth], axis=1)[shown].tolist(),
            ),
        ),
    ]
    ranges = number_ranges(truth)
    rows = [
        (
            name,
            int((ranges == name).sum()),
            number(float(predicted[ranges == name].mean())),
            number(float(errors[ranges == name].mean())),
        )
        for name in np.unique(ranges)
    ]
    return section("errors", "Where it is wrong", text=text, plots=plots, ranges=rows)


def number_ranges(values: np.ndarray) -> np.ndarray:
    """Return the range of each number, as text: five ranges of about equally many rows."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _N_RANGES + 1)))
    places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, max(len(edges) - 2, 0))
    names = np.array(
        [
            f"{place + 1}: {number(float(low))} to {number(float(high))}"
            for place, (low, high) in enumerate(pairwise(edges))
        ]
        or [number(float(edges[0]))]
    )
    return names[places]
