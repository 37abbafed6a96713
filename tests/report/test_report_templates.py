"""Values of users are text and never markup."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.report._text import shorten
from likewise.report._write import page_template


class Reader(HTMLParser):
    """Collects tags and text as a browser would."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.text = [], ""

    def handle_starttag(self, name, attributes):
        self.tags.append((name, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def read(markup):
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


HOSTILE = st.one_of(
    st.text(),
    st.sampled_from(
        ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</title>", "&lt;", "]]>"]
    ),
)


@given(HOSTILE, HOSTILE)
def test_text_and_attributes_are_never_markup(text, attribute):
    template = page_template().environment.from_string('<p title="{{ attribute }}">{{ text }}</p>')
    reader = read(template.render(text=text, attribute=attribute))
    assert [name for name, _ in reader.tags] == ["p"]
    for forbidden in "\x00\x0b\x1f\ud800":
        assert forbidden not in reader.text
        assert forbidden not in reader.tags[0][1]["title"]


def test_text_comes_out_as_it_went_in():
    template = page_template().environment.from_string("{{ text }}")
    text = "a < b & c > d \"e\" 'f' ü 木"
    assert read(template.render(text=text)).text == text


def test_markup_of_a_macro_is_not_escaped_twice():
    template = page_template().environment.from_string(
        "{% macro bold(text) %}<b>{{ text }}</b>{% endmacro %}<p>{{ bold('<') }}&amp;</p>"
    )
    assert template.render() == "<p><b>&lt;</b>&amp;</p>"


def test_half_a_surrogate_pair_can_be_written():
    template = page_template().environment.from_string("{{ text }}")
    assert template.render(text="a\ud800b\x00").encode() == "a\ufffdb\ufffd".encode()


def test_a_value_that_is_missing_is_an_error():
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="'text' is undefined"):
        page_template().environment.from_string("{{ text }}").render()


def test_long_text_is_cut_on_one_line():
    assert shorten("a  b\nc", 10) == "a b c"
    assert shorten("abcdef", 4) == "abc…"
