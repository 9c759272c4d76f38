"""What rows and clusters weigh in a search: `sample_weight` of fit and the parameter `cluster_weight`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.arguments import check_number, check_weights
from spexplain.exceptions import quoted_list
from spexplain.table.base import Table
from spexplain.table.reference import Reference


class RowWeights(NamedTuple):
    """What the rows of a search weigh."""

    values: Floats | None = None  # None: all of them one
    rows: Ints | None = None  # their numbers in the user's table; None: all of its rows


ALL_ROWS = RowWeights()


class Searched(NamedTuple):
    """The rows of positive weight, which are all that a search sees."""

    table: Table
    reference: Reference | None  # memberships times the weights of clusters
    weights: RowWeights

    @property
    def is_plain(self) -> bool:
        """Whether every row counts once, for one cluster at most."""
        is_shared = self.reference is not None and self.reference.memberships is not None
        return self.weights.values is None and not is_shared


def searched_rows(
    table: Table, reference: Reference | None, weights: Floats | None, cluster_weight: Any
) -> Searched:
    """Return what a search sees of a table.

    Parameters
    ----------
    table : Table
        The user's table.
    reference : Reference, optional
        Its clustering, if the method looks at it.
    weights : array of shape (n_rows,), optional
        The user's weights.
    cluster_weight : None, "balanced" or dict
        The parameter of the estimator.
    """
    rows: Ints | None = None
    if weights is not None and not weights.all():
        rows = np.flatnonzero(weights)
        if len(rows) < 2:
            raise ValueError(
                "sample_weight is above 0 for one row only; at least two rows must count."
            )
        table, weights = table.take(rows), check_weights(weights[rows], len(rows))
        reference = None if reference is None else reference.rows(rows)
    if reference is None or cluster_weight is None:
        return Searched(table, reference, RowWeights(weights, rows))
    factors = cluster_factors(reference, weights, cluster_weight)
    if reference.memberships is not None:
        reference = replace(reference, memberships=reference.memberships * factors)
    else:
        own = np.append(factors, 1.0)[reference.codes]  # the last is what noise finds
        weights = own if weights is None else own * weights
    return Searched(table, reference, RowWeights(weights, rows))


def check_cluster_weight(cluster_weight: Any) -> None:
    """Refuse what is no weight of clusters."""
    if cluster_weight is None or isinstance(cluster_weight, Mapping):
        return
    if not (isinstance(cluster_weight, str) and cluster_weight == "balanced"):
        raise ValueError(
            f'cluster_weight={cluster_weight!r} must be None, "balanced" or a dict from labels to weights.'
        )


def cluster_factors(reference: Reference, weights: Floats | None, cluster_weight: Any) -> Floats:
    """Return by what the weights of every cluster's rows are multiplied."""
    if isinstance(cluster_weight, Mapping):
        labels = reference.classes.tolist()
        unknown = [label for label in cluster_weight if label not in labels]
        if unknown:
            raise ValueError(
                f"cluster_weight names {quoted_list(unknown)}, but y has no such clusters."
            )
        factors = np.array(
            [check_number("cluster_weight", cluster_weight.get(label, 1.0)) for label in labels]
        )
        if not factors.all():
            raise ValueError("cluster_weight must be above 0 for every cluster.")
        return factors
    totals = reference.amounts(weights).sum(axis=0)
    return np.where(totals > 0, totals.sum() / (len(totals) * np.where(totals > 0, totals, 1)), 1.0)


def row_mass(reference: Reference | None, weights: RowWeights) -> Floats | None:
    """Return what every row weighs where it is not shared: all that clusters have of it; None for all one."""
    if reference is None or reference.memberships is None:
        return weights.values
    mass = reference.memberships.sum(axis=1)
    mass = np.where(reference.codes < 0, 1.0, mass)  # noise is served, too
    return mass if weights.values is None else mass * weights.values


def weighted_scales(table: Table, features: Ints, weights: Floats | None) -> Floats:
    """Return the standard deviations of some columns over weighted rows; NaN elsewhere.

    Of a table in partitions those of the rows as they are.
    """
    if weights is None or table.engine == "dask":
        return table.scales(features)
    scales = np.full(table.shape[1], np.nan)
    for feature in np.unique(features).tolist():
        column = table.select([feature]).to_host()[:, 0].astype(np.float64)
        known = (weights > 0) & ~np.isnan(column)
        values, own = column[known] - column[known][0], weights[known]
        mean = np.average(values, weights=own)
        scales[feature] = np.sqrt(np.average((values - mean) ** 2, weights=own))
    return scales
