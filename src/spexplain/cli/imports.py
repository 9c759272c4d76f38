"""Modules that others import at their start and hardly ever use, put off until somebody does.

scikit-learn imports `scipy.stats` and pandas for functions that no tree needs, which takes longer than a
tree of a million rows. A library must not meddle with imports, but a program may do so with its own.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_PUT_OFF = ("numpy.f2py", "numpy.testing", "pandas", "scipy.special", "scipy.stats")


class _Later(ModuleType):
    """Stands for a module that is imported when something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        own = self.__name__
        # Nobody but the thread inside `put_off` finds this one here.
        if sys.modules.get(own) is self:
            _remove(self)
        return getattr(import_module(own), name)


def _remove(later: _Later) -> None:
    """Let the next import of a module find the real one."""
    parent, _, name = later.__name__.rpartition(".")
    del sys.modules[later.__name__]
    if parent and vars(sys.modules[parent]).get(name) is later:
        delattr(sys.modules[parent], name)


@contextmanager
def put_off(*names: str) -> Iterator[None]:
    """Import nothing of some modules inside; who imports them there gets one that loads itself when used.

    Parameters
    ----------
    *names : str
        Modules; those that are loaded, or not installed, stay as they are.

    Examples
    --------
    >>> import sys
    >>> from spexplain.cli.imports import put_off
    >>> _ = sys.modules.pop("colorsys", None)
    >>> with put_off("colorsys"):
    ...     import colorsys
    >>> "colorsys" in sys.modules
    False
    >>> colorsys.rgb_to_hsv(0, 0, 1)[2], "colorsys" in sys.modules
    (1, True)
    """
    waiting = []
    for name in names:
        parent, _, last = name.rpartition(".")
        if name not in sys.modules and find_spec(name) is not None:
            waiting.append(_Later(name))
            sys.modules[name] = waiting[-1]
            if parent:
                setattr(sys.modules[parent], last, waiting[-1])
    try:
        yield
    finally:
        for later in waiting:
            if sys.modules.get(later.__name__) is later:
                _remove(later)


def import_lightly(name: str) -> None:
    """Import a module without those that it hardly ever uses.

    Parameters
    ----------
    name : str
        "scipy.sparse" or "sklearn.base".

    Examples
    --------
    >>> from spexplain.cli.imports import import_lightly
    >>> import_lightly("sklearn.base")
    """
    with put_off(*_PUT_OFF):
        import_module(name)
