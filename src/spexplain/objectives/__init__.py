"""Objectives: a graph and a formula on the sums of the left side, the right side and the node.

Import `Objective` and all formulas from here. A formula sees only arithmetic on the records of sums, so
the same lines serve every engine. Lower is better. A formula answers NaN or infinity where a cut is
inadmissible; engines ignore such cuts and silence the divisions by zero that mark them.
"""

from spexplain.objectives.base import Objective, compilable, on_columns, with_extra
from spexplain.objectives.cart import gini_cart, volume_cart
from spexplain.objectives.crossing import Denominator, crossing, emn, imm, non_uniform_cut
from spexplain.objectives.service import exkmc, greedy_service, shallow_service
from spexplain.objectives.spex import conductance, spex

__all__ = [
    "Denominator",
    "Objective",
    "compilable",
    "conductance",
    "crossing",
    "emn",
    "exkmc",
    "gini_cart",
    "greedy_service",
    "imm",
    "non_uniform_cut",
    "on_columns",
    "shallow_service",
    "spex",
    "volume_cart",
    "with_extra",
]
