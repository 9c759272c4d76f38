"""The search for sets of categories, beside any engine's search for thresholds."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from spexplain.aliases import Bools, Floats, Ints
from spexplain.engines.base import Search
from spexplain.objectives import Objective
from spexplain.records import Cut, Promise
from spexplain.table.views import CategoryColumn, View, order_by_profile


class GroupedSums(NamedTuple):
    """What a node holds of every category of a column; the last group are rows without one."""

    sizes: Ints  # rows
    profiles: Callable[[], Any]  # amounts by which categories can be ordered, or None
    sides: Callable[[Bools], tuple[Any, Any]]  # the records of both sides, for sets of groups


class Parts(NamedTuple):
    """What is asked of the two parts of a node before it is split."""

    sizes: tuple[int, int]  # samples
    masses: Callable[[], tuple[float, float]]  # what these weigh
    records: Callable[[], tuple[Any, Any]]  # of sums

    @classmethod
    def by_split(cls, search: Any, node: Any, cut: Cut) -> "Parts":
        """Return the parts of a node of any search."""
        left, right = search.split(node, cut)
        sizes = search.size(left), search.size(right)
        return cls(sizes, lambda: sizes, lambda: (search.record(left), search.record(right)))


class GroupSearch(Search, Protocol):
    """A search that also knows the sums of its nodes, and how they spread over categories."""

    objective: Objective
    min_samples_leaf: int

    def record(self, node: Any) -> Any:
        """Return the record of sums over a node."""

    def is_pure(self, node: Any) -> bool:
        """Whether all counted samples of a node belong to one cluster."""

    def grouped(
        self, nodes: Sequence[Any], columns: Sequence[CategoryColumn]
    ) -> list[list[GroupedSums]]:
        """Return, for every node and column, the sums by category."""

    def split_groups(
        self, node: Any, column: CategoryColumn, is_left: Bools, cut: Cut
    ) -> tuple[Any, Any]:
        """Return the two parts of a node, from the categories that go left."""


class MemberGroups:
    """Sums by category in a search that knows the vertices of its nodes, on the host."""

    def __init__(self, search: Any, weights: Floats | None) -> None:
        self.search, self.weights = search, weights
        self.root, self.size, self.value = search.root, search.size, search.value
        self.split, self.best_cuts = search.split, search.best_cuts
        self.objective: Objective = search.objective
        self.n_features: int = search.n_features
        self.min_samples_leaf: int = search.min_samples_leaf

    def record(self, node: Any) -> Any:
        return self.search.ledger.node(node.state, self.search.members(node))

    def parts(self, node: Any, cut: Cut) -> Parts:
        """Return what is asked of the parts of a node, without making them."""
        search, members = self.search, self.search.members(node)
        is_left = search.sides(node, cut)
        is_sample = True if self.objective.graph.extra is None else members < search.n_samples
        n_left = int(np.count_nonzero(is_left & is_sample))
        sizes = n_left, search.size(node) - n_left

        def masses() -> tuple[float, float]:
            if self.weights is None:
                return sizes
            # Sums of fractions depend on their order.
            left, right = (np.sort(members[is_sample & own]) for own in (is_left, ~is_left))
            return float(self.weights[left].sum()), float(self.weights[right].sum())

        def records() -> tuple[Any, Any]:
            left, right = search.ledger.split(node.state, members, is_left, cut)
            return (
                search.ledger.node(left, members.compress(is_left)),
                search.ledger.node(right, members.compress(~is_left)),
            )

        return Parts(sizes, masses, records)

    def is_pure(self, node: Any) -> bool:
        return bool(self.search.ledger.is_pure(node.state))

    def grouped(
        self, nodes: Sequence[Any], columns: Sequence[CategoryColumn]
    ) -> list[list[GroupedSums]]:
        return [[self._sums(node, column) for column in columns] for node in nodes]

    def _sums(self, node: Any, column: CategoryColumn) -> GroupedSums:
        ledger, members = self.search.ledger, self.search.members(node)
        groups, n_groups = column.codes[members], column.n_categories + 1
        return GroupedSums(
            np.bincount(groups, minlength=n_groups),
            partial(ledger.group_profiles, node.state, members, groups, n_groups),
            partial(ledger.group_sides, node.state, self.record(node), members, groups),
        )

    def split_groups(
        self, node: Any, column: CategoryColumn, is_left: Bools, cut: Cut
    ) -> tuple[Any, Any]:
        members = self.search.members(node)
        return self.search.part(node, is_left[column.codes[members]], cut)  # type: ignore[no-any-return]


def with_groups(search: Any, *, needs_groups: bool, weights: Floats | None = None) -> GroupSearch:
    """Return a search that knows what `KindSearch` asks; refuse engines that know no categories."""
    if hasattr(search, "members"):
        return MemberGroups(search, weights)
    if needs_groups and not hasattr(search, "grouped"):
        raise NotImplementedError(
            'engine="cupy" takes categories only as codes, in columns of numbers; use engine="histogram", '
            "which takes them as they are."
        )
    return search  # type: ignore[no-any-return]


class KindSearch:
    """The best cuts of a table with categories or missing values.

    Categories of a node are looked at one by one and, in the order of the first principal component of
    their cluster shares, in runs from the first on (ALGORITHMS, tests of categories). Missing values
    count as one more category.

    Parameters
    ----------
    search : Search
        Finds the thresholds.
    views : sequence of View
        What the columns of that search are.
    categories : sequence of CategoryColumn
        The columns of categories; as features they are numbered behind the views.
    weights : array of shape (n_rows,), optional
        What rows weigh where the larger of two sides is looked for.
    """

    def __init__(
        self,
        search: Any,
        views: Sequence[View],
        categories: Sequence[CategoryColumn],
        weights: Floats | None = None,
    ) -> None:
        self.search = with_groups(search, needs_groups=bool(categories), weights=weights)
        self.views, self.categories = views, categories
        self.n_views = len(views)
        self.n_features = self.n_views + len(categories)
        self.twins = _twins(views)

    def root(self) -> Any:
        return self.search.root()

    def size(self, node: Any) -> int:
        return self.search.size(node)

    def value(self, node: Any) -> float:
        return self.search.value(node)

    def split(self, node: Any, cut: Cut) -> tuple[Any, Any]:
        if cut.values is None:
            return self.search.split(node, cut)
        column = self.categories[cut.feature - self.n_views]
        is_left = np.zeros(column.n_categories + 1, dtype=np.bool_)
        is_left[list(cut.values)] = True
        is_left[-1] = cut.missing
        return self.search.split_groups(node, column, is_left, cut)

    def best_cuts(self, nodes: Sequence[Any], rival: float = np.inf) -> list[Cut | Promise | None]:
        sets = self._best_sets(nodes)
        nearest = min([rival, *(cut.priority for cut in sets if cut is not None)])
        thresholds = self.search.best_cuts(nodes, nearest)
        return [self._better(*each) for each in zip(nodes, thresholds, sets, strict=True)]

    def _better(
        self, node: Any, threshold: Cut | Promise | None, found: Cut | None
    ) -> Cut | Promise | None:
        """Return the better of the best threshold and the best set; of equals that of the first column."""
        if isinstance(threshold, Promise):
            return threshold if found is None or threshold.priority <= found.priority else found
        if threshold is None:
            return found
        if found is not None and self._key(node, found) < self._key(node, threshold):
            return found
        return self._with_larger_side(node, threshold)

    def _is_flat(self, node: Any) -> bool:
        """Whether all cuts of a node tie, on paper if not in floats."""
        search = self.search
        return search.objective.flat_if_pure and search.is_pure(node)

    def _key(self, node: Any, cut: Cut) -> tuple[float, int]:
        return 0.0 if self._is_flat(node) else cut.score, self._column(cut.feature)

    def _column(self, feature: int) -> int:
        if feature < self.n_views:
            return self.views[feature].column
        return self.categories[feature - self.n_views].column

    def _with_larger_side(self, node: Any, cut: Cut) -> Cut:
        """Return the cut, or that with missing values right if it is as good and more known ones go there."""
        twin = self.twins.get(cut.feature)
        if twin is None:
            return cut
        other = cut._replace(feature=twin)
        parts_of: Callable[[Any, Cut], Parts] = getattr(
            self.search, "parts", partial(Parts.by_split, self.search)
        )
        its = parts_of(node, other)
        if min(its.sizes) < max(1, self.search.min_samples_leaf):
            return cut  # nothing would be left
        with np.errstate(divide="ignore", invalid="ignore"):
            score = float(self.search.objective.score(*its.records(), self.search.record(node)))
        if score != cut.score and not (self._is_flat(node) and score < np.inf):
            return cut
        own = parts_of(node, cut)
        if own.sizes[0] == its.sizes[0]:
            return cut  # no rows lack a value
        # Of the sides on which no missing value lies.
        return other if own.masses()[1] > its.masses()[0] else cut

    def _best_sets(self, nodes: Sequence[Any]) -> list[Cut | None]:
        if not self.categories:
            return [None] * len(nodes)
        return [
            self._best_set(node, found)
            for node, found in zip(nodes, self.search.grouped(nodes, self.categories), strict=True)
        ]

    def _best_set(self, node: Any, found: list[GroupedSums]) -> Cut | None:
        record = self.search.record(node)
        cuts = [
            cut
            for place, groups in enumerate(found)
            if (cut := self._best_of_column(node, record, place, groups)) is not None
        ]
        is_flat = self._is_flat(node)
        # min keeps the first of equals
        return min(cuts, key=lambda cut: 0.0 if is_flat else cut.score, default=None)

    def _best_of_column(
        self, node: Any, record: Any, place: int, groups: GroupedSums
    ) -> Cut | None:
        objective, sizes = self.search.objective, groups.sizes
        present = np.flatnonzero(sizes)
        if len(present) < 2:
            return None
        subsets = _candidates(present, groups.profiles(), len(sizes))
        n_left = subsets @ sizes
        least = self.search.min_samples_leaf
        valid = (n_left >= least) & (sizes.sum() - n_left >= least)
        left, right = groups.sides(subsets)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.asarray(objective.score(left, right, record), dtype=np.float64)
        scores = np.where(valid & (scores < np.inf), scores, np.inf)  # NaN compares false
        is_flat = self._is_flat(node)
        best = int(np.argmax(scores < np.inf)) if is_flat else int(np.argmin(scores))
        if scores[best] == np.inf:
            return None
        codes = tuple(np.flatnonzero(subsets[best, :-1]).tolist())
        score = float(scores[best])
        return Cut(
            self.n_views + place,
            np.nan,
            score,
            float(objective.priority(score, record)),
            missing=bool(subsets[best, -1]),
            values=codes,
        )


def _candidates(present: Ints, profiles: Any, n_groups: int) -> Bools:
    """Return the sets of groups that are looked at, shape (n_sets, n_groups): each alone, then runs."""
    single = np.zeros((len(present), n_groups), dtype=np.bool_)
    single[np.arange(len(present)), present] = True
    if len(present) == 2:
        return single[:1]  # the other one is its complement
    if len(present) == 3 or profiles is None:
        return single
    order = np.array([group for group in order_by_profile(profiles).tolist() if group in present])
    runs = np.zeros((len(present) - 3, n_groups), dtype=np.bool_)
    for place in range(len(runs)):
        runs[place, order[: place + 2]] = True
    return np.concatenate([single, runs])


def _twins(views: Sequence[View]) -> dict[int, int]:
    """Return, for views that send missing values left, the views of the same columns that send them right."""
    return {place: place + 1 for place, view in enumerate(views) if view.role == "missing left"}
