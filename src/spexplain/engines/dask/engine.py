"""The distributed engine: `DaskEngine`."""

from dataclasses import dataclass
from typing import Any

from spexplain.engines.base import Search
from spexplain.engines.dask.search import DaskSearch
from spexplain.engines.dask.sums import sums_of
from spexplain.engines.exhaustive import NumpyEngine
from spexplain.objectives import Objective
from spexplain.table.coding import MAX_BINS
from spexplain.table.partitioned import ROWS_PER_PARTITION, CodedTable, PartitionedTable
from spexplain.table.places import engine_of


@dataclass(frozen=True)
class DaskEngine:
    """Exact search over partitions of rows by the workers of Dask; only sums travel.

    The current `distributed.Client` is used if there is one, else Dask's own threads. The tree does
    not depend on partitions, workers, or the order in which they finish.

    Parameters
    ----------
    max_bins : int, default=255
        Bins of a feature, 2 to 255. The tree does not depend on it.
    rows_per_partition : int, default=1_000_000
        For tables that are not Dask collections.
    n_jobs : int, optional
        Threads where there is no client; None leaves their number to Dask.
    """

    max_bins: int = MAX_BINS
    rows_per_partition: int = ROWS_PER_PARTITION
    n_jobs: int | None = None

    def bind(self, X: Any, objective: Objective, *, min_samples_leaf: int = 1) -> Search:
        """Return the search for the cuts of one table under one objective."""
        if not 2 <= self.max_bins <= MAX_BINS:
            raise ValueError(f"max_bins={self.max_bins} must be from 2 to {MAX_BINS}.")
        sums = sums_of(objective.graph, objective.trend)
        if sums is None:
            if engine_of(X) == "dask":
                raise ValueError(
                    f"A graph of the type {type(objective.graph).__name__} cannot be searched in partitions; "
                    "pass a table in memory, for example a sample, instead of a Dask collection."
                )
            return NumpyEngine().bind(X, objective, min_samples_leaf=min_samples_leaf)
        table = PartitionedTable.of(
            X,
            max_bins=self.max_bins,
            rows_per_partition=self.rows_per_partition,
            n_jobs=self.n_jobs,
        )
        if not isinstance(table, CodedTable):
            raise ValueError(
                "X holds categories or missing values; fit an estimator to it, which searches their views."
            )
        return DaskSearch(table, objective, sums, min_samples_leaf)
