"""Prefix sums along sorted orders: one class per kind of graph, all in exact integers."""

from spexplain.ledgers.amounts import CostSweep, ServiceSweep
from spexplain.ledgers.base import Sweep, running_sums, sweep_of
from spexplain.ledgers.edges import EdgeSweep
from spexplain.ledgers.labels import LabelSweep
from spexplain.ledgers.pairs import PairSweep, ProductSweep

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
