"""The reference lists every public name, and only names that exist."""

import re
from importlib import import_module
from types import ModuleType

from tools.install_lines import ROOT

import likewise as lw

# Modules that are entered by an import of their own; the others are attributes of `likewise`.
IMPORTED = ("matching", "report", "server")
DIRECTIVE = re.compile(r"^\.\. (currentmodule|autoclass|autofunction|autoexception|data):: (\w.*)$")


def listed():
    """Yield the full names of the reference; `data` may have several, one a line."""
    module, continues = "", False
    for line in (ROOT / "docs" / "reference.rst").read_text(encoding="utf8").splitlines():
        found = DIRECTIVE.match(line)
        if found and found[1] == "currentmodule":
            module = found[2]
        elif found:
            yield f"{module}.{found[2]}"
        elif continues and line.strip():
            yield f"{module}.{line.strip()}"
        continues = bool((found and found[1] == "data") or (continues and line.strip()))


def public_modules():
    attributes = {name: getattr(lw, name) for name in dir(lw)}
    modules = {name: each for name, each in attributes.items() if isinstance(each, ModuleType)}
    return modules | {name: import_module(f"likewise.{name}") for name in IMPORTED}


def public_names():
    """Yield every public name once: `likewise.index.Index` is `likewise.Index`."""
    modules = public_modules()
    yield from (f"likewise.{name}" for name in dir(lw) if name not in modules)
    for name, module in modules.items():
        for inside in getattr(module, "__all__", None) or dir(module):
            if getattr(module, inside) is not getattr(lw, inside, None):
                yield f"likewise.{name}.{inside}"


def test_every_public_name_is_in_the_reference():
    assert sorted(set(public_names()) - set(listed())) == []


def test_no_name_is_listed_twice():
    names = list(listed())
    assert sorted(set(names)) == sorted(names)


def test_every_listed_name_exists_and_is_described():
    modules = {"likewise": lw} | {f"likewise.{n}": each for n, each in public_modules().items()}
    for name in listed():
        module, _, attribute = name.rpartition(".")
        assert getattr(modules[module], attribute).__doc__, name
