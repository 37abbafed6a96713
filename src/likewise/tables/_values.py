"""Columns of text as numbers, where every cell is one: decimal comma and thousands separators."""

from typing import Any

_SPACES = "[ \u00a0\u202f'’]"  # between groups of thousands, whatever the decimal separator
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_NUMBERS = {  # by decimal separator
    decimal: rf"^[+-]?(?:(?:\d+|[1-9]\d{{0,2}}(?:(?:{other}\d{{3}})+|(?:{_SPACES}\d{{3}})+))"
    rf"(?:{point}\d*)?|{point}\d+){_EXPONENT}$"
    for decimal, point, other in ((".", r"\.", ","), (",", ",", r"\."))
}
_EITHER = ",."  # cells such as 1,234
_GROUPED = ".,"  # cells such as 1.234
_PROBED = 200  # cells that are checked before a whole column


def typed_columns(
    rows: Any, decimal: str | None, *, comma_likely: bool
) -> tuple[Any, str, list[str]]:
    """Return the table with numbers and truth values in place of their text.

    Parameters
    ----------
    rows : pyarrow.Table of strings
    decimal : {",", "."} or None
        None: the separator that most columns need; where none needs one, the comma if
        `comma_likely`, else the point. A column that needs the other one is read with it.
    comma_likely : bool

    Returns
    -------
    rows : pyarrow.Table
    decimal : {",", "."}
    sentences : list of str
        On columns with thousands separators, another decimal separator, or leading zeros.
    """
    import pyarrow

    texts = dict(zip(rows.column_names, rows.columns, strict=True))
    if len(texts) < rows.num_columns:
        return rows, decimal or ".", []  # two columns of one name, which is refused later
    plain = {name: _plain(column) for name, column in texts.items()}
    codes = [name for name, values in plain.items() if values is not None and _codes(texts[name])]
    allowed = {
        name: _allowed(column, plain[name]) for name, column in texts.items() if name not in codes
    }
    if decimal is None:
        chosen = _decimal(list(allowed.values()), comma_likely)
    else:
        chosen = decimal
        allowed = {name: chosen if chosen in options else "" for name, options in allowed.items()}
    typed, grouped, others = {}, [], []
    for name, column in texts.items():
        options = allowed.get(name, "")
        if options == "" or name in codes:
            whole = plain[name] is not None and plain[name].type != pyarrow.float64()
            typed[name] = plain[name] if whole and name not in codes else column
            continue
        used = chosen if chosen in options else options[0]
        typed[name], has_groups = _numbers(column, used, plain[name])
        grouped += [name] * has_groups
        others += [name] * (used != chosen)
    other = "point" if chosen == "," else "comma"
    listed = (
        (codes, "codes with leading zeros, read as text"),
        (grouped, "numbers with a thousands separator"),
        (others, f"numbers with a decimal {other}"),
    )
    sentences = [f"{', '.join(names)}: {what}." for names, what in listed if names]
    return pyarrow.table(typed), chosen, sentences


def _plain(column: Any) -> Any:
    """Return whole numbers, numbers with a decimal point or truth values; None for others."""
    import pyarrow
    from pyarrow import compute

    if column.null_count == len(column):
        return None
    trimmed = compute.utf8_trim_whitespace(column)
    for kind in (pyarrow.int64(), pyarrow.float64(), pyarrow.bool_()):
        try:
            return trimmed.cast(kind)
        except pyarrow.ArrowInvalid:
            continue
    return None


def _codes(column: Any) -> bool:
    """Tell whether some cells are digits that begin with a zero."""
    from pyarrow import compute

    zeros = column.filter(compute.starts_with(column, "0"))
    return compute.any(compute.match_substring_regex(zeros, r"^0\d+$")).as_py() or False


def _allowed(column: Any, plain: Any) -> str:
    """Return the decimal separators by which every cell is a number; none for whole numbers."""
    import pyarrow

    if plain is not None:
        if plain.type != pyarrow.float64():
            return ""
        return _GROUPED if _all_match(column, _NUMBERS[","]) else "."
    options = [decimal for decimal, pattern in _NUMBERS.items() if _all_match(column, pattern)]
    return _EITHER if len(options) == 2 else "".join(options)


def _all_match(column: Any, pattern: str) -> bool:
    from pyarrow import compute

    for cells in (column.slice(0, _PROBED), column):  # most columns fail at the first cells
        trimmed = compute.utf8_trim_whitespace(cells.drop_null())
        if not compute.all(compute.match_substring_regex(trimmed, pattern)).as_py():
            return False
    return column.null_count < len(column)


def _decimal(allowed: list[str], comma_likely: bool) -> str:
    """Return the separator that most columns need."""
    n_commas, n_points = allowed.count(","), allowed.count(".")
    if n_commas == n_points == 0:
        return "," if comma_likely and _EITHER in allowed else "."
    return "," if n_commas > n_points else "."


def _numbers(column: Any, decimal: str, plain: Any) -> tuple[Any, bool]:
    """Return a column as numbers, and whether it has a thousands separator."""
    import pyarrow
    from pyarrow import compute

    if plain is not None and decimal == ".":
        return plain, False
    other = "," if decimal == "." else "."
    cells = compute.utf8_trim_whitespace(column)
    without = compute.replace_substring_regex(cells, rf"{_SPACES}|[{other}]", "")
    has_groups = compute.any(compute.not_equal(cells, without)).as_py()
    pointed = compute.replace_substring(without, decimal, ".")
    numbers = compute.replace_substring_regex(pointed, r"^\+", "").cast(pyarrow.float64())
    return numbers, bool(has_groups)
