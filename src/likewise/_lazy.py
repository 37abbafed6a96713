"""Lazy loading of a package's public names, so that importing it is cheap."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attach(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the module-level ``__getattr__`` and ``__dir__`` that serve `homes`.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    homes : mapping
        Public name to the module that defines it. A name equal to the last part of its module's
        path is the module itself.
    """

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{home}")
        value = module if home.rpartition(".")[2] == name else getattr(module, name)
        setattr(sys.modules[package], name, value)  # later lookups do not come here
        return value

    return load, lambda: sorted(homes)
