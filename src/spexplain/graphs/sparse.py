"""Any sparse graph over the samples, as a list of edges."""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse

from spexplain.aliases import Floats, Ints, Matrix
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
        The two ends of every edge; each edge stands once, self-loops apart.
    weights : array of int, shape (n_edges,)
        Fixed-point weights, positive.
    unit : float
        Weight of one fixed-point unit.
    loops : array of int, shape (n_samples,), optional
        Weight of the edge ends that join each vertex to itself: those between the copies of a sample
        that counts for several.

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
    loops: Ints | None = None

    @classmethod
    def from_adjacency(
        cls,
        adjacency: Any,
        *,
        n_samples: int | None = None,
        name: str = "graph",
        sample_weight: Floats | None = None,
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
        sample_weight : array of shape (n_samples,), optional
            A sample of weight w counts as w copies, joined to others as it is, and to each other by the
            weight on the diagonal.

        Examples
        --------
        >>> import numpy as np
        >>> from spexplain.graphs import SparseGraph
        >>> graph = SparseGraph.from_adjacency(np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]]))
        >>> graph.heads, graph.tails
        (array([0, 1]), array([1, 2]))
        """
        matrix = _checked(adjacency, n_samples, name)
        upper = sparse.triu(matrix, k=1).tocoo()
        upper.eliminate_zeros()
        heads, tails = upper.row.astype(np.int64), upper.col.astype(np.int64)
        if sample_weight is None:
            weights, unit = to_fixed_point(upper.data, 2.0 * float(upper.data.sum()))
            return cls(matrix.shape[0], heads, tails, weights, unit)
        weights = upper.data * sample_weight[heads] * sample_weight[tails]
        # Weights that are not whole numbers stand for many tiny copies, each joined to all others.
        is_whole = np.array_equal(sample_weight, np.floor(sample_weight))
        others = sample_weight - 1 if is_whole else sample_weight
        loops = matrix.diagonal() * sample_weight * others
        return cls.from_weights(matrix.shape[0], heads, tails, weights, loops)

    @classmethod
    def from_weights(
        cls, n_samples: int, heads: Ints, tails: Ints, weights: Floats, loops: Floats
    ) -> Self:
        """Return the graph of edges and of ends of loops with any non-negative weights."""
        total = 2.0 * float(weights.sum()) + float(loops.sum())
        fixed, unit = to_fixed_point(np.concatenate([weights, loops]), total)
        is_edge = fixed[: len(heads)] > 0
        edges = heads[is_edge], tails[is_edge], fixed[: len(heads)][is_edge]
        own = fixed[len(heads) :]
        return cls(n_samples, *edges, unit, own if own.any() else None)

    @property
    def extra(self) -> None:
        """No vertices beyond the samples."""
        return

    @property
    def degrees(self) -> Ints:
        """Weight of the edge ends at each vertex."""
        degrees = edge_degrees(self.heads, self.tails, self.weights, self.n_samples)
        return degrees if self.loops is None else degrees + self.loops

    @property
    def sizes(self) -> Ints:
        """Every vertex counts."""
        return np.ones(self.n_samples, dtype=np.int64)

    def to_adjacency(self) -> sparse.csr_array:
        """Return the symmetric adjacency matrix with float weights, loops left out."""
        weights = np.tile(self.weights * self.unit, 2)
        ends = np.r_[self.heads, self.tails], np.r_[self.tails, self.heads]
        return sparse.csr_array((weights, ends), shape=(self.n_samples, self.n_samples))


def graph_of(
    source: Any,
    X: Matrix,
    name: str = "graph",
    *,
    sample_weight: Floats | None = None,
    rows: Ints | None = None,
) -> Graph:
    """Return the graph that a user means: a graph, an adjacency, a neighbour transformer, or a function of X.

    Parameters
    ----------
    source : object
        What the user gave.
    X : array of shape (n_samples, n_features)
        The samples.
    name : str
        What error messages call the graph.
    sample_weight : array of shape (n_samples,), optional
        Weights of the samples, see `SparseGraph.from_adjacency`.
    rows : array of int, optional
        The rows of the user's table that X holds, if some were left out: graphs and adjacencies are those
        of all rows, functions see X.
    """
    if callable(getattr(source, "fit_transform", None)):
        source, rows = _of_transformer(source, X), None
    elif callable(source):
        source, rows = source(X), None
    is_graph = hasattr(source, "n_samples") and hasattr(source, "degrees")
    if is_graph and sample_weight is None:
        check_vertices(name, source.n_samples, len(X))
        known: Graph = source
        return known
    if is_graph:
        if not isinstance(source, SparseGraph) or source.loops is not None:
            raise ValueError(
                f"{name} of the type {type(source).__name__} cannot be weighted by sample_weight; give an adjacency "
                "matrix, or a graph that has the weights in it."
            )
        source = source.to_adjacency()
    if rows is not None:
        source = _checked(source, None, name)
        if len(rows) and source.shape[0] <= rows[-1]:
            check_vertices(name, source.shape[0], int(rows[-1]) + 1)
        source = source[rows][:, rows]
    return SparseGraph.from_adjacency(
        source, n_samples=len(X), name=name, sample_weight=sample_weight
    )


def check_vertices(name: str, n_vertices: int, n_rows: int) -> None:
    """Refuse a graph over other rows than those of X."""
    if n_vertices != n_rows:
        raise ValueError(
            f"{name} has {n_vertices} vertices, but X has {n_rows} rows; build it from the same rows."
        )


def _of_transformer(transformer: Any, X: Matrix) -> SparseGraph:
    """Return the neighbour graph of a transformer: unit weights, summed over both directions."""
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
    """Return the adjacency as CSR floats; refuse anything but an undirected graph over the samples."""
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
