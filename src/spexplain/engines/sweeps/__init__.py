"""Prefix sums along sorted orders: one class per kind of graph, all in exact integers."""

from spexplain.engines.sweeps.base import Sweep, running_sums, sweep_of
from spexplain.engines.sweeps.centers import CostSweep, ServiceSweep
from spexplain.engines.sweeps.edges import EdgeSweep
from spexplain.engines.sweeps.labels import LabelSweep
from spexplain.engines.sweeps.pairs import PairSweep, ProductSweep

__all__ = [
    "CostSweep",
    "EdgeSweep",
    "LabelSweep",
    "PairSweep",
    "ProductSweep",
    "ServiceSweep",
    "Sweep",
    "running_sums",
    "sweep_of",
]
