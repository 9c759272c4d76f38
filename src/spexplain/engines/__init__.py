"""Engines: how the best cut of a node is found.

Import the contract (`Engine`, `Search`), `resolve_engine`, which knows all engines by name, and
`NumpyEngine` from here; the others are loaded when they are asked for.
"""

from spexplain.engines.base import Engine, Search, resolve_engine
from spexplain.engines.exhaustive import NumpyEngine

__all__ = ["Engine", "NumpyEngine", "Search", "resolve_engine"]
