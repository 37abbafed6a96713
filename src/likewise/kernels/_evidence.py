"""Evidence of AROMA since a start: precision gained and precision-weighted change of the mean."""

from likewise.kernels._jit import kernel


@kernel
def list_evidence(W, S, start_W, start_S, gained, moved):
    """Write g = 1/S − 1/S₀, or 0 where that is negative, and g∘(W − W₀).

    Parameters
    ----------
    W, S, start_W, start_S : (m, n), mean and variance of every entry, and those of the start
    gained, moved : (m, n), written
    """
    for i in range(W.shape[0]):
        for j in range(W.shape[1]):
            gain = 1.0 / S[i, j] - 1.0 / start_S[i, j]
            gain = gain if gain > 0 else 0.0
            gained[i, j] = gain
            moved[i, j] = gain * (float(W[i, j]) - float(start_W[i, j]))


@kernel
def apply_evidence(start_W, start_S, gained, moved, step, share, W, S):
    """Write 1/S = 1/S₀ + share · g and W = W₀ + step · m/g, or W₀ where g is zero.

    Parameters
    ----------
    start_W, start_S : (m, n), mean and variance of every entry
    gained, moved : (m, n), sums of the outputs of `list_evidence`
    step, share : float
    W, S : (m, n), written
    """
    for i in range(W.shape[0]):
        for j in range(W.shape[1]):
            gain = float(gained[i, j])
            change = float(moved[i, j]) / gain if gain > 0 else 0.0
            W[i, j] = float(start_W[i, j]) + step * change
            S[i, j] = 1.0 / (1.0 / start_S[i, j] + share * gain)
