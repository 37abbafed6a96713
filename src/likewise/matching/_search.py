"""The similarity of records for search: weighted cosines of their three-letter rows."""

from typing import Any

import numpy as np

from likewise.matching._candidates import Candidates
from likewise.matching._records import WHOLE, Records
from likewise.matching._vectors import Comparison
from likewise.matching._words import count_pieces, letters_piece, piece_letters, tfidf
from likewise.similarities import Bilinear

Letters = dict[str, dict[str, np.ndarray]]
_RIDGE = 0.1
_N_PAIRS = 100_000  # that weights are learned from


def search_weights(cosines: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the weight of each field's cosine: logistic regression, weights not below 0.

    Parameters
    ----------
    cosines : (n_pairs, n_fields), 0 where a value is missing
    p : (n_pairs,), labels, or probabilities of matches
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    n_pairs, n_fields = cosines.shape

    def loss(solution: np.ndarray) -> tuple[float, np.ndarray]:
        z = cosines @ solution[:-1] + solution[-1]
        value = np.logaddexp(0, z).sum() - p @ z + _RIDGE * solution[:-1] @ solution[:-1]
        error = expit(z) - p
        return value, np.append(cosines.T @ error + 2 * _RIDGE * solution[:-1], error.sum())

    bounds = [(0.0, None)] * n_fields + [(None, None)]
    start = np.append(np.ones(n_fields), -1.0)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x[:-1]
    if n_pairs == 0 or not found.any():
        found = np.append(np.zeros(n_fields - 1), 1.0)  # the whole record alone
    return found


def search_similarity(
    comparison: Comparison, pairs: Candidates, p: np.ndarray
) -> tuple[Bilinear, Letters]:
    """Return the similarity, and the encodings of the rows that it compares.

    Parameters
    ----------
    comparison : Comparison
    pairs : Candidates
    p : (n_pairs,), labels, or probabilities of matches
    """
    fields = [*comparison.kinds, WHOLE]
    if len(pairs) > _N_PAIRS:  # evenly spread
        which = np.linspace(0, len(pairs) - 1, _N_PAIRS).astype(np.int64)
        pairs, p = pairs[which], p[which]
    cosines = np.column_stack([comparison.cosines(field, pairs) for field in fields])
    weights = search_weights(cosines, p)
    encoded = [comparison.letters(field) for field in fields]
    W = np.concatenate([np.full(len(e.idf), w) for e, w in zip(encoded, weights, strict=True)])
    stored = {
        field: {"terms": piece_letters(e.terms), "idf": e.idf}
        for field, e in zip(fields, encoded, strict=True)
    }
    return Bilinear(W), stored


def search_rows(records: Records, letters: Letters) -> Any:
    """Return the rows of records that the similarity compares, as a CSR array."""
    from scipy.sparse import hstack

    blocks = []
    for field, stored in letters.items():
        texts = records.whole if field == WHOLE else records.columns[field]
        _, counts = count_pieces(texts, letters_piece(stored["terms"]))
        blocks.append(tfidf(counts, stored["idf"]))
    return hstack(blocks, format="csr")
