"""The exact engine at histogram speed; import `HistogramEngine` from here."""

from spexplain.engines.histogram.search import HistogramEngine, HistogramSearch

__all__ = ["HistogramEngine", "HistogramSearch"]
