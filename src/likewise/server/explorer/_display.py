"""Which columns of the items are their title and their text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

_MIN_WORDS = 8  # on average, from which a column is a text
_MAX_TITLE_WORDS = 15
_TITLES = ("title", "name", "headline", "subject")


@dataclass(frozen=True)
class TextColumns:
    """The columns that items are displayed by; None where there is none.

    Items with a text are displayed as a title, a text and their other cells; the others as rows.
    """

    title: str | None = None
    text: str | None = None

    def split(self, row: dict[str, Any]) -> tuple[str | None, str | None, dict[str, Any]]:
        """Return the title, the text and the other cells of a row."""
        if self.text is None:
            return None, None, row
        title = None if self.title is None else row.get(self.title)
        text = row.get(self.text)
        others = {name: cell for name, cell in row.items() if name not in (self.title, self.text)}
        return (
            None if title is None else str(title),
            "" if text is None else str(text),
            others,
        )


def text_columns(
    rows: Sequence[dict[str, Any]], label: str | None, known: Sequence[str]
) -> TextColumns:
    """Return the title and the text among the columns of items.

    The text is the longest of the columns that the model reads as texts or, without these, of the
    columns with eight words or more on average. A title has a name such as ``title`` and few words.

    Parameters
    ----------
    rows : sequence of dict
        Cells of some items.
    label : str or None
        A column that is neither.
    known : sequence of str
        The columns that the model reads as texts.
    """
    cells: dict[str, list[str]] = {}
    for row in rows:
        for name, cell in row.items():
            if isinstance(cell, str) and name not in (label, "image"):
                cells.setdefault(name, []).append(cell)
    lengths = {name: _mean_words(texts) for name, texts in cells.items()}
    texts = [name for name in (*known, "text") if name in lengths]
    texts = texts or [name for name, words in lengths.items() if words >= _MIN_WORDS]
    text = max(texts, key=lengths.__getitem__, default=None)
    if text is None:
        return TextColumns()
    short = [n for n, words in lengths.items() if n != text and words <= _MAX_TITLE_WORDS]
    title = next((n for wanted in _TITLES for n in short if n.casefold() == wanted), None)
    return TextColumns(title, text)


def _mean_words(texts: Iterable[str]) -> float:
    counts = [len(text.split()) for text in texts]
    return sum(counts) / len(counts)
