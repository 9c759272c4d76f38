"""The exact engine at histogram speed: one file per step, and one per kind of graph."""

from spexplain.engines.histogram.engine import HistogramEngine, HistogramSearch, counts_of

__all__ = ["HistogramEngine", "HistogramSearch", "counts_of"]
