"""The bins of a table, and what the histogram engine asks a ledger about them."""

from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.table.views import SearchedMatrix
from spexplain.threads import Threads

_CELLS_PER_ROW = 2  # more cells cost more to walk through than rows to count
_ROWS_PER_SORTED_BIN = (
    4  # where all bins are sorted anyway, they are joined until they hold as many
)


class BinnedTable(NamedTuple):
    """A table, its extra vertices and the codes of both, feature by feature.

    Neighbouring codes are joined to bins: the bin of a vertex is its code shifted to the right.
    """

    matrix: SearchedMatrix  # shape (n_samples, n_features)
    extra: Floats  # shape (n_features, n_extra)
    codes: Array  # uint8, shape (>= n_features, n_samples + n_extra)
    twins: Bools  # shape (n_features,): see `Codes`
    n_bins: int
    shift: int = 0

    @property
    def shared(self) -> Bools:
        """Which features are not counted, as their counts follow from those of the feature before them."""
        from spexplain.table.coding import APART

        return self.twins if 1 << self.shift <= APART else np.zeros_like(self.twins)

    def blocks(self, width: int) -> list[slice]:
        """Return slices of features of about that width, none of which begins with one that is not counted."""
        n_features = len(self.twins)
        starts = sorted({each - bool(self.twins[each]) for each in range(0, n_features, width)})
        return list(map(slice, starts, [*starts[1:], n_features]))

    def to_bound(
        self, n_rows: int, most_bins: int, rows_per_bin: int, n_cells: int = 1
    ) -> "BinnedTable":
        """Return the same table in as many bins as serve to bound the cuts of a node.

        Parameters
        ----------
        n_rows : int
            Vertices of the node.
        most_bins : int
            More bins cost more to count and to score than they spare in closer looks.
        rows_per_bin : int
            In nodes with fewer rows, bins are joined until they hold as many.
        n_cells : int, default=1
            Counts that every bin has.
        """
        most_bins = min(most_bins, n_rows // rows_per_bin)
        return self._joined(min(most_bins, _CELLS_PER_ROW * n_rows // n_cells))

    def to_sort(self, n_rows: int) -> "BinnedTable":
        """Return the same table in as many bins as help to sort that many rows."""
        return self._joined(n_rows // _ROWS_PER_SORTED_BIN)

    def _joined(self, most_bins: int) -> "BinnedTable":
        """Return the same table with the number of bins halved until it is no larger."""
        shift = 0
        while self.n_bins >> shift > max(1, most_bins):
            shift += 1
        return self._replace(n_bins=(self.n_bins - 1 >> shift) + 1, shift=shift)


class NodeBins(NamedTuple):
    """A node, and the bins in which it is searched."""

    state: Any  # what the ledger remembers of the node
    rows: Array  # vertex numbers, int32, ascending
    table: BinnedTable


class BinRanges(NamedTuple):
    """Ranges of features that are scanned bin by bin: whole features, or single bins of them.

    A single bin is scanned by the codes that it holds.
    """

    features: Ints  # ascending
    bins: Ints | None = None  # None: all bins of every feature


class WantedBins(NamedTuple):
    """Bins whose values are sorted and looked at one by one."""

    features: Ints  # ascending
    bins: Bools  # shape (n_features, n_bins)
    start: Ints  # the fields at the borders; only those at the beginning of a run of bins are read


class Gaps(NamedTuple):
    """Gaps between neighbouring values of a node."""

    fields: Ints  # shape (n_fields, n_gaps): sums left of the gap and right of it
    around: Floats  # shape (2, n_gaps): the values on either side
    which: Ints  # shape (n_gaps,): place of the feature among those asked for

    @classmethod
    def room(cls, n_fields: int, n_gaps: int) -> "Gaps":
        """Return arrays to write at most that many gaps to."""
        return cls(
            np.empty((n_fields, n_gaps), dtype=np.int64),
            np.empty((2, n_gaps)),
            np.empty(n_gaps, dtype=np.int64),
        )

    def first(self, n_gaps: int) -> "Gaps":
        """Return only the gaps that were written."""
        return Gaps(self.fields[:, :n_gaps], self.around[:, :n_gaps], self.which[:n_gaps])


def width_of_lanes(n_features: int, threads: Threads) -> int:
    """Return of how many features blocks of codes that lie vertex by vertex are multiples.

    Two lanes together are a line of the cache, if that leaves work for all threads.
    """
    from spexplain.kernels.edges import LANES

    return 2 * LANES if n_features >= 2 * LANES * threads.n_threads else LANES
