"""The similarity of records for search: weighted cosines of their three-letter rows."""

from typing import Any

import numpy as np

from likewise.matching._records import WHOLE, Records
from likewise.matching._vectors import Comparison
from likewise.matching._words import TfIdf, count_rows, pieces
from likewise.similarities import Bilinear

Letters = dict[str, dict[str, np.ndarray]]
_RIDGE = 0.1


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
    comparison: Comparison, vectors: np.ndarray, p: np.ndarray
) -> tuple[Bilinear, Letters]:
    """Return the similarity, and the encodings of the rows that it compares."""
    columns = [c for c, (_, title) in enumerate(comparison.names) if title == "letters"]
    weights = search_weights(np.nan_to_num(vectors[:, columns]), p)
    fields = [comparison.names[column][0] for column in columns]
    tfidfs = [comparison.letters(field).tfidf for field in fields]
    W = np.concatenate([np.full(len(t.idf), w) for t, w in zip(tfidfs, weights, strict=True)])
    return Bilinear(W), {f: _stored(t) for f, t in zip(fields, tfidfs, strict=True)}


def search_rows(records: Records, letters: Letters) -> Any:
    """Return the rows of records that the similarity compares, as a CSR array."""
    from scipy.sparse import hstack

    blocks = []
    for field, stored in letters.items():
        tfidf = TfIdf({_term(codes): n for n, codes in enumerate(stored["terms"])}, stored["idf"])
        values = records.whole if field == WHOLE else records.values[field]
        blocks.append(tfidf.rows(count_rows([pieces(text) for text in values], tfidf.terms)))
    return hstack(blocks, format="csr")


def _stored(tfidf: TfIdf) -> dict[str, np.ndarray]:
    """Return an encoding as arrays: three code points for each term."""
    terms = "".join(tfidf.terms).encode("utf-32-le")
    return {"terms": np.frombuffer(terms, dtype=np.uint32).reshape(-1, 3), "idf": tfidf.idf}


def _term(codes: np.ndarray) -> str:
    return codes.astype(np.uint32).tobytes().decode("utf-32-le")
