import re
import subprocess
import sys

import numpy as np
import pytest

from likewise.datasets import catalogue, load, load_retrieval, names
from likewise.datasets._fetched import _FILES
from likewise.datasets._openml import RECIPES

# Files of these may hold fewer rows than the whole set: not all speakers are everywhere to be had.
MAY_BE_PART = {"isolet"}
MADE_OR_BUNDLED = [row for row in catalogue() if row.kind != "fetched"]
FETCHED = [row for row in catalogue() if row.kind == "fetched"]


def check_row(row):
    dataset = load(row.name)
    n_samples = len(dataset.y) + (0 if dataset.y_test is None else len(dataset.y_test))
    assert n_samples == row.n_samples or (row.name in MAY_BE_PART and n_samples < row.n_samples)
    assert dataset.n_classes == row.n_classes
    split = re.search(r"(\d+) \+ (\d+)", row.description)
    assert (dataset.y_test is not None) == (split is not None)
    if split is not None and row.name not in MAY_BE_PART:
        assert [len(dataset.y), len(dataset.y_test)] == [int(part) for part in split.groups()]
    labels = np.unique(dataset.y)
    assert len(labels) == row.n_classes
    for X, y in ((dataset.X, dataset.y), (dataset.X_test, dataset.y_test)):
        if X is None:
            continue
        assert (len(X) if isinstance(X, list) else X.shape[0]) == len(y)
        assert np.isin(y, labels).all()
        first = X[0]
        if row.n_features is None:
            assert isinstance(first, str)
        else:
            assert first.shape[-1] == row.n_features
            assert first.dtype in (np.float32, np.float64)


@pytest.mark.parametrize("row", MADE_OR_BUNDLED, ids=lambda row: row.name)
def test_a_set_that_needs_no_fetching_is_as_its_row_says(row):
    check_row(row)


@pytest.mark.parametrize("row", FETCHED, ids=lambda row: row.name)
def test_a_file_in_the_folder_is_as_its_row_says(row, real_folder):
    file = _FILES.get(row.name, f"{row.name}.npz")
    if not (real_folder / file).is_file():
        pytest.skip(f"LIKEWISE_DATA holds no {file}")
    check_row(row)


@pytest.mark.parametrize("row", catalogue("retrieval"), ids=lambda row: row.name)
def test_a_collection_in_the_folder_is_as_its_row_says(row, real_folder):
    if not any(real_folder.glob(f"{row.name}[._]*")):
        pytest.skip(f"LIKEWISE_DATA holds no {row.name}")
    collection = load_retrieval(row.name)
    assert len(collection.documents) == len(collection.document_ids) == row.n_samples
    assert len(collection.queries) == len(collection.query_ids)
    assert collection.relevance.shape == (len(collection.queries), row.n_samples)
    if row.n_features is None:
        assert isinstance(collection.documents[0], str)
    else:
        assert collection.documents.shape[1] == collection.queries.shape[1] == row.n_features


def test_names_are_those_of_the_catalogue_and_no_name_occurs_twice():
    everything = names() + names("retrieval")
    assert everything == [row.name for row in catalogue() + catalogue("retrieval")]
    assert len(everything) == len(set(everything))


def test_a_row_says_openml_where_there_is_a_download_and_folder_where_there_is_none():
    for row in FETCHED:
        downloaded = row.name in RECIPES or row.name == "news20"
        assert downloaded == ("OpenML" in row.description or "scikit-learn" in row.description)
        assert downloaded != row.description.endswith("; folder only")


def test_a_row_says_the_split_that_a_download_has():
    rows = {row.name: row for row in FETCHED}
    for name, recipe in RECIPES.items():
        if recipe.test_counts:
            n_test = sum(recipe.test_counts)
            split = f"split {rows[name].n_samples - n_test} + {n_test}"
            assert split in rows[name].description
        assert len(recipe.target_names or recipe.labels) == rows[name].n_classes


def test_an_unknown_task_is_refused():
    with pytest.raises(ValueError, match="task must be one of 'classification', 'retrieval'"):
        catalogue("regression")


def test_importing_the_room_and_printing_the_catalogue_imports_nothing_heavy():
    program = (
        "import sys, likewise.datasets as d; d.catalogue(); "
        "print([name for name in ('sklearn', 'scipy', 'pandas') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.strip() == "[]", ran.stderr
