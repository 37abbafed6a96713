import gzip
import json

from likewise.datasets import load


def write_lines(path, records):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def test_surnames_are_strings_labeled_by_language(folder):
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
