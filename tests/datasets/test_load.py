import pytest

from likewise.datasets import load


def test_an_unknown_name_is_answered_with_the_nearest_and_with_all():
    with pytest.raises(ValueError, match=r"'iris', 'wine', .*'mnsit' was given. .*mean 'mnist'\?"):
        load("mnsit")


def test_a_collection_is_sent_to_the_other_door():
    with pytest.raises(ValueError, match=r"load_retrieval\('scifact'\) opens it"):
        load("scifact")


def test_a_name_that_is_no_string_is_refused():
    with pytest.raises(TypeError, match=r"name must be one of .* but 3 was given"):
        load(3)
