"""What the client remembers of nodes, stretches of features, and cuts."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.engines.dask.slopes import Rises, Ruler
from spexplain.records import Cut
from spexplain.table.partition_tasks import Path


@dataclass(eq=False)
class Node:
    """Where a node lies in the tree, and what was counted in it."""

    path: Path
    totals: Ints  # one cell: all rows of the node
    centers: Ints  # extra vertices in the node
    parent: "Node | None" = None  # until the first search below it
    histograms: Array | None = None
    found: "tuple[Cut, Found] | None" = None


class Segments(NamedTuple):
    """Stretches of features in bins: whole features, or intervals that were looked at closely."""

    features: Ints  # shape (m,)
    codes: Ints  # shape (m,): bin of the table that an interval lies in, -1 for whole features
    starts: Array  # shape (m, width): the cell left of the stretch
    cells: Array  # shape (m, n_bins, width)
    low: Floats  # shape (m, n_bins): the least value of each bin
    high: Floats
    centers: Ints  # shape (m, n_centers): bin of each extra vertex; -1 left, n_bins right of all
    depth: int = 0
    rises: Rises | None = None


class Fields(NamedTuple):
    """Sums at all borders of segments."""

    sums: Ints  # shape (m, n_fields, n_bins + 1); the last two are members and samples on the left
    caps: Floats | None  # shape (m, 2, n_bins + 1)


class Found(NamedTuple):
    """A cut that was found. The first three decide between cuts."""

    score: float
    feature: int
    n_left: int
    last_code: int = -1  # for cuts between bins of the table: the values around are not known yet
    low: float = np.nan
    high: float = np.nan
    left: Any = None  # the cell left of the cut
    true_score: float = np.inf  # the same as the score, but where all cuts are taken as equal

    @property
    def rank(self) -> tuple[float, int, int]:
        """What is compared: score, feature, threshold."""
        return self[:3]


NOTHING = Found(np.inf, -1, 0)


@dataclass
class Bounded:
    """Segments with what no cut inside their bins can fall below."""

    segments: Segments
    bounds: Floats  # shape (m, n_bins); infinity where nothing is left to look at
    n_before: Ints  # members left of each bin
    n_inside: Ints  # rows in each bin, extra vertices not counted
    fields: Fields

    def can_win(self, best: Found) -> Bools:
        """Return which bins can hold a better cut, or an equal one that comes earlier."""
        features = self.segments.features[:, None]
        earlier = (features < best.feature) | (
            (features == best.feature) & (self.n_before < best.n_left)
        )
        ties = (self.bounds == best.score) & earlier & (best.score < np.inf)
        return np.asarray((self.bounds < best.score) | ties)


class Job(NamedTuple):
    """An interval to look at closely."""

    bounded: Bounded
    row: int
    bin: int
    bound: float
    pivots: Floats | None  # None: all rows one by one
    ruler: Ruler | None = None  # what rises are measured with
