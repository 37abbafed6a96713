"""Two tables of people in the manner of FEBRL, of any size, with the truth about them.

Names, streets and towns are made of syllables and follow Zipf's law; a town determines the
postcode and, mostly, the state. The second table repeats a share of the first one's people, with
typing errors, missing and swapped values.
"""

from typing import Any

import numpy as np

FIELDS = (
    "given_name", "surname", "street_number", "address_1", "address_2", "suburb", "postcode",
    "state",
)  # fmt: skip
_ONSETS = ["b", "br", "c", "ch", "d", "dr", "f", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "qu",
           "r", "s", "sh", "st", "t", "th", "tr", "v", "w", "y", "z"]  # fmt: skip
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "ee", "ie", "ou"]
_CODAS = ["", "", "", "n", "r", "s", "l", "t", "ck", "ng", "nd", "rd", "m", "ss"]
_KINDS_OF_STREETS = ["street", "place", "crescent", "court", "road", "avenue", "close", "drive"]
_STATES = ["nsw", "vic", "qld", "wa", "sa", "act", "tas", "nt"]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ERRORS = (1, 2, 3, 4)  # of a repeated record, equally likely
_MISSING = 0.12  # of errors: the value is lost
_SWAPPED = 0.06  # of errors: given name and surname change places
_NO_SECOND_LINE = 0.5  # of records


def people(n: int, overlap: float = 0.5, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return two tables of `n` people, and the pairs of ids that are the same person.

    Parameters
    ----------
    n : int
    overlap : float, default=0.5
        Share of the people of the first table that the second one repeats.
    seed : int
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    n_same = int(overlap * n)
    columns = _records(2 * n - n_same, rng)
    left = {name: values[:n] for name, values in columns.items()}
    same = rng.permutation(n)[:n_same]
    right = {name: np.concatenate([values[same], values[n:]]) for name, values in columns.items()}
    _add_errors(right, n_same, rng)
    order = rng.permutation(n)
    right = {name: values[order] for name, values in right.items()}
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    tables = [
        pd.DataFrame({"id": [f"{side}{row}" for row in range(n)], **columns})
        for side, columns in (("a", left), ("b", right))
    ]
    truth = pd.DataFrame(
        {
            "left_id": [f"a{row}" for row in same.tolist()],
            "right_id": [f"b{row}" for row in place[:n_same].tolist()],
        }
    )
    return tables[0], tables[1], truth


def _records(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the columns of `n` records without errors."""
    size = max(50, int(n**0.5))
    towns = _words(4 * size, 2, 3, rng)
    town = _zipf(len(towns), n, rng)
    postcodes = rng.integers(1000, 9999, len(towns))
    home = rng.integers(0, len(_STATES), len(towns))[town]
    moved = rng.random(n) < 0.02
    state = np.where(moved, rng.integers(0, len(_STATES), n), home)
    streets = _words(20 * size, 2, 3, rng)
    kinds = np.array(_KINDS_OF_STREETS, dtype=object)
    second = _words(8 * size, 2, 4, rng)
    second_line = second[_zipf(len(second), n, rng)]
    second_line[rng.random(n) < _NO_SECOND_LINE] = ""
    given, surnames = _words(2 * size, 1, 3, rng), _words(20 * size, 1, 4, rng)
    return {
        "given_name": given[_zipf(len(given), n, rng)],
        "surname": surnames[_zipf(len(surnames), n, rng)],
        "street_number": (1 + np.floor(rng.exponential(60, n))).astype(int).astype(str)
        .astype(object),
        "address_1": streets[_zipf(len(streets), n, rng)] + " " + kinds[
            rng.integers(0, len(kinds), n)
        ],
        "address_2": second_line,
        "suburb": towns[town],
        "postcode": postcodes[town].astype(str).astype(object),
        "state": np.array(_STATES, dtype=object)[state],
    }  # fmt: skip


def _words(n: int, fewest: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return `n` words, each of some syllables."""
    counts = rng.integers(fewest, most + 1, n)
    parts = [
        [letters[p] for p in rng.integers(0, len(letters), (n * most,))]
        for letters in (_ONSETS, _VOWELS, _CODAS)
    ]
    syllables = ["".join(part) for part in zip(*parts, strict=True)]
    words = ["".join(syllables[i * most : i * most + c]) for i, c in enumerate(counts.tolist())]
    return np.array(words, dtype=object)


def _zipf(n_values: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return `n` draws of values with frequencies 1 / (rank + 10)."""
    weights = 1 / (np.arange(n_values) + 10)
    return np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(n) * (1 - 1e-12))


def _add_errors(columns: dict[str, np.ndarray], n: int, rng: np.random.Generator) -> None:
    """Change some values of the first `n` records."""
    weights = np.array([3, 3, 1.5, 4, 3, 2, 1.5, 0.5])
    for row, n_errors in enumerate(rng.choice(_ERRORS, n).tolist()):
        for field in rng.choice(len(FIELDS), n_errors, p=weights / weights.sum()).tolist():
            kind = rng.random()
            if kind < _SWAPPED:
                given, surname = columns["given_name"], columns["surname"]
                given[row], surname[row] = surname[row], given[row]
            elif kind < _SWAPPED + _MISSING:
                columns[FIELDS[field]][row] = ""
            else:
                column = columns[FIELDS[field]]
                column[row] = _misspelled(column[row], rng)


def _misspelled(text: str, rng: np.random.Generator) -> str:
    """Return a text with a letter changed, added, removed or swapped with the next."""
    if len(text) < 2:
        return text
    kind, place, letter = rng.integers(0, (4, len(text) - 1, len(_LETTERS))).tolist()
    new = str(letter % 10) if text.isdigit() else _LETTERS[letter]
    if kind == 0:
        return text[:place] + new + text[place + 1 :]
    if kind == 1:
        return text[:place] + new + text[place:]
    if kind == 2:
        return text[:place] + text[place + 1 :]
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]
