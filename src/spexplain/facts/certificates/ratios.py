"""How smooth every feature is along the edges of a graph, and the best cut that a single feature offers."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.engines.exhaustive import midpoint
from spexplain.graphs import CliqueGraph, EdgeGraph, Graph
from spexplain.graphs.sparse import graph_of
from spexplain.ledgers import ledger_of
from spexplain.metrics.inputs import table_of
from spexplain.records import Side

_HUGE = 2.0**1022  # differences of larger values overflow
_BLOCK = 1 << 20  # entries of the largest temporary arrays


class CoordinateCut(NamedTuple):
    """A cut of all vertices by one feature, and how good it is."""

    feature: int
    threshold: float
    value: float


class Forms(NamedTuple):
    """Numerators and denominators of the Cheeger ratios, feature j divided by ``4**exponents[j]``."""

    numerators: Floats
    denominators: Floats
    exponents: Array

    def ratios(self) -> Floats:
        """Return R_j of every feature; NaN where the denominator is zero."""
        defined = self.denominators > 0
        return np.where(defined, self.numerators, np.nan) / np.where(
            defined, self.denominators, 1.0
        )

    def pooled(self) -> float:
        """Return R of all features together."""
        if not np.any(self.denominators > 0):
            return float("nan")
        scales = np.ldexp(1.0, 2 * (self.exponents - self.exponents[self.denominators > 0].max()))
        scales[self.denominators == 0] = 0
        return float(self.numerators @ scales / (self.denominators @ scales))


def cheeger_ratios(graph: Any, X: Any) -> Floats:
    """Return R_j of every feature: its mean squared difference along edges, relative to any two vertices.

    ``R_j = Σ_edges w (x_j − y_j)² / Σ_x deg(x) (x_j − mean_j)²`` with the degree-weighted mean. It
    lies between 0 and 2, and is small if the feature changes little along edges but much overall.

    Parameters
    ----------
    graph : graph or adjacency matrix
        A graph of `spexplain.graphs`, or a symmetric sparse or dense adjacency.
    X : array or data frame of shape (n_samples, n_features)
        The samples.

    Returns
    -------
    ratios : array of shape (n_features,)
        NaN where a feature is constant over the vertices that have edges.

    Notes
    -----
    O(n_edges · n_features) for listed edges, O(n_samples · n_features) for cliques.

    Examples
    --------
    Two clusters of two rows; the first feature separates them, the second does not:

    >>> from spexplain.facts.certificates import cheeger_ratios
    >>> from spexplain.graphs import CliqueGraph
    >>> X = [[0.0, 0.0], [1.0, 9.0], [10.0, 0.0], [11.0, 9.0]]
    >>> cheeger_ratios(CliqueGraph.from_labels([0, 0, 1, 1]), X)
    array([0.01980198, 2.        ])
    """
    table = table_of(X)
    known = graph_of(graph, table)
    check_kind(known)
    return quadratic_forms(known, vertex_table(known, table)).ratios()


def vertex_table(graph: Graph, X: Matrix) -> Matrix:
    """Return the coordinates of all vertices: the samples, then the extra ones."""
    return X if graph.extra is None else np.concatenate([X, graph.extra])


def quadratic_forms(graph: Graph, table: Matrix) -> Forms:
    """Return numerators and denominators of all R_j, in the graph's own units of weight."""
    degrees = graph.degrees.astype(np.float64)
    joined = np.flatnonzero(degrees)
    numerators, denominators = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    exponents = np.zeros(table.shape[1], dtype=np.int32)
    if not len(joined):
        return Forms(numerators, denominators, exponents)
    energy = _energy_of(graph)
    for block in feature_blocks(graph, table.shape[1]):
        # Measured from one of its vertices, a constant feature is exactly zero; powers of two keep squares
        # in range and change no digit.
        columns = table[:, block].astype(np.float64)
        halved = (np.abs(columns).max(axis=0) > _HUGE).astype(np.int32)
        columns = np.ldexp(columns, -halved)
        columns -= columns[joined[0]]
        columns[degrees == 0] = 0
        exponents[block] = np.frexp(np.abs(columns).max(axis=0))[1] + halved
        columns = np.ldexp(columns, halved - exponents[block])
        columns -= degrees @ columns / degrees.sum()
        constant = np.all(columns[joined] == columns[joined[0]], axis=0)
        numerators[block] = np.where(constant, 0, energy(columns))
        denominators[block] = np.where(constant, 0, degrees @ columns**2)
    return Forms(numerators, denominators, exponents)


def feature_blocks(graph: Graph, n_features: int) -> Iterator[slice]:
    """Yield blocks of features whose arrays over vertices or edges stay small."""
    n_edges = 0 if isinstance(graph, CliqueGraph) else len(edges_of(graph).heads)
    step = max(1, _BLOCK // max(1, n_edges, len(graph.degrees)))
    return (slice(start, start + step) for start in range(0, n_features, step))


def edges_of(graph: Any) -> EdgeGraph:
    """Return a graph that lists its edges."""
    check_kind(graph)
    listed: EdgeGraph = graph
    return listed


def check_kind(graph: Any) -> None:
    """Refuse graphs that are neither cliques nor a list of edges."""
    if not isinstance(graph, CliqueGraph) and not hasattr(graph, "heads"):
        raise TypeError(
            f"graph is a {type(graph).__name__}, which lists no edges; certificates need cliques, a star or a "
            "sparse graph."
        )


def _energy_of(graph: Graph) -> Any:
    """Return the function that maps columns z to Σ_edges w (z_x − z_y)² of each."""
    if isinstance(graph, CliqueGraph):
        return _CliqueEnergy(graph)
    listed = edges_of(graph)
    weights = listed.weights.astype(np.float64)
    return lambda columns: weights @ (columns[listed.heads] - columns[listed.tails]) ** 2


class _CliqueEnergy:
    """Σ over pairs of a cluster of (z_x − z_y)² is N times the sum of squares about its mean."""

    def __init__(self, graph: CliqueGraph) -> None:
        self.members = np.flatnonzero(graph.labels >= 0)
        self.labels = graph.labels[self.members]
        n_members = len(self.members)
        entries = np.ones(n_members), self.labels, np.arange(n_members + 1)
        self.sums: Any = sparse.csr_array(entries, shape=(n_members, graph.n_clusters)).T
        self.sizes = np.maximum(graph.cluster_sizes, 1)
        self.firsts = np.zeros(graph.n_clusters, dtype=np.int64)
        self.firsts[self.labels] = np.arange(n_members)  # any member will do
        self.weights = graph.weights.astype(np.float64) * graph.cluster_sizes

    def __call__(self, columns: Floats) -> Array:
        inside = columns[self.members]
        # Measured from one of its members, a cluster of equal values is exactly zero.
        inside = inside - inside[self.firsts][self.labels]
        means = (self.sums @ inside) / self.sizes[:, None]
        squares = self.sums @ (inside - means[self.labels]) ** 2
        return np.asarray(self.weights @ squares)


def best_coordinate_cuts(
    graph: Graph, table: Matrix, features: Ints
) -> tuple[CoordinateCut | None, CoordinateCut | None]:
    """Return the cuts of one feature with the least Ψ and the least h, from an exhaustive sweep.

    None if no feature parts the vertices into two sides of positive volume.
    """
    ledger = ledger_of(graph)
    state = ledger.root()
    node = ledger.node(state, np.arange(len(table)))
    best: list[CoordinateCut | None] = [None, None]
    for block in feature_blocks(graph, len(features)):
        columns = np.ascontiguousarray(table[:, features[block]].T)
        order = np.argsort(columns, axis=1, kind="stable")
        values = np.take_along_axis(columns, order, axis=1)
        left, right = ledger.sorted_sides(state, node, order, features[block])
        valid = (values[:, :-1] < values[:, 1:]) & (left.volume > 0) & (right.volume > 0)
        for which, scores in enumerate(_scores(left, right)):
            cut = _least(np.where(valid, scores, np.inf), values, features[block])
            old = best[which]
            if cut is not None and (old is None or cut.value < old.value):
                best[which] = cut
    return best[0], best[1]


def _scores(left: Side, right: Side) -> tuple[Floats, Floats]:
    """Return Ψ and h of every cut."""
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = left.volume - left.inner
        psi = crossing / left.volume + (right.volume - right.inner) / right.volume
        return psi, crossing / np.minimum(left.volume, right.volume)


def _least(scores: Floats, values: Matrix, features: Ints) -> CoordinateCut | None:
    """Return the cut of the lowest score, equal ones by the first feature, then threshold."""
    if scores.size == 0:
        return None
    row, gap = divmod(int(np.argmin(scores)), scores.shape[1])
    if scores[row, gap] == np.inf:
        return None
    threshold = midpoint(float(values[row, gap]), float(values[row, gap + 1]))
    return CoordinateCut(int(features[row]), threshold, float(scores[row, gap]))
