"""Ledgers: all that any engine needs to know about the sums of a graph, one class per kind of graph.

Import `ledger_of`, which gives the ledger of a graph, and the classes from here; further kinds of graphs
register theirs with ``@ledger_of.register``.
"""

from spexplain.ledgers.amounts import (
    AmountLedger,
    CostLedger,
    MembershipLedger,
    ProductLedger,
    ServiceLedger,
)
from spexplain.ledgers.base import Ledger, SideLedger, ledger_of
from spexplain.ledgers.edges import EdgeLedger
from spexplain.ledgers.labels import LabelLedger
from spexplain.ledgers.pairs import PairLedger
from spexplain.ledgers.stars import StarLedger, SurrogateLedger, WeightedStarLedger

__all__ = [
    "AmountLedger",
    "CostLedger",
    "EdgeLedger",
    "LabelLedger",
    "Ledger",
    "MembershipLedger",
    "PairLedger",
    "ProductLedger",
    "ServiceLedger",
    "SideLedger",
    "StarLedger",
    "SurrogateLedger",
    "WeightedStarLedger",
    "ledger_of",
]
