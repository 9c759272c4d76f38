"""What the methods that part the centres of a clustering share: the centres, and a leaf for each."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.arguments import check_centers, check_choice
from spexplain.estimators.base import Explainer
from spexplain.estimators.explained import Explained
from spexplain.graphs import Graph, StarGraph
from spexplain.objectives import Objective
from spexplain.table.base import Table
from spexplain.table.distances import CostName
from spexplain.table.places import look_up
from spexplain.table.reference import Reference


class CenterExplainer(Explainer):
    """Part the centres of a clustering; every leaf stands for the centre in it."""

    objective: CostName = "kmeans"

    def fit(self, X: Any, y: Any = None, centers: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The table in whose columns the explanation speaks.
        y : array of shape (n_samples,), optional
            Reference labels of any type. Without them each row belongs to the nearest of `centers`,
            or the clustering is computed by `reference`.
        centers : array of shape (n_clusters, n_features), optional
            Centres in the order of the sorted labels, or, if the labels are integers from 0, in
            their order; by default the means (k-medians: medians) of the clusters.

        Returns
        -------
        self
        """
        return self._fit(X, y, centers=centers)

    def _reference(self, table: Table, y: Any, **given: Any) -> Reference | None:
        check_choice("objective", self.objective, ("kmeans", "kmedians"))
        centers = given.get("centers")
        if centers is None:
            reference = super()._reference(table, y)
            assert reference is not None
            centers = table.centers(reference.codes, reference.n_clusters, self.objective)
            return replace(reference, centers=centers)
        centers = check_centers(centers, table.shape[1])
        if len(centers) < 2:
            raise ValueError(
                "centers holds fewer than two centres; there is nothing to tell apart."
            )
        if y is None:
            codes = table.nearest(centers, self.objective)
            return Reference(codes, codes, np.arange(len(centers)), centers)
        reference = table.reference(y, self.noise)
        return _with_centers(reference, centers)

    def _leaf_reference(self, explained: Explained) -> Array:
        """Return the label of the centre in each leaf; of several, the one with most rows there.

        Refinement may leave a leaf without a centre: it stands for its commonest label.
        """
        reference = explained.reference
        assert reference is not None
        centers = centers_of(reference)
        first = first_of_equals(centers)
        is_in_leaf = np.zeros(explained.counts.shape, dtype=bool)
        is_in_leaf[explained.tree.apply(centers[first]), first] = True
        is_in_leaf[~is_in_leaf.any(axis=1)] = True
        counts = np.where(is_in_leaf, explained.counts, -1)
        return np.asarray(reference.classes[counts.argmax(axis=1)])

    def _certified_graph(self, objective: Objective, reference: Reference | None) -> Graph:
        """Return samples and their centres: the bound on the price of parting them is part of it."""
        assert reference is not None
        return self._star(reference)

    def _star(self, reference: Reference, pairs: Any = "any") -> StarGraph:
        """Return the star graph; centres that coincide cannot be parted and are taken as one."""
        centers = centers_of(reference)
        first = first_of_equals(centers)
        distinct, place = np.unique(first, return_inverse=True)
        # The appended -1 is what code -1 finds.
        labels = look_up(np.append(place, -1), reference.codes)
        return StarGraph(labels, centers[distinct], pairs)


def first_of_equals(centers: Floats) -> Ints:
    """Return for every centre the lowest index of a centre at the same place."""
    _, first, place = np.unique(centers, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[place.reshape(-1)], dtype=np.int64)


def centers_of(reference: Reference) -> Floats:
    """Return the centres of a reference that has them."""
    assert reference.centers is not None
    return reference.centers


def _with_centers(reference: Reference, centers: Floats) -> Reference:
    """Return the reference with given centres, matched by sorted label or by number."""
    if reference.n_clusters == len(centers):
        return replace(reference, centers=centers)
    classes = reference.classes
    if classes.dtype.kind in "iu" and classes.min() >= 0 and classes.max() < len(centers):
        # Labels are row numbers of `centers`; some centres have no samples.
        codes = look_up(np.append(classes.astype(np.int64), -1), reference.codes)
        return replace(reference, codes=codes, classes=np.arange(len(centers)), centers=centers)
    raise ValueError(
        f"centers has {len(centers)} rows, but y has {reference.n_clusters} clusters; give one row per "
        "cluster, or label rows with the numbers of their centres."
    )
