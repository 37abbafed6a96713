"""A small table for terminals, notebooks and text files."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Table:
    """Cells of text under column heads; the first column is left-aligned, the others right-aligned.

    Examples
    --------
    >>> print(Table(("name", "accuracy"), (("cosine", "0.959"), ("dot", "0.91"))))
    name    accuracy
    cosine     0.959
    dot         0.91
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        columns = zip(self.heads, *self.rows, strict=True)
        widths = [max(map(len, column)) for column in columns]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if column == 0 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ).rstrip()
            for cells in (self.heads, *self.rows)
        )

    def to_markdown(self) -> str:
        """Return the table in Markdown."""
        rule = ["---", *["---:"] * (len(self.heads) - 1)]
        return "\n".join(_markdown_line(cells) for cells in (self.heads, rule, *self.rows))

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{escape(head)}</th>" for head in self.heads)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
            for cells in self.rows
        )
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _markdown_line(cells: Sequence[str]) -> str:
    """Return one line; bars are escaped and line breaks removed."""
    escaped = (" ".join(cell.splitlines()).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"
