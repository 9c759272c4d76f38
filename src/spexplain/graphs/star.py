"""Each sample joined to the centre of its cluster; the centres are extra vertices."""

from dataclasses import dataclass

import numpy as np

from spexplain.graphs.sparse import edge_degrees
from spexplain.typing import Ints, Matrix


@dataclass(frozen=True, eq=False)
class StarGraph:
    """Unit edges from every sample to its centre; only centres count in `Side.size`.

    Parameters
    ----------
    labels : array of int, shape (n_samples,)
        Index of each sample's centre; -1 marks samples without one, which are isolated.
    centers : array of float, shape (n_centers, n_features)
        Coordinates of the centres: vertex ``n_samples + i`` is centre i.

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
