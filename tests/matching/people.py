"""Two small tables of people with typing errors, and the truth about them."""

import numpy as np
import pandas as pd

_FIRST = ["anna", "bruno", "clara", "david", "emma", "felix", "greta", "henry", "irene", "jonas"]
_LAST = ["meier", "schmidt", "fischer", "weber", "wagner", "becker", "schulz", "hoffmann", "koch"]
_TOWNS = ["berlin", "hamburg", "munich", "cologne", "frankfurt", "stuttgart"]


def people(n=40, seed=0):
    """Return two tables of `n` people each, and the pairs of ids that are the same person."""
    rng = np.random.default_rng(seed)
    left, right = [], []
    for number in range(n):
        first, last, town = (str(rng.choice(words)) for words in (_FIRST, _LAST, _TOWNS))
        born = int(rng.integers(1930, 2010))
        street = f"{rng.choice(_LAST)}street {rng.integers(1, 99)}"
        left.append((f"a{number}", f"{first} {last}", street, town, born))
        right.append(
            (
                f"b{number}",
                _typo(f"{first} {last}", rng),
                _typo(street, rng),
                town,
                born + (number % 5 == 0),
            )
        )
    columns = ["id", "name", "street", "town", "born"]
    pairs = [(a[0], b[0]) for a, b in zip(left, right, strict=True)]
    order = rng.permutation(n)
    tables = pd.DataFrame(left, columns=columns), pd.DataFrame(right, columns=columns)
    return tables[0], tables[1].iloc[order].reset_index(drop=True), pairs


def _typo(text, rng):
    place = int(rng.integers(1, len(text) - 1))
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def labeled(pairs, n_matches=12, n_others=24):
    """Return labels of some true pairs, and of pairs of neighboring people."""
    rows = [(a, b, 1) for a, b in pairs[:n_matches]]
    for shift in (1, 2, 3):
        rows += [(pairs[i][0], pairs[(i + shift) % len(pairs)][1], 0) for i in range(len(pairs))]
    return pd.DataFrame(rows[: n_matches + n_others], columns=["left_id", "right_id", "label"])


def f1(decided, truth):
    """Return the F1 of pairs."""
    decided, truth = set(decided), set(truth)
    return 2 * len(decided & truth) / (len(decided) + len(truth))


def decided_pairs(report):
    """Return the pairs of ids that a report decides as matches."""
    chosen = report.pairs[report.pairs["decided"]]
    return list(zip(chosen["left_id"], chosen["right_id"], strict=True))
