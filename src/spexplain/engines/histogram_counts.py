"""What the histogram engine asks of a kind of graph: the sums at the borders of bins, and between values."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from spexplain.engines.histogram_threads import Threads
from spexplain.typing import Array, Bools, Floats, Ints, Matrix


class Coded(NamedTuple):
    """A table, its extra vertices and their bins, all feature by feature."""

    columns: Matrix  # shape (n_features, n_samples)
    extra: Floats  # shape (n_features, n_extra)
    codes: Array  # uint8, shape (>= n_features, n_samples + n_extra)
    n_bins: int
    shift: int = 0  # the bin of a vertex is its code shifted to the right

    def coarser(self, shift: int) -> "Coded":
        """Return the same table in half as many bins, as often as `shift` says."""
        return self._replace(n_bins=(self.n_bins - 1 >> shift) + 1, shift=shift)


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


class Counts(Protocol):
    """How the sums of one kind of graph follow from bins. Its `state` of a node is opaque to the engine.

    Rows are vertex numbers, ascending. Sums come in fields along the second last axis that only
    `sides` knows how to read; the last two are the members and the samples left of a cut.
    """

    n_fields: int
    row_major: bool  # whether the codes of a vertex, rather than of a feature, lie side by side
    has_caps: bool  # whether `borders` writes caps of inner weight
    takes_shift: bool  # whether `borders` knows coarser bins

    def root(self, rows: Array) -> Any:
        """Return the state of the node of all vertices."""

    def split(self, state: Any, rows: Array, is_left: Bools) -> tuple[Any, Any]:
        """Return the states of both parts of a node."""

    def node(self, state: Any, rows: Array) -> Any:
        """Return the record of sums over a node."""

    def nothing(self, node: Any) -> Ints:
        """Return the fields of a cut with nothing on its left."""

    def sides(self, state: Any, node: Any, fields: Ints) -> tuple[Any, Any]:
        """Return the records left and right of the cuts that have these fields."""

    def is_pure(self, state: Any) -> bool:
        """Whether all counted samples of the node belong to one cluster."""

    def prepare(self, nodes: Sequence[tuple[Any, Array]], table: Coded, threads: Threads) -> None:
        """Do the work that the nodes, perhaps siblings, share."""

    def borders(
        self, state: Any, rows: Array, table: Coded, block: slice, fields: Ints, caps: Floats
    ) -> None:
        """Write the sums at the bin borders of a block of features and, if there are any, their caps."""

    def corners(
        self, state: Any, rows: Array, table: Coded, features: Ints, wanted: Bools, n_top: int
    ) -> Ints | None:
        """Return the sums of the wanted bins with their largest clusters moved or not, or None.

        Only for formulas with a trend; see `spexplain.kernels.labels.corner_sums`.
        """

    def gaps(
        self,
        state: Any,
        rows: Array,
        table: Coded,
        features: Ints,
        wanted: Bools,
        start: Ints,
        gaps: Gaps,
    ) -> int:
        """Write the gaps inside runs of wanted bins; return their number.

        `start` holds the sums at the borders of the asked features, of which only those at the
        beginning of a run are read.
        """
