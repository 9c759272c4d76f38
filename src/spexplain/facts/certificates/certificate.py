"""What is proved about a tree: the numbers, what they mean in words, and how they are found."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from textwrap import fill
from typing import Any

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.facts.certificates.costs import CostBound, imm_bound, leaves_of, lone_centers
from spexplain.facts.certificates.ratios import (
    CoordinateCut,
    best_coordinate_cuts,
    check_kind,
    quadratic_forms,
    vertex_table,
)
from spexplain.facts.certificates.spectrum import Method, smallest_eigenvalues
from spexplain.facts.schema import finite
from spexplain.facts.text import known_columns
from spexplain.graphs import Graph, PairGraph, StarGraph
from spexplain.graphs.sparse import graph_of
from spexplain.metrics.cuts import part_sums
from spexplain.metrics.inputs import table_of
from spexplain.tree import Test, Tree, about

_WIDTH = 80
_HOW = {
    "exact": "exact",
    "dense": "computed, rounding accounted for",
    "lanczos": "computed iteratively, residuals subtracted",
}


@dataclass(frozen=True)
class Certificate:
    """What is proved about a tree: on a graph from both sides, and by a search for the best tree of its size.

    For a set S with cut weight e(S) and volume vol(S), ψ(S) = e(S)/vol(S). A cut of everything into
    S and the rest has h = e/(the smaller volume) and Ψ = ψ(S) + ψ(rest), with h ≤ Ψ ≤ 2h.

    Where nothing is proved on a graph, as in tables with categories, only `size_bound` is set: other numbers are
    NaN, and everything else is None or empty.

    Parameters
    ----------
    ratios : tuple of float
        Cheeger ratio R_j of every feature; NaN where undefined.
    pooled_ratio : float
        R of all features together.
    smoothest_feature : int or None
        Feature of the least R_j among those that cuts may use.
    h_bound, psi_bound : float
        Proved: some cut of `smoothest_feature` has h ≤ √(2R_j), and Ψ ≤ 2√(2R_j). NaN if no ratio
        is defined.
    best_h, best_psi : CoordinateCut or None
        The cuts (feature, threshold, value) of least h and Ψ among all cuts of one feature.
    lambda_2 : float
        Lower bound of Ψ for every cut, of whatever shape.
    n_parts : int
        Leaves of positive volume.
    objective : float
        Sum of the leaves' conductances.
    lower_bound : float
        Lower bound of that sum for every partition into `n_parts` parts of positive volume.
    method : {"exact", "dense", "lanczos"} or None
        How the spectral lower bounds were found; see `smallest_eigenvalues` for what each proves.
    cost : CostBound or None
        For star graphs with one centre per leaf: the bound of the tree's k-medians cost.
    feature_names : tuple of str
        Names of the features, for `to_text`.
    size_bound : str, optional
        What no tree of this size can exceed, in one sentence, where a search has proved it.
    """

    ratios: tuple[float, ...] = ()
    pooled_ratio: float = nan
    smoothest_feature: int | None = None
    h_bound: float = nan
    psi_bound: float = nan
    best_h: CoordinateCut | None = None
    best_psi: CoordinateCut | None = None
    lambda_2: float = nan
    n_parts: int | None = None
    objective: float = nan
    lower_bound: float = nan
    method: Method | None = None
    cost: CostBound | None = None
    feature_names: tuple[str, ...] = ()
    size_bound: str | None = None

    @property
    def gap(self) -> float:
        """How far the tree is from the lower bound; what explainability costs is part of it."""
        # Both are equal on paper for some trees; rounding must not make the gap negative. NaN stays.
        return max(self.objective - self.lower_bound, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, lists and dicts, ready for JSON; None stands for undefined numbers.

        Examples
        --------
        >>> from spexplain import SpexClique
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> certificate = SpexClique().fit(X, ["new"] * 3 + ["VIP"] * 3).certificate()
        >>> sorted(certificate.to_dict())[:3]
        ['best_h', 'best_psi', 'cost']
        """
        return {
            "ratios": [finite(ratio) for ratio in self.ratios],
            "pooled_ratio": finite(self.pooled_ratio),
            "smoothest_feature": self.smoothest_feature,
            "h_bound": finite(self.h_bound),
            "psi_bound": finite(self.psi_bound),
            "best_h": None if self.best_h is None else self.best_h._asdict(),
            "best_psi": None if self.best_psi is None else self.best_psi._asdict(),
            "lambda_2": finite(self.lambda_2),
            "n_parts": self.n_parts,
            "objective": finite(self.objective),
            "lower_bound": finite(self.lower_bound),
            "gap": finite(self.gap),
            "method": self.method,
            "cost": None if self.cost is None else self.cost.to_dict(),
            "feature_names": list(self.feature_names),
            "size_bound": self.size_bound,
        }

    def to_text(self) -> str:
        """Return the certificate in plain words, at most 80 columns wide.

        Examples
        --------
        >>> from spexplain import SpexClique
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> certificate = SpexClique().fit(X, ["new"] * 3 + ["VIP"] * 3).certificate()
        >>> print(certificate.to_text())
        The leaves
          The conductances of the leaves sum to 0; 0 would mean that no edge is cut.
          No partition into 2 parts, by a tree or otherwise, gets below 0 (exact). The
          gap is 0.
        <BLANKLINE>
        The first cut
          h is the weight of the cut edges over the smaller side's volume, Psi the sum
          of the conductances of both sides.
          Along edges, x1 changes least: its Cheeger ratio is R = 0.0576923 (between 0
          and 2).
          Promised (proved): some cut of it has h at most sqrt(2R) = 0.339683 and Psi at
          most 2 sqrt(2R) = 0.679366.
          Found: h = 0 by x0 ≤ 41.5, and Psi = 0 by x0 ≤ 41.5.
          No cut of any shape has Psi below 0 (exact).
        """
        sections = []
        if self.size_bound is not None:
            sections.append(["The tree", *_paragraphs([self.size_bound])])
        if self.method is not None:
            how = _HOW[self.method]
            sections.append(["The leaves", *_paragraphs(self._about_leaves(how))])
            sections.append(["The first cut", *_paragraphs(self._about_first_cut(how))])
        if self.cost is not None:
            sections.append(["The cost", self.cost.to_text()])
        return "\n\n".join("\n".join(lines) for lines in sections)

    def _about_leaves(self, how: str) -> list[str]:
        parts = "1 part" if self.n_parts == 1 else f"{self.n_parts} parts"
        return [
            f"The conductances of the leaves sum to {about(self.objective)}; 0 would mean that no edge is cut.",
            f"No partition into {parts}, by a tree or otherwise, gets below {about(self.lower_bound)} "
            f"({how}). The gap is {about(self.gap)}.",
        ]

    def _about_first_cut(self, how: str) -> list[str]:
        if self.smoothest_feature is None or self.best_h is None or self.best_psi is None:
            return ["No column splits the graph into two sides with edges, so nothing is claimed."]
        ratio = self.ratios[self.smoothest_feature]
        return [
            "h is the weight of the cut edges over the smaller side's volume, Psi the sum of the conductances of both "
            "sides.",
            f"Along edges, {self.feature_names[self.smoothest_feature]} changes least: its Cheeger ratio is "
            f"R = {about(ratio)} (between 0 and 2).",
            f"Promised (proved): some cut of it has h at most sqrt(2R) = {about(self.h_bound)} and Psi at most "
            f"2 sqrt(2R) = {about(self.psi_bound)}.",
            f"Found: h = {about(self.best_h.value)} by {self._cut_text(self.best_h)}, and Psi = "
            f"{about(self.best_psi.value)} by {self._cut_text(self.best_psi)}.",
            f"No cut of any shape has Psi below {about(self.lambda_2)} ({how}).",
        ]

    def _cut_text(self, cut: CoordinateCut) -> str:
        upper = float(f"{cut.threshold:.15g}")  # without the digits that halving added
        return Test(cut.feature, upper=upper).text(self.feature_names[cut.feature])


def _paragraphs(sentences: list[str]) -> list[str]:
    return [fill(each, _WIDTH, initial_indent="  ", subsequent_indent="  ") for each in sentences]


def certify(
    graph: Any,
    X: Any,
    tree: Tree,
    *,
    features: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
    leaves: Any = None,
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
    leaves : array of int, optional
        Leaf of every row, then of every centre of a `StarGraph`; by default all walk down the tree.

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
    names = tuple(each.name for each in known_columns(rows.shape[1], feature_names))
    # Of a pair of graphs, the certificate is about the one to cut little of.
    known = graph_of(graph.graph if isinstance(graph, PairGraph) else graph, rows)
    check_kind(known)
    table, columns = vertex_table(known, rows), _columns(features, rows.shape[1])
    forms = quadratic_forms(known, table)
    smoothest = _smoothest(forms.ratios(), columns)
    least = np.nan if smoothest is None else forms.ratios()[smoothest]
    best_psi, best_h = best_coordinate_cuts(known, table, columns)
    homes = np.concatenate(leaves_of(tree, rows, table[len(rows) :], leaves))
    parts = part_sums(known, homes)
    full = parts.volume > 0
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
        objective=float(np.sum(parts.outer[full] / parts.volume[full])),
        lower_bound=spectrum.bound(n_parts),
        method=spectrum.method,
        cost=_cost(known, rows, tree, homes),
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


def _cost(graph: Graph, X: Matrix, tree: Tree, leaves: Ints) -> CostBound | None:
    """Return the bound of the cost where the graph has centres and every leaf with rows has one."""
    if not isinstance(graph, StarGraph):
        return None
    centers = np.asarray(graph.centers, dtype=np.float64)
    rows, homes = leaves[: len(X)], leaves[len(X) :]
    served = lone_centers(tree, centers, homes)[rows[graph.labels >= 0]] >= 0
    return imm_bound(X, tree, centers, graph.labels, leaves=leaves) if served.all() else None
