"""The small records that the parts of the CuPy engine pass."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Ints
from spexplain.records import Cut, Side

LANES = 16  # features whose codes of one vertex lie side by side
CELLS = 2048  # of the grid over the values of a feature
# Numbers of a job: node, feature, bin, first place, number of places, portion, places that are filled.
JOB = 7


class FeatureBlock(NamedTuple):
    """Some neighbouring features of the table, on the device."""

    first: int  # number of its first feature
    table: Any  # shape (n_samples, n_features), in any memory order
    extra: Any  # float64, shape (n_extra, n_features), or None
    codes: Any  # uint8, shape (n_features / 16, n_samples + n_extra, 16)
    solid: Any  # uint8, shape (n_features, n_bins): bins of a single value

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.table.shape[1])

    def narrowed(self, n_features: int) -> "FeatureBlock":
        """Return the first features only."""
        extra = None if self.extra is None else self.extra[:, :n_features]
        n_groups = -(-n_features // LANES)
        solid = self.solid[:n_features]
        return FeatureBlock(
            self.first, self.table[:, :n_features], extra, self.codes[:n_groups], solid
        )


class NeighborLists(NamedTuple):
    """The neighbours of every vertex."""

    indptr: Any  # int64
    neighbors: Any  # int32
    weights: Any  # of the least type that holds them
    degrees: Any  # int64, in the whole graph


class BinJobs(NamedTuple):
    """Bins to be sorted and swept."""

    at: Any  # int32, shape (nodes, features, bins): number of the job of every bin, or -1
    entries: Any  # int32, shape (>= n_jobs, 7), see `JOB`
    everything: bool  # whether a job takes all bins of its feature
    n_portions: int = 1  # in which they are taken


class BinEdges(NamedTuple):
    """How values become codes."""

    edges: Any  # shape (n_features, 256)
    is_discrete: Any  # uint8, shape (n_features,)
    grid: Any  # float64, shape (n_features, 2): origin and scale
    cells: Any  # uint8, shape (n_features, 2048): code of every cell


class JobRows(NamedTuple):
    """The rows of a portion's jobs, job by job."""

    values: Any  # float64
    members: Any  # int32
    job_of: Any  # int32; -1 where a job of another portion has its place


class BorderSums(NamedTuple):
    """Sums at the borders of all bins of some features, for one or two nodes."""

    # For each node an array of shape (up to 6, features, borders): joined, rest, volume, size, members,
    # samples left of the borders; the last of them are left out where they equal the one before.
    fields: list[Any]
    caps: Any = None  # float64, shape (2, nodes, features, borders)
    moves: Any = None  # int64, shape (4, nodes, features, borders)
    histograms: Any = None


class ScoredBorders(NamedTuple):
    """What is known of all cuts of one or two nodes before a closer look."""

    parts: Any  # int64, shape (nodes, parts, 3): the best cuts at borders, to be compared further
    bounds: Any  # float64, shape (nodes, features, borders): of the cuts in the bin after each


class DeviceCut(NamedTuple):
    """The best cut of a node so far; compared in the order in which equal scores are resolved."""

    score: float
    feature: int
    n_left: int
    low: float = np.nan
    high: float = np.nan
    samples_left: int = 0
    left: Any = None
    right: Any = None


NOTHING = DeviceCut(np.inf, -1, 0)


@dataclass(eq=False)
class DeviceNode:
    """The vertices of a node, and what is remembered of it."""

    rows: Any  # int32, on the device
    n_samples: int
    side: Side  # np.int64 numbers
    part: int = 0  # what the graph's vertices are marked with
    centers: Ints | None = None  # those in the node, in graphs that have some
    histograms: Any = None  # scanned; kept for the children
    parent: "DeviceNode | None" = None  # until the first search below it
    found: tuple[Cut, DeviceCut] | None = None
