"""Markup in which everything is escaped that is not markup already."""

import re
from html import escape
from typing import Any

# What no HTML file may hold: control characters, and halves of surrogate pairs.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_VOID = {"meta", "img", "br"}


class Html(str):
    """Text that is markup already. Only `tag` and `join` make it, out of escaped parts."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Return an element; children that are not `Html`, and all attributes, are escaped.

    ``class_`` is the attribute class, ``stroke_width`` is stroke-width, and None is left out.

    Examples
    --------
    >>> tag("p", "1 < 2", class_="lead")
    '<p class="lead">1 &lt; 2</p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{join(children)}</{name}>")


def join(parts: Any) -> Html:
    """Return one piece of markup made of several parts; what is not `Html` is escaped."""
    return Html("".join(part if isinstance(part, Html) else text(part) for part in parts))


def text(value: Any) -> Html:
    """Return what a person gave as text that no browser takes for markup."""
    return Html(escape(_FORBIDDEN.sub("\ufffd", str(value))))


def shortened(value: Any, most: int) -> str:
    """Return `value` as one line of at most `most` characters."""
    line = " ".join(str(value).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
