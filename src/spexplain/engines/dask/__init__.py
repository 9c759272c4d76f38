"""The distributed engine: Dask workers count their partitions, and only sums travel; import `DaskEngine` from here."""

from spexplain.engines.dask.search import DaskEngine

__all__ = ["DaskEngine"]
