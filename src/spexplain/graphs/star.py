"""Each sample joined to the centre of its cluster; the centres are extra vertices."""

from dataclasses import dataclass, field
from typing import Literal, Self, TypeAlias

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.graphs.base import to_fixed_point
from spexplain.graphs.sparse import edge_degrees

Pairs: TypeAlias = Literal["any", "furthest_l1", "furthest_l2"]


@dataclass(frozen=True, eq=False)
class StarGraph:
    """Unit edges from every sample to its centre; only centres count in `Side.size`.

    Parameters
    ----------
    labels : array of int, shape (n_samples,)
        Index of each sample's centre; -1 marks samples without one, which are isolated.
    centers : array of float, shape (n_centers, n_features)
        Coordinates of the centres: vertex ``n_samples + i`` is centre i.
    pairs : {"any", "furthest_l1", "furthest_l2"}, default="any"
        Which centres of a node count in `Side.size`: all of them, or only the two that are furthest
        apart (equal distances: the lowest indices).

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.graphs import StarGraph
    >>> star = StarGraph(labels=np.array([0, 0, 1]), centers=np.array([[0.0], [5.0]]))
    >>> star.degrees
    array([1, 1, 1, 2, 1])
    """

    labels: Ints
    centers: Matrix
    pairs: Pairs = "any"
    unit: float = 1.0

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.labels)

    @property
    def extra(self) -> Matrix:
        """The centres."""
        return self.centers

    @property
    def heads(self) -> Ints:
        """The samples that have a centre."""
        return np.flatnonzero(self.labels >= 0)

    @property
    def tails(self) -> Ints:
        """The centre of each of `heads`."""
        return self.labels[self.labels >= 0] + self.n_samples

    @property
    def weights(self) -> Ints:
        """1 for every edge."""
        return np.ones(np.count_nonzero(self.labels >= 0), dtype=np.int64)

    @property
    def degrees(self) -> Ints:
        """1 for samples, the cluster's size for centres."""
        n_vertices = self.n_samples + len(self.centers)
        return edge_degrees(self.heads, self.tails, self.weights, n_vertices)

    @property
    def sizes(self) -> Ints:
        """0 for samples, 1 for centres."""
        return np.repeat([0, 1], [self.n_samples, len(self.centers)]).astype(np.int64)

    def sizes_in(self, members: Ints) -> Ints:
        """0 for samples; 1 for the node's centres that a cut must part."""
        sizes = np.zeros(self.n_samples + len(self.centers), dtype=np.int64)
        inside = np.sort(members[members >= self.n_samples])
        sizes[inside] = self.center_sizes(inside - self.n_samples)
        return sizes

    def center_sizes(self, inside: Ints) -> Ints:
        """1 for those of a node's centres, given in ascending order, that a cut must part; 0 for the others."""
        if self.pairs == "any":
            return np.ones(len(inside), dtype=np.int64)
        sizes = np.zeros(len(inside), dtype=np.int64)
        if len(inside) > 1:
            points = self.centers[inside].astype(np.float64)
            gaps = np.abs(points[:, None, :] - points[None, :, :])
            distances = np.sum(gaps if self.pairs == "furthest_l1" else gaps**2, axis=2)
            pair = np.unravel_index(np.argmax(distances), distances.shape)
            sizes[list(pair)] = 1
        return sizes


@dataclass(frozen=True, eq=False)
class WeightedStar(StarGraph):
    """A star graph of weighted samples, which may be shared between several centres.

    A sample of weight w counts as w samples.

    Parameters
    ----------
    labels, centers, pairs, unit
        As in `StarGraph`; the label of a sample is the centre that has most of it.
    amounts : array of int, shape (n_samples, n_centers)
        Fixed-point weight of the edge from every sample to each centre.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.graphs import WeightedStar
    >>> amounts = np.array([[1.0, 0.0], [3.0, 0.0], [1.0, 2.0]])
    >>> WeightedStar.from_amounts(amounts, np.array([[0.0], [5.0]])).degrees
    array([1, 3, 3, 5, 2])
    """

    amounts: Ints = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))

    @classmethod
    def from_amounts(cls, amounts: Floats, centers: Matrix, pairs: Pairs = "any") -> Self:
        """Return the star of samples of which each centre has a non-negative amount."""
        fixed, unit = to_fixed_point(amounts, total=4.0 * float(amounts.sum()))
        labels = np.where(amounts.any(axis=1), amounts.argmax(axis=1), -1)
        return cls(labels, centers, pairs, unit, fixed)

    @property
    def heads(self) -> Ints:
        """The sample of every edge."""
        return self.amounts.nonzero()[0]

    @property
    def tails(self) -> Ints:
        """The centre of every edge."""
        return self.amounts.nonzero()[1] + self.n_samples

    @property
    def weights(self) -> Ints:
        """What the centre of every edge has of its sample."""
        return self.amounts[self.amounts > 0]
