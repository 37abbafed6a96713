"""Load a package's public names when they are first used, so that importing it costs nothing."""

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
        Public name to the module that defines it; a name that ends its own module's path is that
        module.
    """

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{home}")
        found = module if home.rpartition(".")[2] == name else getattr(module, name)
        setattr(sys.modules[package], name, found)  # and is not looked for again
        return found

    return load, lambda: sorted(homes)
