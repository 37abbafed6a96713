"""The corrected resampled t-test of Nadeau and Bengio (2003), as printed."""

import numpy as np


def p_value(gaps, n_test, n_train):
    """Return P(|T| ≥ |t|), t = mean / √((1/J + n_test/n_train) s²), with J − 1 degrees of freedom.

    With x = √ν tan θ the density of Student's t becomes cos^(ν−1) θ, here summed in small steps.
    """
    J = len(gaps)
    s2 = ((gaps - gaps.mean()) ** 2).sum() / (J - 1)
    t = gaps.mean() / np.sqrt((1 / J + n_test / n_train) * s2)
    edges = np.linspace(0, np.pi / 2, 200_001)
    middles = (edges[1:] + edges[:-1]) / 2
    density = np.cos(middles) ** (J - 2)
    return density[middles > np.arctan(abs(t) / np.sqrt(J - 1))].sum() / density.sum()
