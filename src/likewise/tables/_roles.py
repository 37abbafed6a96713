"""What each column of a table is used as, and its missing cells."""

import re

import numpy as np

from likewise._validation import unknown_name
from likewise.tables._frame import Frame
from likewise.tables._kinds import id_columns, infer_kind

KINDS = ("numeric", "categorical", "date", "text", "image", "ignore")
_PIXEL = r"(?:pixel|px)[_ ]?(?:\d+|\d+[_x]\d+)"


def roles_of(
    frame: Frame, claimed: dict[str, str], image_shape: tuple[int, int] | None
) -> tuple[dict[str, str], list[str]]:
    """Return the kind of each column, and sentences about those that are not used.

    Parameters
    ----------
    frame : Frame
    claimed : dict of column to kind
        Kinds that the user has named; the others are inferred.
    image_shape : (int, int) or None
        Of the image whose pixels the numbers are.
    """
    for name, role in claimed.items():
        if name not in frame.names:
            raise unknown_name(name, role, frame.names)
    roles, sentences = {}, []
    ids = id_columns(frame, claimed)
    for name in frame.names:
        if name in claimed:
            role, why = claimed[name], ""
        elif name in ids[:1]:
            role, why = "id", "the ids of the rows."
        elif name in ids:
            role, why = "ignore", "not used; it names rows, as the ids do."
        else:
            role, why = infer_kind(frame, name)
        roles[name] = role
        if why:
            sentences.append(f"{name or '(no name)'}: {why}")
    return _with_pixels(roles, image_shape), sentences


def _with_pixels(roles: dict[str, str], image_shape: tuple[int, int] | None) -> dict[str, str]:
    """Mark the pixels among the numbers, by the given shape or by their names."""
    numeric = [name for name, role in roles.items() if role == "numeric"]
    named = [name for name in numeric if re.fullmatch(_PIXEL, name.lower())]
    if image_shape is not None:
        height, width = image_shape
        pixels = next((n for n in (named, numeric) if len(n) == height * width), None)
        if pixels is None:
            raise ValueError(
                f"image_shape is {height} x {width}, but there are {len(numeric)} numeric columns."
            )
    else:
        pixels = named if len(named) >= 16 and int(len(named) ** 0.5) ** 2 == len(named) else []
    return {**roles, **dict.fromkeys(pixels, "pixels")}


def groups_of(roles: dict[str, str], names: list[str]) -> list[tuple[str, list[str]]]:
    """Return the groups of columns that are encoded together, in a fixed order."""
    groups: list[tuple[str, list[str]]] = []
    for kind in ("numeric", "pixels"):
        members = [name for name in names if roles[name] == kind]
        if members:
            groups.append((kind, members))
    alone = ("vector", "image", "date", "categorical", "text")
    groups += [(roles[name], [name]) for kind in alone for name in names if roles[name] == kind]
    return groups


def missing_cells(frame: Frame, name: str) -> int:
    """Return the number of missing cells in a column."""
    if frame.kind(name) == "numbers":
        return int(np.isnan(frame.numbers([name])).sum())
    return sum(value is None for value in frame.values(name))


def refuse_missing(frame: Frame, roles: dict[str, str]) -> None:
    """Refuse missing cells in the columns that are used."""
    for name, role in roles.items():
        n = 0 if role in ("id", "ignore") else missing_cells(frame, name)
        if n:
            raise ValueError(
                f"column {name!r} has {n} missing cell{'s' * (n > 1)}, and missing='refuse': fill "
                f"{'them' if n > 1 else 'it'}, or use missing='impute'."
            )
