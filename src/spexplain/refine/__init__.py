"""Beyond greedy growth: better cuts for the same leaves; import `refine` and `revalued` from here."""

from spexplain.refine.local import refine, revalued
from spexplain.refine.scores import AIMS, AimName

__all__ = ["AIMS", "AimName", "refine", "revalued"]
