"""Files that earlier editions wrote still load, and answer as they did."""

import json

import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.data.write_edition import FOLDER, answers

import likewise as lw

FILES = sorted(path.stem for path in FOLDER.glob("*.safetensors"))


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_an_earlier_edition_answers_as_it_did(name):
    told = json.loads((FOLDER / f"{name}.json").read_text())
    found = answers(name, lw.load(FOLDER / f"{name}.safetensors"))
    for key, expected in told.items():  # later editions may have more to answer
        if found[key].dtype.kind == "f":
            assert_allclose(found[key], expected, rtol=1e-5, atol=1e-6)
        else:
            assert_array_equal(found[key], expected)


def test_there_is_a_file_of_every_class():
    from likewise._files._classes import HOMES

    # of AROMA, OASIS, RidgeSimilarity, index-* and Matcher
    inside = {"DiagonalState", "FactoredState", "FullState", "OasisState", "RidgeBelief", "Index"}
    inside |= {"Calibration", "Candidates", "Guess", "PairLearner", "PairModel"}
    assert set(HOMES) - inside <= set(FILES)
