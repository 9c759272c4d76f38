"""Any sparse graph over the samples, as a list of edges."""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse

from spexplain.aliases import Ints, Matrix
from spexplain.graphs.base import Graph, to_fixed_point


class EdgeGraph(Graph, Protocol):
    """A graph that lists its edges: each once, without self-loops."""

    @property
    def heads(self) -> Ints:
        """One end of every edge."""

    @property
    def tails(self) -> Ints:
        """The other end of every edge."""

    @property
    def weights(self) -> Ints:
        """Fixed-point weight of every edge."""


@dataclass(frozen=True, eq=False)
class SparseGraph:
    """A weighted undirected graph as a list of edges.

    Parameters
    ----------
    n_samples : int
        Number of vertices.
    heads, tails : array of int, shape (n_edges,)
        The two ends of every edge; each edge stands once, self-loops are left out.
    weights : array of int, shape (n_edges,)
        Fixed-point weights, positive.
    unit : float
        Weight of one fixed-point unit.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.graphs import SparseGraph
    >>> path = SparseGraph.from_adjacency(np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]]))
    >>> path.degrees
    array([1, 3, 2])
    """

    n_samples: int
    heads: Ints
    tails: Ints
    weights: Ints
    unit: float = 1.0

    @classmethod
    def from_adjacency(
        cls, adjacency: Any, *, n_samples: int | None = None, name: str = "graph"
    ) -> Self:
        """Return the graph of a symmetric, non-negative adjacency matrix, sparse or dense.

        Parameters
        ----------
        adjacency : scipy.sparse matrix or array, or ndarray, shape (n_samples, n_samples)
            Edge weights. The diagonal is ignored.
        n_samples : int, optional
            Number of rows that the matrix must have.
        name : str, default="graph"
            What error messages call it.
        """
        matrix = _checked(adjacency, n_samples, name)
        upper = sparse.triu(matrix, k=1).tocoo()
        upper.eliminate_zeros()
        total = 2.0 * float(upper.data.sum())
        weights, unit = to_fixed_point(upper.data, total)
        heads, tails = upper.row.astype(np.int64), upper.col.astype(np.int64)
        return cls(matrix.shape[0], heads, tails, weights, unit)

    @property
    def extra(self) -> None:
        """No vertices beyond the samples."""
        return

    @property
    def degrees(self) -> Ints:
        """Weight of the edge ends at each vertex."""
        return edge_degrees(self.heads, self.tails, self.weights, self.n_samples)

    @property
    def sizes(self) -> Ints:
        """Every vertex counts."""
        return np.ones(self.n_samples, dtype=np.int64)

    def to_adjacency(self) -> sparse.csr_array:
        """Return the symmetric adjacency matrix with float weights."""
        weights = np.tile(self.weights * self.unit, 2)
        ends = np.r_[self.heads, self.tails], np.r_[self.tails, self.heads]
        return sparse.csr_array((weights, ends), shape=(self.n_samples, self.n_samples))


def graph_of(source: Any, X: Matrix, name: str = "graph") -> Graph:
    """Return the graph that a user means: a graph, an adjacency, a neighbour transformer, or a function of X."""
    if callable(getattr(source, "fit_transform", None)):
        return _of_transformer(source, X)
    if callable(source):
        source = source(X)
    if hasattr(source, "n_samples") and hasattr(source, "degrees"):
        check_vertices(name, source.n_samples, len(X))
        known: Graph = source
        return known
    return SparseGraph.from_adjacency(source, n_samples=len(X), name=name)


def check_vertices(name: str, n_vertices: int, n_rows: int) -> None:
    """Refuse a graph over other rows than those of X."""
    if n_vertices != n_rows:
        raise ValueError(
            f"{name} has {n_vertices} vertices, but X has {n_rows} rows; build it from the same rows."
        )


def _of_transformer(transformer: Any, X: Matrix) -> SparseGraph:
    """Return who is near whom according to a transformer: unit weights, summed over both directions."""
    from sklearn.base import clone

    near = sparse.csr_array(clone(transformer).fit_transform(X))
    if near.shape != (len(X), len(X)):
        raise ValueError(
            f"graph={transformer!r} must give a square matrix of neighbours, one row per sample, "
            f"got shape {near.shape}."
        )
    near.data = np.ones_like(near.data, dtype=np.float64)
    return SparseGraph.from_adjacency(near + near.T, n_samples=len(X))


def edge_degrees(heads: Ints, tails: Ints, weights: Ints, n_vertices: int) -> Ints:
    """Return the summed weight of the edges at every vertex, in exact integers."""
    if 2 * np.sum(weights, dtype=np.float64) < 2**53:  # floats, which add up faster, are exact here
        ends = np.bincount(heads, weights, n_vertices) + np.bincount(tails, weights, n_vertices)
        return ends.astype(np.int64)
    degrees = np.zeros(n_vertices, dtype=np.int64)
    np.add.at(degrees, heads, weights)
    np.add.at(degrees, tails, weights)
    return degrees


def _checked(adjacency: Any, n_samples: int | None, name: str) -> sparse.csr_array:
    """Return the adjacency as CSR floats; refuse what is no undirected graph on the samples."""
    if not hasattr(adjacency, "tocsr"):
        kind = type(adjacency).__name__
        try:
            adjacency = np.asarray(adjacency)
        except ValueError:  # lists of unequal length
            adjacency = np.empty(0, dtype=object)
        if adjacency.ndim != 2 or adjacency.dtype.kind not in "buif":
            raise ValueError(
                f"{name} must be a square scipy.sparse matrix (or array) of edge weights, got an object of "
                f"type {kind} with shape {adjacency.shape} and dtype {adjacency.dtype}."
            )
    elif adjacency.dtype.kind not in "buif":
        raise ValueError(f"{name} must hold real edge weights, got dtype {adjacency.dtype}.")
    matrix = sparse.csr_array(adjacency, dtype=np.float64)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"{name} must be square, one row and one column per sample, got shape {matrix.shape}."
        )
    if n_samples is not None:
        check_vertices(name, matrix.shape[0], n_samples)
    matrix.sum_duplicates()
    if not np.all(np.isfinite(matrix.data)):
        raise ValueError(f"{name} holds NaN or infinite edge weights; remove or replace them.")
    if np.any(matrix.data < 0):
        raise ValueError(
            f"{name} holds negative edge weights; weights say how strongly two samples belong together and must be "
            "non-negative."
        )
    if matrix.nnz and not np.isfinite(2.0 * matrix.nnz * float(matrix.data.max())):
        raise ValueError(
            f"{name} holds edge weights whose sum overflows; divide them by a constant."
        )
    gap = abs(matrix - matrix.T)
    # Kernels computed pair by pair differ from their transpose in the last digits: that is not a
    # direction.
    if gap.nnz and gap.data.max() > 1e-9 * matrix.data.max():
        raise ValueError(
            f"{name} is not symmetric, but edges have no direction here; symmetrise it, for example with "
            f"{name}.maximum({name}.T) or {name} + {name}.T."
        )
    return sparse.csr_array((matrix + matrix.T) / 2) if gap.nnz else matrix
