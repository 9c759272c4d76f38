"""The distributed engine: Dask workers count their partitions, and only sums travel."""

from spexplain.engines.dask.engine import DaskEngine
from spexplain.table.partitioned import DaskTable

__all__ = ["DaskEngine", "DaskTable"]
