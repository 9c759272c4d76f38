"""Beyond greedy growth: better cuts for the same leaves."""

from spexplain.refine import cost_moves, edge_moves
from spexplain.refine.local import GoalName, refine, revalued

__all__ = ["GoalName", "cost_moves", "edge_moves", "refine", "revalued"]
