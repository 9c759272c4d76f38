"""The exact engine at histogram speed; import `HistogramEngine` from here."""

from spexplain.engines.histogram.engine import HistogramEngine
from spexplain.engines.histogram.search import HistogramSearch

__all__ = ["HistogramEngine", "HistogramSearch"]
