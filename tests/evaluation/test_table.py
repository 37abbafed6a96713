"""A small table, as text, in Markdown and in HTML."""

import pytest

from likewise.evaluation import Table

TABLE = Table(("name", "accuracy"), (("cosine", "0.959"), ("dot", "0.91"), ("", "–")))


def test_text_is_aligned_left_then_right():
    assert str(TABLE).splitlines() == [
        "name    accuracy",
        "cosine     0.959",
        "dot         0.91",
        "               –",
    ]


def test_no_line_of_text_ends_in_blanks():
    text = str(Table(("a", "b"), (("long", ""), ("x", "y"))))
    assert text == "a     b\nlong\nx     y"


def test_markdown_is_what_github_reads():
    assert TABLE.to_markdown().splitlines() == [
        "| name | accuracy |",
        "| --- | ---: |",
        "| cosine | 0.959 |",
        "| dot | 0.91 |",
        "|  | – |",
    ]


def test_markdown_keeps_a_cell_in_its_cell():
    table = Table(("a|b", "c"), (("x|y", "two\nlines"),))
    assert table.to_markdown().splitlines() == [
        r"| a\|b | c |",
        "| --- | ---: |",
        r"| x\|y | two lines |",
    ]


def test_html_escapes_what_it_is_given():
    table = Table(("<b>", "c"), (("a & b", "<script>"),))
    assert table._repr_html_() == (
        "<table><thead><tr><th>&lt;b&gt;</th><th>c</th></tr></thead>"
        "<tbody><tr><td>a &amp; b</td><td>&lt;script&gt;</td></tr></tbody></table>"
    )


def test_a_table_may_have_no_rows():
    empty = Table(("a", "b"), ())
    assert str(empty) == "a  b"
    assert empty.to_markdown() == "| a | b |\n| --- | ---: |"


def test_a_row_that_is_too_short_is_refused():
    with pytest.raises(ValueError, match="argument"):
        str(Table(("a", "b"), (("x",),)))
