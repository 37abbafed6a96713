import codecs
import gzip
import json
import pickle

import numpy as np
from sklearn.utils import Bunch

from likewise.datasets import load
from likewise.datasets._text import keep_from_and_subject

POST = "Xref: sci.space:7\nSubject: moons\nFrom: me@here\nLines: 2\n\nBody.\n\nMore: body.\n"
KEPT = "From: me@here\nSubject: moons\n\nBody.\n\nMore: body.\n"


def write_lines(path, records):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def test_surnames_are_strings_labelled_by_language(folder):
    records = [{"text": "Żak", "label": "Polish"}, {"text": "Ito", "label": "Japanese"}]
    write_lines(folder / "surnames.jsonl.gz", records)
    surnames = load("surnames")
    assert surnames.X == ["Żak", "Ito"]
    assert surnames.y.tolist() == ["Polish", "Japanese"]
    assert surnames.n_classes == 2


def test_newsgroups_in_the_folder_are_split_by_date(folder):
    write_lines(
        folder / "news20_bydate.jsonl.gz",
        [
            {"text": "orbit", "label": "sci.space", "split": "train", "id": "1"},
            {"text": "engine", "label": "rec.autos", "split": "test", "id": "2"},
            {"text": "brakes", "label": "rec.autos", "split": "train", "id": "3"},
        ],
    )
    news = load("news20")
    assert news.X == ["orbit", "brakes"]
    assert news.X_test == ["engine"]
    assert news.target_names == ("rec.autos", "sci.space")
    assert news.y.tolist() == [1, 0]
    assert news.y_test.tolist() == [0]


def lay_newsgroups_cache(home):
    """Write the file that scikit-learn keeps of the newsgroups."""

    def part(*numbers):
        return Bunch(
            data=[POST.replace("Body", f"Body {number}") for number in numbers],
            target=np.array([number // 100 for number in numbers]),
            target_names=["rec.autos", "sci.space"],
            filenames=np.array([f"20news/{number}" for number in numbers]),
        )

    home.mkdir()
    cache = {"train": part(120, 9, 10), "test": part(4)}
    content = codecs.encode(pickle.dumps(cache), "zlib_codec")
    (home / "20news-bydate_py3.pkz").write_bytes(content)


def test_newsgroups_come_from_the_cache_of_scikit_learn_without_a_network(sklearn_home):
    lay_newsgroups_cache(sklearn_home)
    news = load("news20")
    assert news.y.tolist() == [0, 0, 1]
    in_order = [KEPT.replace("Body", f"Body {number}") for number in (9, 10, 120)]
    assert list(news.X) == in_order
    assert news.X_test == [KEPT.replace("Body", "Body 4")]
    assert news.target_names == ("rec.autos", "sci.space")


def test_a_post_keeps_who_wrote_it_and_about_what():
    assert keep_from_and_subject(POST) == KEPT


def test_a_line_of_the_body_is_not_taken_for_a_header():
    assert keep_from_and_subject("From: me\n\nFrom: you\n") == "From: me\n\nFrom: you\n"
