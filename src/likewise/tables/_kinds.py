"""Kinds of columns, inferred from their names and values."""

import re

from likewise.tables._blocks import MAX_CATEGORIES
from likewise.tables._dates import DAY_FIRST, MONTH_FIRST, date_format
from likewise.tables._duplicates import frame_groups
from likewise.tables._frame import Frame, is_image_file

_ID_NAMES = ("id", "_id", "uuid", "index", "", "unnamed: 0", "__index_level_0__")
_UNIQUE_ID_NAMES = ("guid", "key", "nr", "no", "#", "row", "rowid", "row_number", "idx")
_ENDS_IN_ID = r".+[_\-. ](?i:id|uuid|guid|key)|.+[a-z0-9](?:Id|ID|Uuid|UUID|Guid|GUID)"
_TEXT_WORDS = 3  # on average; with fewer, values that all differ are names
_INFERRED = {"numbers": "numeric", "dates": "date", "vectors": "vector", "images": "image"}


def infer_kind(frame: Frame, name: str) -> tuple[str, str]:
    """Return the likely kind of a column and, where it is not used, the reason."""
    values = frame.kind(name)
    if values in _INFERRED:
        return _INFERRED[values], ""
    if values == "others":
        return "ignore", "not used; neither numbers, dates, words nor images."
    texts = [text for text in frame.texts(name) if text]
    if not texts:
        return "ignore", "not used; every cell is missing."
    if date_format(texts) is not None:
        return "date", ""
    n_different = len(set(texts))
    if all(is_image_file(text) for text in texts[:20]):
        return "image", ""
    if n_different <= MAX_CATEGORIES and n_different < max(3, 0.5 * len(texts)):
        return "categorical", ""
    if sum(len(text.split()) for text in texts) >= _TEXT_WORDS * len(texts):
        return "text", ""
    if n_different <= MAX_CATEGORIES:
        return "categorical", ""
    return "ignore", (
        f"not used; {n_different} different values in {len(texts)} rows. "
        "Name it as text or categorical to use it."
    )


def id_columns(frame: Frame, claimed: dict[str, str]) -> list[str]:
    """Return the columns that name the rows, the ids first; none where ids are given."""
    if "id" in claimed.values():
        return []
    names = [
        name
        for name in frame.names
        if name not in claimed and frame.kind(name) in ("numbers", "texts")
    ]
    named = [name for name in names if name.lower() in _ID_NAMES]
    likely = [
        name
        for name in names
        if name.lower() in _UNIQUE_ID_NAMES or re.fullmatch(_ENDS_IN_ID, name)
    ]
    return named + [name for name in likely if name not in named and _names_rows(frame, name)]


def _names_rows(frame: Frame, name: str) -> bool:
    """Tell whether texts or whole numbers differ in all rows that are not copies of another."""
    values = frame.values(name)
    if any(value is None or (isinstance(value, float) and value % 1) for value in values):
        return False
    n_different = len(set(values))
    return n_different == len(values) > 1 or n_different == frame_groups(frame).max() + 1


def day_first_of(frame: Frame, roles: dict[str, str], given: bool | None) -> bool:
    """Return how ambiguous dates are read: as given, or like the other columns of dates."""
    if given is not None:
        return given
    orders = set()
    for name, role in roles.items():
        if role == "date" and frame.kind(name) == "texts":
            found = date_format([text for text in frame.texts(name) if text])
            orders |= {found.order} if found is not None and not found.is_ambiguous else set()
    return MONTH_FIRST not in orders or DAY_FIRST in orders
