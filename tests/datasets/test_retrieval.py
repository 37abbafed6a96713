import gzip
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from likewise.datasets import load_retrieval
from likewise.exceptions import DatasetUnavailableError


def write_lines(path, records):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def write_collection(folder, name, queries):
    corpus = [
        {"id": "7", "title": "Wings", "text": "Wings lift."},
        {"id": "3", "title": "Heat", "text": "Heat flows."},
    ]
    write_lines(folder / f"{name}_corpus.jsonl.gz", corpus)
    write_lines(folder / f"{name}_queries.jsonl.gz", queries)


def test_the_most_relevant_document_of_cranfield_has_the_highest_grade(folder):
    queries = [
        {"id": "1", "text": "lift", "relevant": {"3": 4, "7": 1}},
        {"id": "2", "text": "drag", "relevant": {}},
    ]
    write_collection(folder, "cranfield", queries)
    cranfield = load_retrieval("cranfield")
    assert_array_equal(cranfield.relevance.toarray(), [[4, 1], [0, 0]])
    assert cranfield.document_ids == ("7", "3")
    assert cranfield.query_ids == ("1", "2")
    assert cranfield.queries == ["lift", "drag"]
    assert cranfield.query_is_train is None
    assert repr(cranfield) == "Retrieval('cranfield': 2 documents, 2 queries, 2 judgments)"


def test_a_title_occurs_once_in_its_document(folder):
    write_collection(folder, "cranfield", [])
    write_collection(folder, "scifact", [])
    assert load_retrieval("cranfield").documents[1] == "Heat flows."
    assert load_retrieval("scifact").documents[1] == "Heat Heat flows."


def test_claims_of_scifact_keep_their_grades_and_their_split(folder):
    queries = [
        {"id": "1", "text": "lift", "split": "test", "relevant": {"3": 1}},
        {"id": "2", "text": "drag", "split": "train", "relevant": {"7": 2}},
    ]
    write_collection(folder, "scifact", queries)
    scifact = load_retrieval("scifact")
    assert_array_equal(scifact.relevance.toarray(), [[0, 1], [2, 0]])
    assert scifact.query_is_train.tolist() == [False, True]


VECTORS = {
    "docs": np.eye(3, dtype=np.float16),
    "queries": np.ones((2, 3), dtype=np.float16),
    "qrels": np.array([[0, 2, 1], [1, 0, 3]], dtype=np.int32),
    "doc_ids": np.array(["a", "b", "c"]),
    "query_ids": np.array(["q", "r"]),
    "query_is_train": np.array([True, False]),
}


def test_vectors_become_float32_with_their_judgments(folder):
    np.savez(folder / "scifact_minilm.npz", **VECTORS)
    vectors = load_retrieval("scifact_minilm")
    assert vectors.documents.dtype == vectors.queries.dtype == np.float32
    assert_array_equal(vectors.documents, np.eye(3))
    assert_array_equal(vectors.relevance.toarray(), [[0, 0, 1], [3, 0, 0]])
    assert vectors.document_ids == ("a", "b", "c")
    assert vectors.query_is_train.tolist() == [True, False]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"doc_ids": np.array(["a"])}, "index"),
        ({"docs": np.eye(2)}, "the numbers of ids and vectors differ"),
        ({"docs": np.array([["x"]])}, "could not convert"),
        ({"qrels": np.array([[0, 9, 1]])}, "index"),
        ({"qrels": np.array([[0, 9]])}, "not enough values"),
    ],
)
def test_vectors_that_do_not_fit_together_are_refused(folder, change, reason):
    np.savez(folder / "scifact_minilm.npz", **(VECTORS | change))
    with pytest.raises(
        ValueError,
        match=rf"scifact_minilm.npz is not a file of document and query vectors.*{reason}",
    ):
        load_retrieval("scifact_minilm")


def test_a_file_without_vectors_is_named_with_what_it_lacks(folder):
    np.savez(folder / "scifact_minilm.npz", X=np.eye(2))
    with pytest.raises(ValueError, match=r"there is no docs \(it holds X\)"):
        load_retrieval("scifact_minilm")


def test_a_judged_document_that_is_absent_is_named(folder):
    write_collection(folder, "scifact", [{"id": "1", "text": "lift", "relevant": {"99": 1}}])
    with pytest.raises(ValueError, match=r"scifact_queries.jsonl.gz judges the document '99'"):
        load_retrieval("scifact")


@pytest.mark.parametrize("relevant", [3, {"7": "high"}, {"7": None}])
def test_judgments_that_are_no_grades_are_refused(folder, relevant):
    write_collection(folder, "scifact", [{"id": "1", "text": "lift", "relevant": relevant}])
    with pytest.raises(ValueError, match=r"scifact_queries.jsonl.gz has judgments that are not"):
        load_retrieval("scifact")


def test_an_absent_collection_says_which_files_it_needs(folder):
    write_lines(folder / "scifact_corpus.jsonl.gz", [])
    with pytest.raises(
        DatasetUnavailableError,
        match=r"holds no scifact_queries.jsonl.gz; "
        r"put scifact_corpus.jsonl.gz and scifact_queries.jsonl.gz into a folder",
    ):
        load_retrieval("scifact")


def test_real_vectors_are_in_the_order_of_the_real_texts(real_folder):
    if not (real_folder / "scifact_minilm.npz").is_file():
        pytest.skip("LIKEWISE_DATA holds no scifact_minilm.npz")
    texts, vectors = load_retrieval("scifact"), load_retrieval("scifact_minilm")
    assert texts.document_ids == vectors.document_ids
    assert texts.query_ids == vectors.query_ids
    assert (texts.relevance != vectors.relevance).nnz == 0
    assert_array_equal(texts.query_is_train, vectors.query_is_train)
