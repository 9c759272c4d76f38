"""What a search optimised, the value that it reached, and what is proved about it, in words."""

from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

from spexplain.messages import counted
from spexplain.refine.scores import LOW_GOALS, GoalName
from spexplain.tree import about

# What goals measure, as axes and columns of tables are titled.
MEASURES: dict[str, str] = {
    "fidelity": "rows right",
    "balanced": "mean recall",
    "agreement": "agreement (ARI)",
    "cost": "k-means cost",
    "conductance": "sum of conductances",
}


class SizeStep(NamedTuple):
    """The best tree found of one size.

    Attributes
    ----------
    n_leaves : int
        Its leaves.
    value : float
        Its value by the goal.
    bound : float
        A proved bound: no tree of this size has a better value.
    optimal : bool
        Whether the value reaches the bound.
    n_lost : int
        Clusters that no leaf stands for.
    """

    n_leaves: int
    value: float  # of the goal
    bound: float  # proved: no tree of this size is better
    optimal: bool  # whether the value reaches the bound
    n_lost: int  # clusters that no leaf stands for


@dataclass(frozen=True)
class GoalRecord:
    """What a search optimised, and its result.

    Parameters
    ----------
    name : {"fidelity", "balanced", "agreement", "cost", "conductance"}
        The goal.
    value : float
        What the goal measures of the tree.
    bound : float
        Proven bound of the value of any tree of this size.
    optimal : bool
        Whether no tree of this size is better.
    total : float
        Rows of clusters; 0 where rows have weights or the search gave clusters other weights.
    max_depth : int, optional
        Most tests on a path, where that was limited.
    curve : tuple of SizeStep
        The best trees of the sizes that were searched, where the search chose among several.

    Examples
    --------
    >>> from spexplain.facts.goal import GoalRecord
    >>> goal = GoalRecord("fidelity", 0.9, 0.95, False, total=200)
    >>> goal.text(4)
    '180 of 200 rows right; no tree of 4 leaves has more than 190'
    >>> goal.sentence(4)
    'No tree of 4 leaves puts more than 190 of 200 rows right; this one has 180.'
    """

    name: GoalName
    value: float
    bound: float
    optimal: bool
    total: float = 0.0
    max_depth: int | None = None
    curve: tuple[SizeStep, ...] = ()

    @property
    def says_something(self) -> bool:
        """Whether the bound says more than what holds for every tree."""
        if not isfinite(self.bound):
            return False
        return self.optimal or (self.bound > 0 if self.name in LOW_GOALS else self.bound < 1)

    def _trees(self, n_leaves: int) -> str:
        depth = "" if self.max_depth is None else f" and depth {self.max_depth}"
        return f"tree of {counted(n_leaves, 'leaf', 'leaves')}{depth}"

    def _amount(self, value: float) -> str:
        if self.name == "fidelity":
            return f"{round(value * self.total):,}" if self.total else f"{value:.1%}"
        return about(value) if self.name == "cost" else f"{value:.4f}"

    @property
    def _all(self) -> str:
        return f"{round(self.total):,} rows" if self.total else "the weighted rows"

    def text(self, n_leaves: int) -> str:
        """Return the value and the bound for a headline."""
        measure = {
            "fidelity": f"{{}} of {self._all} right",
            "balanced": "mean recall of the clusters {}",
            "agreement": "adjusted Rand index {}",
            "cost": "cost {}",
            "conductance": "sum of conductances {}",
        }[self.name]
        text = measure.format(self._amount(self.value))
        if not self.says_something:
            return text
        if self.optimal:
            return f"{text}; no {self._trees(n_leaves)} is better"
        side = "less" if self.name in LOW_GOALS else "more"
        return f"{text}; no {self._trees(n_leaves)} has {side} than {self._amount(self.bound)}"

    def sentence(self, n_leaves: int) -> str:
        """Return what no tree of this size can exceed."""
        bound = self._amount(self.bound)
        what = {
            "fidelity": f"puts more than {bound} of {self._all} right",
            "balanced": f"has a mean recall of the clusters above {bound}",
            "agreement": f"agrees with the clusters by an adjusted Rand index above {bound}",
            "cost": f"has a cost below {bound}",
            "conductance": f"has conductances that sum to less than {bound}",
        }[self.name]
        reached = (
            "so this one is the best"
            if self.optimal
            else f"this one has {self._amount(self.value)}"
        )
        return f"No {self._trees(n_leaves)} {what}; {reached}."
