"""What a ledger is: all that any engine needs to know about the sums of one kind of graph."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.graphs import Graph
from spexplain.ledgers.bins import BinRanges, Gaps, NodeBins, WantedBins
from spexplain.objectives.bounds import both_sides
from spexplain.records import Costs, Cut, Pair, Side
from spexplain.threads import Threads


class Ledger(ABC):
    """How the sums of one graph follow from the vertices of a node, in exact integers.

    What a ledger remembers of a node, its `state`, is opaque to engines: they get it from `root` and
    `split` and hand it back. A sum comes as the record that the objective's formula reads (`Side`,
    `Pair`, `Costs` or `Service`).

    `root`, `split`, `node` and `sorted_sides` serve the exhaustive engine, which every graph needs.
    Ledgers with `has_bins` serve the histogram engine too: there sums are *fields* along the second last
    axis of an array, the last two of which count the vertices and the samples left of a cut. Compiled
    code is loaded when the first of these methods is called.

    Parameters
    ----------
    graph : Graph
        The graph.
    trend : Side, Pair or Costs, optional
        How the objective's score depends on the sums, see `Objective`; decides which caps are written.
    """

    has_bins: bool = False  # whether the histogram engine can search the graph
    n_fields: int  # numbers that say all about both sides of a cut
    has_sides: bool = False  # whether the fields are the six of `both_sides`
    has_caps: bool = False  # whether `border_fields` writes caps of inner weight
    row_major: bool = (
        False  # whether the codes of a vertex, not of a feature, must lie side by side
    )
    row_cost: int = 1  # of visiting a row, in terms of counting its label
    most_bins: int  # see `BinnedTable.to_bound`
    rows_per_bin: int

    def __init__(self, graph: Graph, trend: Side | Pair | Costs | None = None) -> None:
        self.graph, self.trend = graph, trend

    @property
    def n_vertices(self) -> int:
        """Number of samples and extra vertices."""
        extra = self.graph.extra
        return self.graph.n_samples + (0 if extra is None else len(extra))

    # Nodes.

    @abstractmethod
    def root(self, *, for_bins: bool = False) -> Any:
        """Return the state of the node of all vertices, perhaps as the methods about bins want it."""

    @abstractmethod
    def split(self, state: Any, members: Array, is_left: Bools, cut: Cut) -> tuple[Any, Any]:
        """Return the states of both parts of a node; `is_left` says which of the members go left."""

    @abstractmethod
    def node(self, state: Any, members: Array) -> Any:
        """Return the record of sums over a node."""

    def is_pure(self, state: Any) -> bool:
        """Whether all counted samples of the node are known to belong to one cluster."""
        return False

    # Sorted orders: the exhaustive engine.

    @abstractmethod
    def sorted_sides(self, state: Any, node: Any, order: Ints, features: Ints) -> tuple[Any, Any]:
        """Return the records left and right of every gap of every sorted order.

        Row r of `order` holds the node's vertices sorted by column ``features[r]``; the fields of a
        record have shape (n_orders, n_members - 1).
        """

    def sorted_entries(self, state: Any, n_members: int) -> int:
        """Return the length of the longest array that `sorted_sides` makes per order."""
        return n_members

    # Groups of members, such as those of one category.

    def group_profiles(self, state: Any, members: Array, groups: Ints, n_groups: int) -> Any:
        """Return amounts by which groups of members can be ordered, shape (n_groups, n_amounts), or None."""
        return None

    def group_sides(
        self, state: Any, node: Any, members: Array, groups: Ints, subsets: Bools
    ) -> tuple[Any, Any]:
        """Return the records of both sides of cuts that send some groups of members left.

        ``groups[i]`` is the group of the i-th member, ``subsets[s, g]`` says whether cut s sends group g
        left; the fields of a record have shape (n_subsets,).
        """
        lefts, rights = [], []
        for subset in subsets:
            is_left = subset[groups]
            order = np.concatenate([members[is_left], members[~is_left]])[None]
            place = int(np.count_nonzero(is_left)) - 1
            left, right = self.sorted_sides(state, node, order, np.array([-1]))
            lefts.append(_at_gap(left, place))
            rights.append(_at_gap(right, place))
        return _stacked(lefts), _stacked(rights)

    # Parts of all vertices: metrics and refinement.

    def leaf_sums(self, leaves: Array, n_leaves: int) -> Ints:
        """Return the sums of every leaf, shape (n_sums, n_leaves); vertices with leaf -1 are in none."""
        raise TypeError(
            f"The sums of many leaves at once are not known for a {type(self.graph).__name__}."
        )

    def record(self, sums: Array) -> Any:
        """Return sums along the first axis, as `leaf_sums` gives them, as a record."""
        return Side(*sums)

    # Bins: the histogram engine.

    def empty_fields(self, node: Any) -> Ints:
        """Return the fields of a cut with nothing on its left."""
        raise NotImplementedError

    def sides(self, state: Any, node: Any, fields: Ints) -> tuple[Any, Any]:
        """Return the records left and right of the cuts that have these fields."""
        raise NotImplementedError

    def n_cells(self, state: Any) -> int:
        """Return how many counts every bin of a node has, if they are walked through."""
        return 1

    def prepare(self, nodes: Sequence[NodeBins], threads: Threads) -> None:  # noqa: B027
        """Do the work that the nodes, perhaps siblings, share; each with the table in its own bins."""

    def count(self, node: NodeBins, threads: Threads) -> None:  # noqa: B027
        """Get ready to be asked for the fields at the borders of these bins."""

    def knows_codes(self, state: Any) -> bool:
        """Whether `border_fields` can scan single bins of a counted node, code by code."""
        return False

    def border_fields(self, node: NodeBins, ranges: BinRanges, fields: Ints, caps: Floats) -> Any:
        """Write the fields at the borders of all bins and, if there are any, caps of inner weight.

        What is returned is handed to `corners`. Shapes: fields (n_ranges, n_fields, n_bins + 1), caps
        (n_ranges, 2, n_bins + 1).
        """
        raise NotImplementedError

    def corners(self, state: Any, counted: Any, wanted: Bools, n_top: int) -> Ints | None:
        """Return the sums of wanted bins with their `n_top` largest clusters moved or not, or None.

        `counted` is what `border_fields` returned for the same ranges. See
        `spexplain.objectives.bounds.corner_bounds`.
        """
        return None

    def gaps(self, node: NodeBins, wanted: WantedBins, gaps: Gaps) -> int:
        """Write the gaps between distinct values inside runs of wanted bins; return their number."""
        raise NotImplementedError


def _at_gap(record: Any, place: int) -> Any:
    """Return the record of one gap of the only order."""
    if isinstance(record, Pair):
        return Pair(*(_at_gap(side, place) for side in record))
    return type(record)(*(field[0, place] for field in record))


def _stacked(records: list[Any]) -> Any:
    """Return many records as one."""
    if isinstance(records[0], Pair):
        return Pair(*(_stacked(list(sides)) for sides in zip(*records, strict=True)))
    return type(records[0])(*(np.stack(fields) for fields in zip(*records, strict=True)))


class SideLedger(Ledger):
    """A ledger whose records are sides; six fields say all about a cut.

    They are inner weight left and right, volume left, size left, members left and samples left.
    """

    n_fields = 6
    has_sides = True

    def empty_fields(self, node: Side) -> Ints:
        return np.array([0, node.inner, 0, 0, 0, 0])

    def sides(self, state: Any, node: Side, fields: Ints) -> tuple[Side, Side]:
        return both_sides(fields, node)


@singledispatch
def ledger_of(graph: Graph, trend: Side | Pair | Costs | None = None) -> Ledger:
    """Return the ledger for a graph's type; register further types with ``@ledger_of.register``."""
    raise TypeError(
        f"No ledger is known for graphs of type {type(graph).__name__}; register one with ledger_of.register, or "
        "give the graph as a SparseGraph."
    )


def running_sums(amounts: Array, order: Ints) -> Ints:
    """Return the sums of `amounts` left of every gap of every order."""
    return np.cumsum(amounts[order[:, :-1]], axis=1, dtype=np.int64)


def sums_by_leaf(leaves: Array, amounts: Ints, n_leaves: int) -> Ints:
    """Return the sums of the amounts of every leaf; leaf -1 is none.

    Shapes: leaves (n,), amounts (n_amounts, n), result (n_amounts, n_leaves).
    """
    # Those of no leaf are added up in one more, which is dropped.
    sums = np.zeros((len(amounts), n_leaves + 1), dtype=np.int64)
    for row, amount in zip(sums, amounts, strict=True):
        np.add.at(row, leaves, amount)
    return sums[:, :-1]


def border_cells(cells: Array, starts: Array) -> Ints:
    """Return the cells summed up left of every border, from those of bins and left of the first bin.

    Shapes: cells (m, n_bins, width), starts (m, width); the result (m, n_bins + 1, width).
    """
    m, n_bins, width = cells.shape
    left = np.empty((m, n_bins + 1, width), dtype=np.int64)
    left[:, 0] = starts
    np.cumsum(cells, axis=1, out=left[:, 1:])
    left[:, 1:] += starts[:, None]
    return left
