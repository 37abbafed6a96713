"""Collections to search in: documents, queries, and who judged what relevant."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._validation import check_choice
from likewise.datasets import _folder
from likewise.datasets._catalogue import names
from likewise.datasets._fetched import not_to_be_had
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
        In `relevance` a higher grade is more relevant. Cranfield's own grades run the other way,
        from 1, the most relevant, to 4: they are given as 5 − grade. A document is its title and
        its text, once each.

    Raises
    ------
    DatasetUnavailableError
        Where the folder does not hold the collection; none of them can be downloaded.

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
    """What differs from one collection of texts to another."""

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
        documents=[_text_of(record, texts.text_begins_with_title) for record in corpus],
        queries=[query["text"] for query in queries],
        relevance=_relevance_of_queries(queries, document_ids, texts.grade, queries_path),
        document_ids=document_ids,
        query_ids=tuple(str(query["id"]) for query in queries),
        query_is_train=(
            np.array([query["split"] == "train" for query in queries]) if is_split else None
        ),
    )


def _text_of(record: Mapping[str, str], text_begins_with_title: bool) -> str:
    return record["text"] if text_begins_with_title else f"{record['title']} {record['text']}"


def _relevance_of_queries(
    queries: list[dict[str, Any]],
    document_ids: tuple[str, ...],
    grade: Callable[[int], int],
    path: Path,
) -> "csr_matrix":
    row_of = {document_id: row for row, document_id in enumerate(document_ids)}
    try:
        judgements = [
            (query_row, row_of[document_id], grade(printed))
            for query_row, query in enumerate(queries)
            for document_id, printed in dict(query["relevant"]).items()
        ]
    except KeyError as error:
        raise ValueError(
            f"{path} judges the document {error.args[0]!r}, which the corpus does not hold."
        ) from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} has judgements that are not grades by id: {error}.") from error
    table = np.array(judgements, dtype=np.int64).reshape(-1, 3)
    return _relevance(table, len(queries), len(document_ids))


def _read_vectors(name: str) -> Retrieval:
    (path,) = _paths(name, f"{name}.npz")
    arrays = _folder.read_arrays(path)
    try:
        documents, queries = (arrays[key].astype(np.float32) for key in ("docs", "queries"))
        document_ids, query_ids = (tuple(map(str, arrays[key])) for key in ("doc_ids", "query_ids"))
        relevance = _relevance(arrays["qrels"], len(query_ids), len(document_ids))
        if (len(documents), len(queries)) != (len(document_ids), len(query_ids)):
            raise ValueError("there are not as many ids as vectors")
    except KeyError as error:
        raise ValueError(
            f"{path} is not laid out as vectors to search: there is no {error.args[0]} "
            f"(it holds {', '.join(arrays) or 'nothing'})."
        ) from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} is not laid out as vectors to search: {error}.") from error
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
    found = [path for file in files if (path := _folder.find(file)) is not None]
    if len(found) < len(files):
        raise not_to_be_had(name, *files)
    return found


def _relevance(judgements: np.ndarray, n_queries: int, n_documents: int) -> "csr_matrix":
    """Return the matrix of rows of (query row, document row, grade)."""
    from scipy.sparse import csr_matrix

    query_rows, document_rows, grades = judgements.T
    return csr_matrix(
        (grades.astype(np.float32), (query_rows, document_rows)), shape=(n_queries, n_documents)
    )
