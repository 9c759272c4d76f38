"""From a graph, a table and a tree to a certificate."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.facts.certificates.costs import CostBound, imm_bound, lone_centers
from spexplain.facts.certificates.ratios import (
    best_coordinate_cuts,
    check_kind,
    quadratic_forms,
    vertex_table,
)
from spexplain.facts.certificates.record import Certificate, default_names
from spexplain.facts.certificates.spectrum import smallest_eigenvalues
from spexplain.graphs import Graph, PairGraph, StarGraph
from spexplain.graphs.sparse import graph_of
from spexplain.metrics.cuts import part_sums
from spexplain.metrics.inputs import table_of
from spexplain.tree import Tree


def certify(
    graph: Any,
    X: Any,
    tree: Tree,
    *,
    features: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
) -> Certificate:
    """Return what is proved about a tree on a graph: bounds from both sides, beside what was achieved.

    Parameters
    ----------
    graph : graph or adjacency matrix
        A graph of `spexplain.graphs` with cliques or listed edges, or a symmetric adjacency, over
        the rows of `X`.
    X : array or data frame of shape (n_samples, n_features)
        The rows that the graph was made for.
    tree : Tree
        The tree, for example ``explainer.tree_``.
    features : list of int, optional
        Columns that cuts may use; all by default.
    feature_names : list of str, optional
        Names for the text; x0, x1, ... by default.

    Returns
    -------
    certificate : Certificate

    Notes
    -----
    For every feature j whose Cheeger ratio is defined, some cut of it has h ≤ √(2R_j) and therefore
    Ψ ≤ 2√(2R_j). All cuts of all features are tried, O(n_features · n log n), so the certificate
    also says what is achieved. See `smallest_eigenvalues` for the lower bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import SpexClique
    >>> from spexplain.facts.certificates import certify
    >>> from spexplain.graphs import CliqueGraph
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> labels = [0, 0, 0, 1, 1, 1]
    >>> tree = SpexClique().fit(X, labels).tree_
    >>> certificate = certify(CliqueGraph.from_labels(labels), X, tree)
    >>> certificate.objective, certificate.lower_bound, certificate.best_psi.value
    (0.0, 0.0, 0.0)
    >>> round(certificate.h_bound, 3)
    0.279
    """
    rows = table_of(X)
    if tree.n_features != rows.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} columns, but the tree tests {tree.n_features}.")
    names = default_names(rows.shape[1], feature_names)
    # Of a pair of graphs, the certificate is about the one to cut little of.
    known = graph_of(graph.graph if isinstance(graph, PairGraph) else graph, rows)
    check_kind(known)
    table, columns = vertex_table(known, rows), _columns(features, rows.shape[1])
    forms = quadratic_forms(known, table)
    smoothest = _smoothest(forms.ratios(), columns)
    least = np.nan if smoothest is None else forms.ratios()[smoothest]
    best_psi, best_h = best_coordinate_cuts(known, table, columns)
    leaves = part_sums(known, tree.apply(table))
    full = leaves.volume > 0
    n_parts = int(np.count_nonzero(full))
    spectrum = smallest_eigenvalues(known, max(n_parts, 2))
    return Certificate(
        ratios=tuple(forms.ratios().tolist()),
        pooled_ratio=forms.pooled(),
        smoothest_feature=smoothest,
        h_bound=float(np.sqrt(2 * least)),
        psi_bound=float(2 * np.sqrt(2 * least)),
        best_h=best_h,
        best_psi=best_psi,
        lambda_2=float(spectrum.values[1]) if len(spectrum.values) > 1 else 0.0,
        n_parts=n_parts,
        objective=float(np.sum(leaves.outer[full] / leaves.volume[full])),
        lower_bound=spectrum.bound(n_parts),
        method=spectrum.method,
        cost=_cost(known, rows, tree),
        feature_names=names,
    )


def _columns(features: Sequence[int] | None, n_features: int) -> Ints:
    """Return the columns that cuts may use, in increasing order."""
    if features is None:
        return np.arange(n_features)
    columns = np.unique(np.asarray(features))
    if (
        columns.dtype.kind not in "iu"
        or not len(columns)
        or columns[0] < 0
        or columns[-1] >= n_features
    ):
        raise ValueError(f"features must hold column numbers, 0 to {n_features - 1}.")
    return columns.astype(np.int64)


def _smoothest(ratios: Floats, columns: Ints) -> int | None:
    """Return the column of the least ratio, the first of equals."""
    own = ratios[columns]
    return None if np.isnan(own).all() else int(columns[np.nanargmin(own)])


def _cost(graph: Graph, X: Matrix, tree: Tree) -> CostBound | None:
    """Return the bound of the cost where the graph has centres and every leaf with rows has one."""
    if not isinstance(graph, StarGraph):
        return None
    centers = np.asarray(graph.centers, dtype=np.float64)
    served = lone_centers(tree, centers)[tree.apply(X[graph.labels >= 0])] >= 0
    return imm_bound(X, tree, centers, graph.labels) if served.all() else None
