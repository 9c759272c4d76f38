"""Names of a package that are loaded when first asked for: fitting a tree does not import what draws it."""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from threading import RLock
from typing import Any

# One lock for all packages: threads with crosswise imports would otherwise see partial modules.
_importing = RLock()


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause garbage collection: imports and compilers create many objects that are all still in use."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def names_of(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package.

    Parameters
    ----------
    package : str
        Its name.
    homes : mapping from str to str
        The module of every public name of the package. No module of the package may have the same name.

    Examples
    --------
    >>> names_of("collections", {"Mapping": "abc"})("Mapping")
    <class 'collections.abc.Mapping'>
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with _importing, collector_paused():
            found = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return find
