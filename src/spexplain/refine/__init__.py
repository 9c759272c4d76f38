"""Beyond greedy growth: better cuts for the same leaves; import `refine` and `revalued` from here."""

from typing import TYPE_CHECKING

from spexplain.lazy import names_of

if TYPE_CHECKING:
    from spexplain.refine.local import refine, revalued
    from spexplain.refine.scores import AIMS, AimName

__all__ = ["AIMS", "AimName", "refine", "revalued"]

__getattr__ = names_of(
    __name__,
    {
        "AIMS": "scores",
        "AimName": "scores",
        "refine": "local",
        "revalued": "local",
    },
)
