"""The distributed engine: Dask workers count their partitions, and only sums travel.

`DaskEngine` is all that others import.
"""

from spexplain.engines.dask.engine import DaskEngine

__all__ = ["DaskEngine"]
