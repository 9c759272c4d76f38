"""The certificate itself: plain numbers, and what they mean in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from textwrap import fill
from typing import Any

from spexplain.facts.certificates.costs import CostBound
from spexplain.facts.certificates.ratios import CoordinateCut
from spexplain.facts.certificates.spectrum import Method
from spexplain.tree import Test, number

_WIDTH = 80
_HOW = {
    "exact": "exact",
    "dense": "computed, rounding accounted for",
    "lanczos": "computed iteratively, residuals subtracted",
}


@dataclass(frozen=True)
class Certificate:
    """What is proved about a tree on a graph, from both sides.

    For a set S with cut weight e(S) and volume vol(S), ψ(S) = e(S)/vol(S). A cut of everything into
    S and the rest has h = e/(the smaller volume) and Ψ = ψ(S) + ψ(rest), with h ≤ Ψ ≤ 2h.

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
    method : {"exact", "dense", "lanczos"}
        How the spectral lower bounds were found; see `smallest_eigenvalues` for what each proves.
    cost : CostBound or None
        For star graphs with one centre per leaf: the bound of the tree's k-medians cost.
    feature_names : tuple of str
        Names of the features, for `to_text`.
    """

    ratios: tuple[float, ...]
    pooled_ratio: float
    smoothest_feature: int | None
    h_bound: float
    psi_bound: float
    best_h: CoordinateCut | None
    best_psi: CoordinateCut | None
    lambda_2: float
    n_parts: int
    objective: float
    lower_bound: float
    method: Method
    cost: CostBound | None
    feature_names: tuple[str, ...]

    @property
    def gap(self) -> float:
        """How far the tree is from the lower bound; what explainability costs is part of it."""
        # Both are equal on paper for some trees; rounding must not make the gap negative.
        return max(0.0, self.objective - self.lower_bound)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, lists and dicts, ready for JSON; None stands for undefined numbers."""
        return {
            "ratios": [_plain(ratio) for ratio in self.ratios],
            "pooled_ratio": _plain(self.pooled_ratio),
            "smoothest_feature": self.smoothest_feature,
            "h_bound": _plain(self.h_bound),
            "psi_bound": _plain(self.psi_bound),
            "best_h": None if self.best_h is None else self.best_h._asdict(),
            "best_psi": None if self.best_psi is None else self.best_psi._asdict(),
            "lambda_2": self.lambda_2,
            "n_parts": self.n_parts,
            "objective": self.objective,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "method": self.method,
            "cost": None if self.cost is None else self.cost.to_dict(),
            "feature_names": list(self.feature_names),
        }

    def to_text(self) -> str:
        """Return the certificate in plain words, at most 80 columns wide."""
        parts = [
            "The leaves",
            *_paragraphs(self._about_leaves()),
            "",
            "The first cut",
            *_paragraphs(self._about_first_cut()),
        ]
        if self.cost is not None:
            parts += ["", "The cost", self.cost.to_text()]
        return "\n".join(parts)

    def _about_leaves(self) -> list[str]:
        parts = "1 part" if self.n_parts == 1 else f"{self.n_parts} parts"
        return [
            f"The conductances of the leaves sum to {number(self.objective)}; 0 would mean that no edge is cut.",
            f"No partition into {parts}, by a tree or otherwise, gets below {number(self.lower_bound)} "
            f"({_HOW[self.method]}). The gap is {number(self.gap)}.",
        ]

    def _about_first_cut(self) -> list[str]:
        if self.smoothest_feature is None or self.best_h is None or self.best_psi is None:
            return ["No feature parts the graph into two sides with edges, so nothing is claimed."]
        ratio = self.ratios[self.smoothest_feature]
        return [
            "h is the weight of the cut edges over the smaller side's volume, Psi the sum of the conductances of both "
            "sides.",
            f"Along edges, {self.feature_names[self.smoothest_feature]} changes least: its Cheeger ratio is "
            f"R = {number(ratio)} (between 0 and 2).",
            f"Promised (proved): some cut of it has h at most sqrt(2R) = {number(self.h_bound)} and Psi at most "
            f"2 sqrt(2R) = {number(self.psi_bound)}.",
            f"Found: h = {number(self.best_h.value)} by {self._cut_text(self.best_h)}, and Psi = "
            f"{number(self.best_psi.value)} by {self._cut_text(self.best_psi)}.",
            f"No cut of any shape has Psi below {number(self.lambda_2)} ({_HOW[self.method]}).",
        ]

    def _cut_text(self, cut: CoordinateCut) -> str:
        return Test(cut.feature, upper=cut.threshold).text(self.feature_names[cut.feature])


def default_names(n_features: int, given: Sequence[str] | None) -> tuple[str, ...]:
    """Return one name per feature: the given ones, or x0, x1, ..."""
    if given is None:
        return tuple(f"x{column}" for column in range(n_features))
    if len(given) != n_features:
        raise ValueError(f"feature_names has {len(given)} entries, but X has {n_features} columns.")
    return tuple(map(str, given))


def _paragraphs(sentences: list[str]) -> list[str]:
    return [fill(each, _WIDTH, initial_indent="  ", subsequent_indent="  ") for each in sentences]


def _plain(x: float) -> float | None:
    return x if isfinite(x) else None
