"""Dates and times as days: ISO, numbers with the day or the month first, names of months."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

import numpy as np

ISO = "year-month-day"
DAY_FIRST = "day/month/year"
MONTH_FIRST = "month/day/year"
NAMED_MONTHS = "names of months"
TIMES = "hours:minutes"
_EPOCH = datetime(1970, 1, 1)
_DAY = timedelta(days=1)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = r"(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?(?:\s*([AaPp])\.?[Mm]\.?)?"
_AT_CLOCK = rf"(?:[ T,]+{_CLOCK})?\s*"
_CLOCK_ONLY = re.compile(rf"\s*{_CLOCK}\s*")
_ISO_DAY = re.compile(r"\s*(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_NUMBERS = re.compile(rf"\s*(\d{{1,2}})([./-])(\d{{1,2}})\2(\d{{4}}){_AT_CLOCK}")
_SHORT_YEAR = re.compile(rf"\s*(\d\d)([./-])(\d\d)\2(\d\d){_AT_CLOCK}")
_DAY_NAME = re.compile(rf"\s*(\d{{1,2}})[. -]*([A-Za-z]{{3,9}})[., -]*(\d{{4}}){_AT_CLOCK}")
_NAME_DAY = re.compile(rf"\s*([A-Za-z]{{3,9}})[. -]*(\d{{1,2}})[, -]+(\d{{4}}){_AT_CLOCK}")
_ZEROS = re.compile(r"[0:T ./-]*0[0:T ./-]*")  # 0000-00-00 and the like: missing


class DateFormat(NamedTuple):
    """How the dates of a column are written.

    Attributes
    ----------
    order : one of the constants of this module
    is_ambiguous : bool
        Day and month may be exchanged in every cell, and the separator does not tell.
    """

    order: str
    is_ambiguous: bool


def date_format(texts: Sequence[str], day_first: bool = True) -> DateFormat | None:
    """Return how texts write dates; None where some text is no date.

    Parameters
    ----------
    texts : sequence of str
        Without missing cells.
    day_first : bool, default=True
        Whether the day comes first in texts such as 3/4/2024, where no text decides.
    """
    texts = [text for text in dict.fromkeys(texts) if not _ZEROS.fullmatch(text)]
    if not texts:
        return None
    for order in (ISO, NAMED_MONTHS, TIMES):
        if _all_parse(texts, order):
            return DateFormat(order, False)
    valid = [order for order in (DAY_FIRST, MONTH_FIRST) if _all_parse(texts, order)]
    if len(valid) < 2:
        return DateFormat(valid[0], False) if valid else None
    if all("." in text for text in texts):  # the custom of countries that put the day first
        return DateFormat(DAY_FIRST, False)
    return DateFormat(DAY_FIRST if day_first else MONTH_FIRST, True)


def days_of(values: Iterable[Any], order: str, name: str) -> np.ndarray:
    """Return dates as days since 1970, in UTC where a time zone is given; NaN where missing.

    Parameters
    ----------
    values : dates, times, texts or None
        A text in ISO order is read whatever the order.
    order : one of the constants of this module
        Of texts.
    name : str
        The column, for errors.
    """
    known: dict[Any, float] = {None: np.nan}
    days = []
    for row, value in enumerate(values):
        if value not in known:
            known[value] = _days(value, order, name, row)
        days.append(known[value])
    return np.array(days, dtype=np.float64)


def cycles_of(days: np.ndarray) -> list[str]:
    """Return the cycles that dates repeat: of the week, the year and the day."""
    span = days.max() - days.min()
    repeats = {
        "weekday": span >= 14 and len(np.unique(np.floor(days) % 7)) > 1,
        "time of year": span >= 366,
        "time of day": bool((days % 1 > 0).any()),
    }
    return [cycle for cycle, is_repeated in repeats.items() if is_repeated]


def cycle_position(days: np.ndarray, cycle: str) -> np.ndarray:
    """Return the position of each date in a cycle, from 0 to 1; Mondays are 0."""
    if cycle == "weekday":
        return (np.floor(days) + 3) % 7 / 7
    if cycle == "time of day":
        return days % 1
    dates = np.floor(days).astype("datetime64[D]")
    since_new_year = (dates - dates.astype("datetime64[Y]")).astype(np.float64)
    return since_new_year / 366


def _all_parse(texts: Sequence[str], order: str) -> bool:
    return all(_parsed(text, order) is not None for text in texts)


def _days(value: Any, order: str, name: str, row: int) -> float:
    if isinstance(value, str):
        if _ZEROS.fullmatch(value):
            return np.nan
        moment = _parsed(value, order) or _parsed(value, ISO)
    elif isinstance(value, datetime):
        moment = _in_utc(value)
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day)
    elif isinstance(value, time):
        moment = datetime.combine(_EPOCH, value.replace(tzinfo=None))
    else:
        moment = None
    if moment is None:
        raise ValueError(
            f"column {name!r} must hold dates ({order}), but row {row} holds {str(value)[:40]!r}."
        )
    return (moment - _EPOCH) / _DAY


def _parsed(text: str, order: str) -> datetime | None:
    try:
        return _PARSERS[order](text)
    except (ValueError, OverflowError):  # such as a 31st of June
        return None


def _parse_iso(text: str) -> datetime | None:
    start = _ISO_DAY.match(text)
    if start is None:
        return None
    year, month, day = map(int, start.groups())
    rest = text[start.end() :].rstrip()
    return _in_utc(datetime.fromisoformat(f"{year:04d}-{month:02d}-{day:02d}{rest}"))


def _parse_numbers(text: str, *, day_first: bool) -> datetime | None:
    match = _NUMBERS.fullmatch(text) or _SHORT_YEAR.fullmatch(text)
    if match is None:
        return None
    first, _, second, year, *clock = match.groups()
    day, month = (first, second) if day_first else (second, first)
    century = 0 if len(year) == 4 else 2000 if int(year) < 69 else 1900  # as in POSIX
    return _at_clock(datetime(century + int(year), int(month), int(day)), clock)


def _parse_named(text: str) -> datetime | None:
    if match := _DAY_NAME.fullmatch(text):
        day, month, year, *clock = match.groups()
    elif match := _NAME_DAY.fullmatch(text):
        month, day, year, *clock = match.groups()
    else:
        return None
    return _at_clock(datetime(int(year), _MONTHS.index(month[:3].lower()) + 1, int(day)), clock)


def _parse_time(text: str) -> datetime | None:
    match = _CLOCK_ONLY.fullmatch(text)
    return None if match is None else _at_clock(_EPOCH, match.groups())


def _at_clock(day: datetime, clock: Sequence[str | None]) -> datetime:
    hour, minute, second = (int(part or 0) for part in clock[:3])
    if half := clock[3]:
        if not 1 <= hour <= 12:
            raise ValueError(hour)
        hour = hour % 12 + 12 * (half in "Pp")
    return day.replace(hour=hour, minute=minute, second=second)


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


_PARSERS: dict[str, Callable[[str], datetime | None]] = {
    ISO: _parse_iso,
    DAY_FIRST: lambda text: _parse_numbers(text, day_first=True),
    MONTH_FIRST: lambda text: _parse_numbers(text, day_first=False),
    NAMED_MONTHS: _parse_named,
    TIMES: _parse_time,
}
