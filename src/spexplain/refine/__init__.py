"""Beyond greedy growth: better cuts for the same leaves; import `refine` and `revalued` from here."""

from spexplain.refine.local import GoalName, refine, revalued

__all__ = ["GoalName", "refine", "revalued"]
