"""What the histogram engine asks of a kind of graph: the sums at the borders of bins, and between values."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix
from spexplain.objectives.bounds import both_sides
from spexplain.records import Side
from spexplain.threads import Threads

_CELLS_PER_ROW = 2  # more cells cost more to walk through than rows to count
_ROWS_PER_SORTED_BIN = (
    4  # where all bins are sorted anyway, they are joined until they hold as many
)


class Binning(Protocol):
    """Says which bins it is best asked for."""

    most_bins: int  # more cost more to count and to score than they spare in closer looks
    rows_per_bin: int  # in nodes with fewer, bins are joined until they hold as many


class Coded(NamedTuple):
    """A table, its extra vertices and their bins, all feature by feature."""

    columns: Matrix  # shape (n_features, n_samples)
    extra: Floats  # shape (n_features, n_extra)
    codes: Array  # uint8, shape (>= n_features, n_samples + n_extra)
    n_bins: int
    shift: int = 0  # the bin of a vertex is its code shifted to the right

    def to_bound(self, n_rows: int, counts: Binning, n_cells: int = 1) -> "Coded":
        """Return the same table in as many bins as serve a node of that many rows, with cells in every bin."""
        most_bins = min(counts.most_bins, n_rows // counts.rows_per_bin)
        return self._joined(min(most_bins, _CELLS_PER_ROW * n_rows // n_cells))

    def to_sort(self, n_rows: int) -> "Coded":
        """Return the same table in as many bins as help to sort that many rows."""
        return self._joined(n_rows // _ROWS_PER_SORTED_BIN)

    def _joined(self, most_bins: int) -> "Coded":
        """Return the same table with the number of bins halved until it is no larger."""
        shift = 0
        while self.n_bins >> shift > max(1, most_bins):
            shift += 1
        return self._replace(n_bins=(self.n_bins - 1 >> shift) + 1, shift=shift)


class Place(NamedTuple):
    """A node, and the bins in which it is looked at."""

    state: Any  # of the node, which only the counts of its graph can read
    rows: Array  # vertex numbers, ascending
    table: Coded


class Segments(NamedTuple):
    """Stretches of features that are looked at bin by bin: whole features, or single bins of them.

    A single bin is told apart into the codes that it holds.
    """

    features: Ints  # ascending
    bins: Ints | None = None  # of the table; None: all


class Wanted(NamedTuple):
    """Bins whose values are looked at one by one."""

    features: Ints  # ascending
    bins: Bools  # shape (n_features, n_bins)
    start: Ints  # the sums at the borders, of which only those at the beginning of a run are read


class Gaps(NamedTuple):
    """Gaps between neighbouring values: sums, the values, and which of the asked features they belong to."""

    fields: Ints  # shape (n_fields, n_gaps)
    around: Floats  # shape (2, n_gaps)
    which: Ints  # shape (n_gaps,)

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


class Counts(ABC):
    """How the sums of one kind of graph follow from bins; a `Binning`.

    Sums come in fields along the second last axis that only `sides` knows how to read; the last two are the
    members and the samples left of a cut.
    """

    n_fields: int
    row_major: bool = False  # whether the codes of a vertex, not of a feature, lie side by side
    cost: int = 1  # of a row, in terms of one whose label is counted
    has_sides: bool = False  # whether the fields are the six of `both_sides`
    has_caps: bool = False  # whether `borders` writes caps of inner weight
    most_bins: int
    rows_per_bin: int

    @abstractmethod
    def root(self, rows: Array) -> Any:
        """Return the state of the node of all vertices."""

    @abstractmethod
    def split(self, state: Any, rows: Array, is_left: Bools) -> tuple[Any, Any]:
        """Return the states of both parts of a node."""

    @abstractmethod
    def node(self, state: Any, rows: Array) -> Any:
        """Return the record of sums over a node."""

    @abstractmethod
    def nothing(self, node: Any) -> Ints:
        """Return the fields of a cut with nothing on its left."""

    @abstractmethod
    def sides(self, state: Any, node: Any, fields: Ints) -> tuple[Any, Any]:
        """Return the records left and right of the cuts that have these fields."""

    def is_pure(self, state: Any) -> bool:
        """Whether all counted samples of the node are known to belong to one cluster."""
        return False

    def n_cells(self, state: Any) -> int:
        """Return how many counts every bin of a node has, if they are walked through."""
        return 1

    def prepare(self, nodes: Sequence[Place], threads: Threads) -> None:  # noqa: B027
        """Do the work that the nodes, perhaps siblings, share; each with the table in its own bins."""

    def open(self, place: Place, threads: Threads) -> None:  # noqa: B027
        """Get ready to be asked for the borders of these bins in a node."""

    def zooms(self, state: Any) -> bool:
        """Whether `borders` tells apart the codes of single bins of a node that was opened."""
        return False

    @abstractmethod
    def borders(self, place: Place, segments: Segments, fields: Ints, caps: Floats) -> Any:
        """Write the sums at the bin borders of the segments and, if there are any, their caps.

        What is returned is handed to `corners`.
        """

    def corners(self, state: Any, counted: Any, wanted: Bools, n_top: int) -> Ints | None:
        """Return the sums of the wanted bins with their largest clusters moved or not, or None.

        `counted` is what `borders` returned for the same segments. Only for formulas with a trend;
        see `spexplain.kernels.labels.corner_sums`.
        """
        return None

    @abstractmethod
    def gaps(self, place: Place, wanted: Wanted, gaps: Gaps) -> int:
        """Write the gaps inside runs of wanted bins; return their number."""


class SideCounts(Counts):
    """Counts whose fields are inner weights, volume, size, members and samples."""

    n_fields = 6
    has_sides = True

    def nothing(self, node: Side) -> Ints:
        return np.array([0, node.inner, 0, 0, 0, 0])

    def sides(self, state: Any, node: Side, fields: Ints) -> tuple[Side, Side]:
        return both_sides(fields, node)
