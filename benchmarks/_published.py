"""Published tables with known matches, from the folder that LIKEWISE_DATA names."""

import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PAIRED = ("abt_buy", "amazon_google", "dblp_acm", "fodors_zagats")
ALL = (*PAIRED, "febrl1", "febrl4")
TITLES = {
    "abt_buy": "Abt-Buy",
    "amazon_google": "Amazon-Google",
    "dblp_acm": "DBLP-ACM",
    "fodors_zagats": "Fodors-Zagats",
    "febrl1": "febrl1",
    "febrl4": "febrl4",
}
_EASY = ("soc_sec_id", "date_of_birth")  # of febrl: with these, every method reaches 1.000


class Published(NamedTuple):
    """Tables, published pairs with labels and splits, and all known matches."""

    left: Any
    right: Any  # None for one table
    pairs: Any  # None for febrl
    truth: set[tuple[str, str]]


@cache
def published(name: str, *, hard: bool = False) -> Published:
    """Return the tables of a set; `hard` leaves out the two columns that decide febrl."""
    if name.startswith("febrl"):
        one = name == "febrl1"
        left, right = _read(name if one else f"{name}_left"), None
        right = None if one else _read(f"{name}_right")
        if hard:
            left, right = (t if t is None else t.drop(columns=list(_EASY)) for t in (left, right))
        matches = _ids(_read(f"{name}_matches"))
        if one:  # the earlier row is the left one
            row = {key: number for number, key in enumerate(left["id"])}
            matches = {(a, b) if row[a] < row[b] else (b, a) for a, b in matches}
        return Published(left, right, None, matches)
    left, right, pairs = (_read(f"{name}_{part}") for part in ("left", "right", "pairs"))
    return Published(left, right, pairs, _ids(pairs[pairs["label"] == "1"]))


def files(name: str) -> list[Path]:
    """Return the files of the tables of a set."""
    names = [name] if name == "febrl1" else [f"{name}_left", f"{name}_right"]
    return [_folder() / f"{part}.csv.gz" for part in names]


def draw(pairs: Any, n: int, seed: int, split: str = "train") -> Any:
    """Return `n` labeled pairs of a split: one match to three non-matches."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    part = pairs[pairs["split"] == split]
    kinds = [part[part["label"] == label] for label in "10"]
    sizes = zip(kinds, (n // 4, n - n // 4), strict=True)
    return pd.concat([kind.iloc[rng.permutation(len(kind))[:size]] for kind, size in sizes])


def decided(report: Any) -> set[tuple[str, str]]:
    """Return the pairs of ids that a report decides as matches."""
    return _ids(report.pairs[report.pairs["decided"]])


def f1(found: set[Any], truth: set[Any]) -> float:
    """Return the F1 of found pairs."""
    return 2 * len(found & truth) / max(1, len(found) + len(truth))


def _ids(pairs: Any) -> set[tuple[str, str]]:
    return set(zip(pairs["left_id"], pairs["right_id"], strict=True))


def _folder() -> Path:
    folder = os.environ.get("LIKEWISE_DATA")
    if folder is None:
        raise SystemExit("the published tables are needed: LIKEWISE_DATA must name their folder.")
    return Path(folder) / "match"


def _read(name: str) -> Any:
    import pandas as pd

    return pd.read_csv(_folder() / f"{name}.csv.gz", dtype=str, keep_default_na=False)
