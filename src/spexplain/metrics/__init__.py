"""Measures of how good an explanation is: agreement, cuts of a graph, price and shape. Import them from here."""

from spexplain.metrics.agreement import Agreement, agreement, agreement_of_counts
from spexplain.metrics.cuts import conductance, multiway_cut, sparsity
from spexplain.metrics.price import clustering_cost, price_of_explainability
from spexplain.metrics.shape import weighted_average_depth, weighted_average_explanation_size

__all__ = [
    "Agreement",
    "agreement",
    "agreement_of_counts",
    "clustering_cost",
    "conductance",
    "multiway_cut",
    "price_of_explainability",
    "sparsity",
    "weighted_average_depth",
    "weighted_average_explanation_size",
]
