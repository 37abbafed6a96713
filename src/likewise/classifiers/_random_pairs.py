"""The voting classifier of Wang, Yang and Feng: random pairs of examples, each with one vote."""

import numpy as np

from likewise.classifiers._boosting import Ensemble, draw_pairs


def random_pairs(
    labels: np.ndarray, weights: np.ndarray, n_pairs: int, rng: np.random.Generator
) -> Ensemble:
    """Return an ensemble in which each random pair (x′, x″) votes with sgn(d(x, x″) − d(x, x′)).

    The vote is for the class of x′ and against that of x″; a tie has no vote. Each pair is two
    stumps with threshold 0, one in each order, so that their outputs cancel where f(x) = 0. Scores
    are divided by the number of pairs.

    Parameters
    ----------
    labels : (n,) int64, from 0
    weights : (n,) positive
        Probabilities of the examples, up to a factor.
    """
    order = np.argsort(labels, kind="stable")
    firsts, seconds = order[draw_pairs(labels[order], weights[order], n_pairs, rng)]
    n_classes = int(labels.max()) + 1
    votes = np.zeros((n_pairs, n_classes))
    votes[np.arange(n_pairs), labels[firsts]] = 1
    votes[np.arange(n_pairs), labels[seconds]] = -1
    if n_classes == 2:
        votes = votes[:, 1:]
    votes /= 2 * n_pairs
    prototypes = np.unique([firsts, seconds])
    pairs = np.searchsorted(prototypes, np.stack([firsts, seconds], axis=1))
    # leaf 0: f(x) = d(x, x′) − d(x, x″) ≤ 0; leaf 1: f(x) > 0
    outputs = np.stack([[votes, -votes], [-votes, votes]], axis=0).transpose(2, 0, 1, 3)
    return Ensemble(
        prototypes,
        pairs.reshape(-1, 1),
        pairs[:, ::-1].reshape(-1, 1),
        np.zeros((2 * n_pairs, 1)),
        np.ascontiguousarray(outputs.reshape(2 * n_pairs, 2, votes.shape[1])),
        [{"round": number + 1, "prototypes": len(prototypes)} for number in range(n_pairs)],
    )
