"""The exact engine at histogram speed: bin, count, bound, and look closely only where a cut can win.

Every feature is binned once. The sums at the borders of the bins give the scores of the cuts there,
and bounds for all cuts in between; only bins whose bound is below the best score so far are sorted
and swept. The cut is the one that the exhaustive `NumpyEngine` finds, to the last bit and tie.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spexplain.aliases import Matrix
from spexplain.engines.base import Search
from spexplain.engines.exhaustive import NumpyEngine
from spexplain.engines.histogram.search import HistogramSearch
from spexplain.engines.mistakes import MistakeSearch, takes_mistakes
from spexplain.ledgers import ledger_of
from spexplain.ledgers.bins import BinnedTable
from spexplain.objectives import Objective
from spexplain.table.coding import bin_table
from spexplain.table.places import is_sparse
from spexplain.table.views import SearchedMatrix, written_out
from spexplain.threads import Threads, count_threads


@dataclass(frozen=True)
class HistogramEngine:
    """Exact search by histograms, bounds and refinement; compiled, and shared by threads.

    Graphs whose ledger knows nothing of bins are left to `NumpyEngine`.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads; None means 1, -1 all processors. The tree does not depend on it.
    max_bins : int, default=255
        Bins of a feature, 2 to 255. The tree does not depend on it.
    """

    n_jobs: int | None = None
    max_bins: int = 255
    takes_entries: ClassVar[bool] = True
    takes_views: ClassVar[bool] = True

    def bind(self, X: Matrix, objective: Objective, *, min_samples_leaf: int = 1) -> Search:
        """Return the search for the cuts of one table under one objective."""
        if not 2 <= self.max_bins <= 255:
            raise ValueError(f"max_bins={self.max_bins} must be from 2 to 255.")
        if is_sparse(X):
            from spexplain.engines.sparse import CompiledSparseSearch, searched_entries

            return searched_entries(self, CompiledSparseSearch, X, objective, min_samples_leaf)
        ledger = ledger_of(objective.graph, objective.trend)
        if not ledger.has_bins:
            exhaustive = NumpyEngine(n_jobs=self.n_jobs)
            return exhaustive.bind(written_out(X), objective, min_samples_leaf=min_samples_leaf)
        matrix = X if isinstance(X, SearchedMatrix) else SearchedMatrix.of(X)
        values = matrix.values
        # Both memory orders of float32 and float64 are taken as they are.
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        if not (values.flags.c_contiguous or values.flags.f_contiguous):
            values = np.ascontiguousarray(values)
        matrix = matrix._replace(values=values)
        extra = objective.graph.extra
        points = np.empty((0, matrix.shape[1])) if extra is None else extra
        more = np.ascontiguousarray(points.T, dtype=np.float64)
        threads = Threads(count_threads(self.n_jobs))
        if takes_mistakes(matrix, objective):
            return MistakeSearch(matrix, more, objective, threads, min_samples_leaf)
        with threads:
            binned = bin_table(matrix, more, self.max_bins, threads, row_major=ledger.row_major)
        codes, solid, twins = binned
        table = BinnedTable(matrix, more, codes, twins, self.max_bins)
        return HistogramSearch(table, solid, objective, ledger, threads, min_samples_leaf)
