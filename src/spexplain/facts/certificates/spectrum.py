"""The smallest eigenvalues of a graph: no partition whatever can be cut more cheaply than they say."""

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy
from scipy import sparse

from spexplain.aliases import Floats, Ints
from spexplain.facts.certificates.ratios import edges_of
from spexplain.graphs import CliqueGraph

Method: TypeAlias = Literal["exact", "dense", "lanczos"]

_DENSE = 500  # vertices of the largest component that is solved as a dense matrix
_PAIRS = 64  # eigenpairs of a larger component that are computed at most
_FINE, _COARSE = (
    1e-7,
    1e-5,
)  # tolerances of eigenpairs that count, and of the search for overlooked ones
_RESTARTS = 300
_SEARCHES = 10  # for overlooked eigenvalues
_EPSILON = float(np.finfo(np.float64).eps)


class Spectrum(NamedTuple):
    """Lower bounds of the smallest eigenvalues of the normalised Laplacian, in increasing order."""

    values: Floats
    method: Method  # the least certain one that was used

    def bound(self, n_parts: int) -> float:
        """Return the least possible sum of conductances of `n_parts` parts of positive volume."""
        return float(self.values[:n_parts].sum())


def smallest_eigenvalues(graph: Any, count: int) -> Spectrum:
    """Return lower bounds of the smallest eigenvalues of I − D^-½ A D^-½ over the vertices with edges.

    By Ky Fan's theorem the conductances of any l parts of positive volume sum to at least the sum
    of the l smallest eigenvalues; the second smallest is a lower bound of Ψ for every cut.

    Parameters
    ----------
    graph : Graph
        A graph of `spexplain.graphs` with cliques or listed edges.
    count : int
        Number of eigenvalues; fewer come back if fewer vertices have edges.

    Returns
    -------
    spectrum : Spectrum

    Notes
    -----
    *Cliques*: a closed form. A cluster of N > 1 samples has the eigenvalue 0 once and N/(N−1) else.

    *Listed edges*: the eigenvalue 0 has one copy per connected component, which are counted exactly.
    Components of up to 500 vertices are solved as dense matrices, and the rounding error of a
    backward stable method is subtracted. Larger ones are solved by the Lanczos method orthogonally
    to the known null vector, and the norm of all residuals together is subtracted: by Kahan's
    theorem there are that many eigenvalues, counted with multiplicity, not below the values
    returned. That no *smaller* eigenvalue was overlooked is checked numerically, by further
    searches from other starts orthogonally to everything found, but not proved. If the iteration
    does not converge, 0 takes the place of the eigenvalues of that component. At most 64 eigenpairs
    of such a component are computed; the largest of them bounds all further ones.

    Examples
    --------
    >>> from spexplain.facts.certificates import smallest_eigenvalues
    >>> from spexplain.graphs import CliqueGraph
    >>> smallest_eigenvalues(CliqueGraph.from_labels([0, 0, 0, 1, 1]), 4).values
    array([0. , 0. , 1.5, 1.5])
    """
    if isinstance(graph, CliqueGraph):
        return Spectrum(_of_cliques(graph.cluster_sizes, count), "exact")
    return _of_edges(*_normalized(graph), count)


def _of_cliques(sizes: Ints, count: int) -> Floats:
    sizes = np.sort(sizes[sizes > 1])[::-1]
    zeros = np.zeros(min(count, len(sizes)))
    # Large clusters have the smaller eigenvalues; no more than `count` of them can matter.
    copies = np.minimum(sizes - 1, count)
    others = np.repeat(sizes / np.maximum(sizes - 1, 1), copies)
    return np.concatenate([zeros, others])[:count]


def _normalized(graph: Any) -> tuple[sparse.csr_array, Floats]:
    """Return D^-½ A D^-½ and √deg over the vertices of positive degree."""
    listed = edges_of(graph)
    degrees = listed.degrees.astype(np.float64)
    joined = np.flatnonzero(degrees)
    place = np.zeros(len(degrees), dtype=np.int64)
    place[joined] = np.arange(len(joined))
    heads, tails = place[listed.heads], place[listed.tails]
    roots = np.sqrt(degrees[joined])
    weights = listed.weights / (roots[heads] * roots[tails])
    ends = np.r_[heads, tails], np.r_[tails, heads]
    shape = (len(joined), len(joined))
    return sparse.csr_array((np.tile(weights, 2), ends), shape=shape), roots


def _of_edges(adjacency: sparse.csr_array, roots: Floats, count: int) -> Spectrum:
    """Return the union of the components' eigenvalues."""
    from scipy.sparse.csgraph import connected_components

    n_vertices = len(roots)
    n_components, component = connected_components(adjacency, directed=False)
    count = min(count, n_vertices)
    if count <= n_components:
        return Spectrum(np.zeros(count), "exact")
    order = np.argsort(component, kind="stable")
    ordered, stops = adjacency[order][:, order], np.cumsum(np.bincount(component))
    found, method = [np.zeros(n_components)], "dense"
    for start, stop in zip(np.r_[0, stops[:-1]].tolist(), stops.tolist(), strict=True):
        wanted = min(count - n_components, stop - start - 1)
        own = sparse.csr_array(ordered[start:stop, start:stop])
        if stop - start <= _DENSE:
            found.append(_dense(own, wanted))
        else:
            null = roots[order[start:stop]]
            found.append(_lanczos(own, null / np.linalg.norm(null), wanted))
            method = "lanczos"
    values = np.sort(np.concatenate(found))[:count]
    return Spectrum(values, "lanczos" if method == "lanczos" else "dense")


def _dense(adjacency: sparse.csr_array, wanted: int) -> Floats:
    """Return lower bounds of the smallest positive eigenvalues of a connected component."""
    n_vertices = adjacency.shape[0]
    laplacian = np.eye(n_vertices) - adjacency.toarray()
    values = np.asarray(
        scipy.linalg.eigvalsh(laplacian, subset_by_index=[0, wanted])[1:], dtype=np.float64
    )
    # Building the matrix and solving it are exact up to a modest multiple of n·ε‖L‖, and ‖L‖ ≤ 2.
    return np.maximum(values - 4 * (n_vertices + 4) * _EPSILON, 0.0)


def _lanczos(adjacency: sparse.csr_array, null: Floats, wanted: int) -> Floats:
    """Return the same for a large component, by Lanczos on 2I − L beside the known null vector."""
    from scipy.sparse.linalg import ArpackError

    n_pairs = min(wanted, _PAIRS)
    random = np.random.default_rng(0)
    basis = null[:, None]
    remaining = 0.0  # lower bound of the eigenvalues beside the basis
    try:
        basis = np.hstack([basis, _search(adjacency, basis, n_pairs, _FINE, random)])
        for _ in range(_SEARCHES):
            # A single start sees one vector per eigenspace: look again beside all that was found.
            largest = _ritz(adjacency, basis[:, 1:])[0][n_pairs - 1]
            (value,), residual = _ritz(adjacency, _search(adjacency, basis, 1, _COARSE, random))
            remaining = value - residual
            if value >= largest - _FINE:
                break
            basis = np.hstack([basis, _search(adjacency, basis, 1, _FINE, random)])
    except ArpackError:  # no convergence is one of them
        return np.zeros(wanted)
    values, residual = _ritz(adjacency, basis[:, 1:])
    bounds = np.maximum(np.minimum(values[:n_pairs] - residual, remaining), 0.0)
    return np.append(bounds, np.full(wanted - n_pairs, bounds[-1]))


def _search(
    adjacency: sparse.csr_array,
    basis: Floats,
    n_pairs: int,
    tolerance: float,
    random: np.random.Generator,
) -> Floats:
    """Return orthonormal vectors of the largest eigenvalues of I + A orthogonally to a basis."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    n_vertices = adjacency.shape[0]

    def beside(vector: Floats) -> Floats:
        return vector - basis @ (basis.T @ vector)

    def apply(vector: Floats) -> Floats:
        inside = beside(vector.ravel())
        return beside(inside + adjacency @ inside)

    operator = LinearOperator((n_vertices, n_vertices), matvec=apply, dtype=np.float64)
    start = beside(random.standard_normal(n_vertices))
    _, vectors = eigsh(
        operator,
        k=n_pairs,
        which="LA",
        v0=start,
        ncv=min(n_vertices, max(2 * n_pairs + 1, 40)),
        tol=tolerance,
        maxiter=_RESTARTS,
    )
    return np.linalg.qr(np.hstack([basis, vectors]))[0][:, basis.shape[1] :]


def _ritz(adjacency: sparse.csr_array, basis: Floats) -> tuple[Floats, float]:
    """Return the Ritz values of L on an orthonormal basis, and the norm of all their residuals."""
    image = basis - adjacency @ basis
    inner = basis.T @ image
    values, mixing = np.linalg.eigh((inner + inner.T) / 2)
    residuals = image @ mixing - (basis @ mixing) * values
    rounding = 8 * len(basis) ** 0.5 * basis.shape[1] * _EPSILON
    return values, float(np.linalg.norm(residuals)) + rounding
