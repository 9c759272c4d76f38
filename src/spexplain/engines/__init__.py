"""Engines: how the best cut of a node is found."""

from spexplain.engines.base import Engine, Search, resolve_engine
from spexplain.engines.exhaustive import NumpyEngine

__all__ = ["Engine", "NumpyEngine", "Search", "resolve_engine"]
