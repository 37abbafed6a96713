"""Which columns of the items are their title and their text."""

from likewise.server.explorer._display import TextColumns, text_columns

LONG = "a text of more than eight words that goes on and on"


def test_the_longest_text_is_the_text_and_a_named_column_the_title():
    rows = [{"Name": "a lamp", "note": f"{LONG} {LONG}", "other": LONG, "price": 3.0}] * 3
    assert text_columns(rows, None, []) == TextColumns("Name", "note")
    assert text_columns(rows, None, ["other"]) == TextColumns("Name", "other")
    assert text_columns(rows, "note", []) == TextColumns("Name", "other")


def test_short_cells_and_numbers_are_no_text():
    assert text_columns([{"color": "dark red", "price": 3.0}], None, []) == TextColumns()
    assert text_columns([], None, []) == TextColumns()


def test_a_column_that_the_model_reads_or_is_named_text_may_be_short():
    assert text_columns([{"words": "two words"}], None, ["words"]).text == "words"
    assert text_columns([{"text": "two words"}], None, []).text == "text"


def test_a_missing_text_is_empty_and_the_rest_are_facts():
    columns = TextColumns("title", "body")
    assert columns.split({"title": None, "price": 2}) == (None, "", {"price": 2})
    assert columns.split({"title": "A", "body": "B", "c": 1}) == ("A", "B", {"c": 1})
    assert TextColumns().split({"a": 1}) == (None, None, {"a": 1})
