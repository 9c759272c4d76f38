"""Graphs over the samples: what a method wants to keep together; import all of them from here.

Every graph is frozen data that says, for its vertices (the samples, then perhaps extra ones such as
centres), how strongly pairs are joined. Weights are fixed-point integers, so every sum that an
engine takes is exact and no engine can disagree with another.
"""

from spexplain.graphs.base import Graph
from spexplain.graphs.centers import CenterCosts, ServingCenters
from spexplain.graphs.clique import CliqueGraph, MembershipGraph
from spexplain.graphs.neighbors import Neighbors, knn_graph, nearest_neighbors
from spexplain.graphs.pairs import PairGraph, ProductGraph
from spexplain.graphs.sparse import EdgeGraph, SparseGraph
from spexplain.graphs.star import StarGraph, WeightedStar

__all__ = [
    "CenterCosts",
    "CliqueGraph",
    "EdgeGraph",
    "Graph",
    "MembershipGraph",
    "Neighbors",
    "PairGraph",
    "ProductGraph",
    "ServingCenters",
    "SparseGraph",
    "StarGraph",
    "WeightedStar",
    "knn_graph",
    "nearest_neighbors",
]
