"""Retrieval collections: documents, queries and relevance judgments."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._validation import check_choice
from likewise.datasets import _folder
from likewise.datasets._load import names, unavailable
from likewise.datasets._records import Retrieval

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def load_retrieval(name: str) -> Retrieval:
    """Open a retrieval collection from the folder that ``LIKEWISE_DATA`` names.

    Parameters
    ----------
    name : {"cranfield", "scifact", "scifact_minilm"}
        Cranfield's abstracts and queries; SciFact's abstracts and claims, as in BEIR; or the
        latter as unit vectors of the sentence model all-MiniLM-L6-v2, in the same order.

    Returns
    -------
    Retrieval
        In `relevance` a higher grade is more relevant. Cranfield's own grades run from 1, the most
        relevant, to 4, and are converted to 5 − grade. A document is its title and its text.

    Raises
    ------
    DatasetUnavailableError
        The folder does not hold the collection.

    Examples
    --------
    >>> from likewise.datasets import load_retrieval
    >>> load_retrieval("cranfeld")
    Traceback (most recent call last):
        ...
    ValueError: name must be one of 'cranfield', 'scifact', 'scifact_minilm', but 'cranfeld' was
    given. Did you mean 'cranfield'?
    """
    check_choice(name, "name", names("retrieval"))
    if name in _TEXTS:
        return _read_texts(name, _TEXTS[name])
    return _read_vectors(name)


@dataclass(frozen=True)
class _Texts:
    """The differences between collections of texts."""

    grade: Callable[[int], int]
    text_begins_with_title: bool


_TEXTS = {
    "cranfield": _Texts(grade=lambda printed: 5 - printed, text_begins_with_title=True),
    "scifact": _Texts(grade=int, text_begins_with_title=False),
}


def _read_texts(name: str, texts: _Texts) -> Retrieval:
    corpus_path, queries_path = _paths(name, f"{name}_corpus.jsonl.gz", f"{name}_queries.jsonl.gz")
    corpus = _folder.read_json_lines(corpus_path, "id", "title", "text")
    queries = _folder.read_json_lines(queries_path, "id", "text", "relevant")
    document_ids = tuple(str(record["id"]) for record in corpus)
    is_split = all("split" in query for query in queries)
    return Retrieval(
        name=name,
        documents=[
            record["text"]
            if texts.text_begins_with_title
            else f"{record['title']} {record['text']}"
            for record in corpus
        ],
        queries=[query["text"] for query in queries],
        relevance=_relevance_of_queries(queries, document_ids, texts.grade, queries_path),
        document_ids=document_ids,
        query_ids=tuple(str(query["id"]) for query in queries),
        query_is_train=(
            np.array([query["split"] == "train" for query in queries]) if is_split else None
        ),
    )


def _relevance_of_queries(
    queries: list[dict[str, Any]],
    document_ids: tuple[str, ...],
    grade: Callable[[int], int],
    path: Path,
) -> "csr_matrix":
    row_of = {document_id: row for row, document_id in enumerate(document_ids)}
    try:
        judgments = [
            (query_row, row_of[document_id], grade(printed))
            for query_row, query in enumerate(queries)
            for document_id, printed in dict(query["relevant"]).items()
        ]
    except KeyError as error:
        raise ValueError(
            f"{path} judges the document {error.args[0]!r}, which the corpus does not hold."
        ) from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} has judgments that are not grades by id: {error}.") from error
    table = np.array(judgments, dtype=np.int64).reshape(-1, 3)
    return _relevance(table, len(queries), len(document_ids))


def _read_vectors(name: str) -> Retrieval:
    (path,) = _paths(name, f"{name}.npz")
    arrays = _folder.read_arrays(path)
    try:
        documents, queries = (arrays[key].astype(np.float32) for key in ("docs", "queries"))
        document_ids, query_ids = (tuple(map(str, arrays[key])) for key in ("doc_ids", "query_ids"))
        relevance = _relevance(arrays["qrels"], len(query_ids), len(document_ids))
        if (len(documents), len(queries)) != (len(document_ids), len(query_ids)):
            raise ValueError("the numbers of ids and vectors differ")
    except KeyError as error:
        raise ValueError(
            f"{path} is not a file of document and query vectors: there is no {error.args[0]} "
            f"(it holds {', '.join(arrays) or 'nothing'})."
        ) from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a file of document and query vectors: {error}.") from error
    return Retrieval(
        name=name,
        documents=documents,
        queries=queries,
        relevance=relevance,
        document_ids=document_ids,
        query_ids=query_ids,
        query_is_train=arrays.get("query_is_train"),
    )


def _paths(name: str, *files: str) -> list[Path]:
    paths = [_folder.path_of(file) for file in files]
    if not set(files) <= set(_folder.files(*files)):
        raise unavailable(name, *files)
    return paths


def _relevance(judgments: np.ndarray, n_queries: int, n_documents: int) -> "csr_matrix":
    """Return the matrix of rows of (query row, document row, grade)."""
    from scipy.sparse import csr_matrix

    query_rows, document_rows, grades = judgments.T
    return csr_matrix(
        (grades.astype(np.float32), (query_rows, document_rows)), shape=(n_queries, n_documents)
    )
