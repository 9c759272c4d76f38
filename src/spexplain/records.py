"""Small records used by all layers: one side of a cut, and the cut itself."""

from math import inf
from typing import Any, NamedTuple


class Side(NamedTuple):
    """Sums over one side of every candidate cut, or over a whole node.

    The fields are int64 arrays of one shape (one entry a cut), or plain integers for a node. Edge
    weights are fixed-point integers (see `spexplain.graphs`), so these sums are exact and do not depend on
    order, threads or machine.
    """

    inner: Any  # edge weight with both ends inside, each end counted
    volume: Any  # edge ends inside, counted in the whole graph
    size: Any  # vertices that count: samples (noise rows excepted); in star graphs, centres


class Pair(NamedTuple):
    """Sums of two graphs over the same side."""

    graph: Side
    against: Side


class Costs(NamedTuple):
    """Cost of serving one side of every cut from each single centre."""

    total: Any  # last axis: centres
    least: Any = (
        0  # of every sample from its nearest centre, less a constant: only differences matter
    )


class Service(NamedTuple):
    """One side of every cut if each sample is served by the nearest centre on its side."""

    cost: Any
    points: Any  # distinct samples
    centers: Any
    repeated: Any  # 1 where a test above the node took this side of the same feature


class Cut(NamedTuple):
    """A test of one feature: rows with ``lower < x[feature] <= threshold`` go left.

    In a test of categories those with one of some codes do, and the bounds do not matter.
    """

    feature: int
    threshold: float
    score: float  # what the search minimised within the node
    priority: float  # what the builder minimises between leaves
    lower: float = -inf  # above -inf only for interval tests
    missing: bool = False  # whether rows without a value go left
    values: tuple[int, ...] | None = None  # codes of the categories that go left


class Promise(NamedTuple):
    """A best cut that need not be found yet: its priority is at least this."""

    priority: float
