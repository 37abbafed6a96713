"""Whatever a person gave, it is text and never markup."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from likewise.report._html import Html, join, shortened, tag, text


class Reader(HTMLParser):
    """Collects tags and text as a browser would."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.said = [], ""

    def handle_starttag(self, name, attributes):
        self.tags.append((name, dict(attributes)))

    def handle_data(self, data):
        self.said += data


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
def test_children_and_attributes_are_never_markup(child, attribute):
    reader = read(tag("p", child, title=attribute))
    assert reader.tags == [("p", {"title": read(text(attribute)).said})]
    for forbidden in "\x00\x0b\x1f\ud800":
        assert forbidden not in reader.said


def test_text_comes_out_as_it_went_in():
    assert read(text("a < b & c > d \"e\" 'f' ü 木")).said == "a < b & c > d \"e\" 'f' ü 木"


def test_markup_is_not_escaped_twice():
    inner = tag("b", "<")
    assert tag("p", inner, "&") == "<p><b>&lt;</b>&amp;</p>"
    assert isinstance(join([inner, "<"]), Html)


def test_half_a_surrogate_pair_can_be_written():
    assert text("a\ud800b\x00").encode() == "a\ufffdb\ufffd".encode()


def test_long_text_is_cut_on_one_line():
    assert shortened("a  b\nc", 10) == "a b c"
    assert shortened("abcdef", 4) == "abc…"
