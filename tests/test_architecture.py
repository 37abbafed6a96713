"""Rooms, the direct subpackages of likewise, are entered through their `__init__`.

import-linter's wildcards replace whole module names, so no contract in `pyproject.toml` can say
"modules that begin with an underscore".
"""

import grimp


def private_imports(graph):
    """Yield imports of another room's private modules, as (importer, imported)."""
    rooms = graph.find_children("likewise")
    for room in sorted(rooms):
        for imported in sorted(graph.find_descendants(room)):
            if not any(part.startswith("_") for part in imported.removeprefix(room).split(".")):
                continue
            for importer in sorted(graph.find_modules_that_directly_import(imported)):
                if not f"{importer}.".startswith(f"{room}."):
                    yield importer, imported


def test_no_import_reaches_into_another_rooms_private_module():
    graph = grimp.build_graph("likewise", cache_dir=None)
    assert list(private_imports(graph)) == []


def test_such_an_import_would_be_found():
    graph = grimp.build_graph("likewise", cache_dir=None)
    graph.add_import(importer="likewise.cli", imported="likewise.learners.lmnn._lmnn")
    assert ("likewise.cli", "likewise.learners.lmnn._lmnn") in list(private_imports(graph))
