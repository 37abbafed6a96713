"""Importing costs next to nothing, and every public name is there."""

import ast
import inspect
import json
import subprocess
import sys
from importlib.metadata import version

import pytest

import likewise as lw

HEAVY = {"numba", "sklearn", "scipy", "pandas", "matplotlib", "rich", "safetensors", "polars"}


def loaded_by(program):
    """Run a program on its own and return which packages it has loaded."""
    report = "; import json, sys; print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    result = subprocess.run(
        [sys.executable, "-c", program + report], capture_output=True, text=True, check=True
    )
    return set(json.loads(result.stdout))


def test_importing_loads_nothing_heavy():
    loaded = loaded_by("import likewise")
    assert "likewise" in loaded
    assert not loaded & (HEAVY | {"numpy"})


@pytest.mark.parametrize(
    "use",
    [
        "lw.Mahalanobis([[1.0, 2.0]]).score([[1.0, 2.0]], [[3.0, 4.0]])",
        "lw.Bilinear(1.0, norm='cosine').score_pairs([[1.0]], [[1.0]])",
        "lw.from_distance(lambda a, b: abs(a - b)).score([1], [2])",
        "lw.Bilinear(1.0).explain([1.0], [2.0])",
        "lw.Mahalanobis(1.0).fold_items([[1.0]], 'inner_product')",
    ],
)
def test_scoring_alone_loads_nothing_heavy(use):
    assert not loaded_by(f"import likewise as lw; {use}") & HEAVY


def test_scoring_sparse_rows_loads_no_compiler():
    loaded = loaded_by(
        "import likewise as lw; from scipy.sparse import csr_array; "
        "lw.Mahalanobis(1.0).score(csr_array([[1.0, 0.0]]), csr_array([[0.0, 2.0]]))"
    )
    assert not loaded & (HEAVY - {"scipy"})


def test_saving_loads_no_compiler(tmp_path):
    path = str(tmp_path / "model")
    loaded = loaded_by(
        f"import likewise as lw; lw.Mahalanobis(1.0).save({path!r}); lw.load({path!r})"
    )
    assert loaded & HEAVY == {"safetensors"}


@pytest.mark.parametrize("name", dir(lw))
def test_every_public_name_is_there(name):
    assert getattr(lw, name) is not None


def test_all_that_is_announced_to_type_checkers_is_there():
    tree = ast.parse(inspect.getsource(lw))
    announced = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert announced | {"exceptions"} == set(dir(lw))


def test_a_name_that_is_not_there_is_an_attribute_error():
    assert not hasattr(lw, "nonsense")
    with pytest.raises(AttributeError, match="module 'likewise' has no attribute 'nonsense'"):
        lw.nonsense  # noqa: B018
    with pytest.raises(ImportError):
        from likewise import nonsense  # noqa: F401


def test_the_version_is_that_of_the_package():
    assert lw.__version__ == version("likewise")
