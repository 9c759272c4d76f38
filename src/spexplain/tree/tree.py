"""The finished tree: immutable arrays, nodes in birth order, every inner node a test of one column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any, Self

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix
from spexplain.records import Cut
from spexplain.tree.arrays import BLANK, DTYPES, LEAF, SetTests, document_of, parsed
from spexplain.tree.column import Column
from spexplain.tree.region import Region

_NOTHING: Bools = np.zeros(0, dtype=np.bool_)
_LEAST = -np.finfo(
    np.float64
).max  # a bound of -inf is none: what lies below all numbers is above it


@dataclass(frozen=True)
class Test:
    """The test of an inner node: rows with ``lower < x[feature] <= upper`` pass and go left.

    Parameters
    ----------
    feature : int
        Number of the tested column.
    lower, upper : float
        Bounds of the values that pass; infinite where there is none.
    missing : bool, default=False
        Whether a missing value passes. With an upper bound of -inf nothing else does.
    values : tuple of int, optional
        The categories that pass, by code; the bounds then do not matter.

    Examples
    --------
    >>> from spexplain.tree import Test
    >>> Test(0, upper=2.45).text("petal length"), Test(0, lower=2.45).text("petal length")
    ('petal length ≤ 2.45', 'petal length > 2.45')
    >>> Test(0, 2.45, 4.75).text("petal length")
    '2.45 < petal length ≤ 4.75'
    >>> bool(Test(0, 2.45, 4.75).passes(4.75))
    True
    >>> Test(0, values=(0, 2)).passes(np.array([0.0, 1.0, 2.0]))
    array([ True, False,  True])
    """

    __test__ = False  # pytest would collect classes of this name

    feature: int
    lower: float = -inf
    upper: float = inf
    missing: bool = False
    values: tuple[int, ...] | None = None

    def passes(self, x: Any) -> Any:
        """Whether values pass: one value, or an array of them; NaN is a missing value.

        Examples
        --------
        >>> from spexplain import Tree
        >>> test = Tree.root(n_features=2, size=6).split(0, feature=0, threshold=40.0).test(0)
        >>> bool(test.passes(22.0))
        True
        """
        x = np.maximum(x, _LEAST)
        found = (self.lower < x) & (x <= self.upper)
        if self.values is not None:
            found = np.isin(x, self.values)
        return found | np.isnan(x) if self.missing else found

    def region(self, *, passed: bool = True) -> Region:
        """Return the values that pass, or those that do not.

        Examples
        --------
        >>> from spexplain import Tree
        >>> test = Tree.root(n_features=2, size=6).split(0, feature=0, threshold=40.0).test(0)
        >>> test.region(passed=False)
        Region(intervals=((40.0, inf),), missing=True)
        """
        if self.values is not None:
            region = Region.of_codes(self.values, missing=self.missing)
        else:
            bounds = ((self.lower, self.upper),) if self.lower < self.upper else ()
            region = Region(bounds, self.missing)
        return region if passed else region.rest()

    def text(self, column: Column | str) -> str:
        """Return the test in words, for a column or a name.

        Examples
        --------
        >>> from spexplain import Tree
        >>> test = Tree.root(n_features=2, size=6).split(0, feature=0, threshold=40.0).test(0)
        >>> test.text("age")
        'age ≤ 40'
        """
        return self.region().text(column)


@dataclass(frozen=True, eq=False)
class Tree:
    """A binary tree of tests ``lower < x[feature] <= threshold``; rows that pass go left.

    Node 0 is the root; split number ``s`` (from 0) made the nodes ``2s + 1`` (left) and ``2s + 2``
    (right). The first ``2m - 1`` nodes are therefore the tree as it was with ``m`` leaves. Leaf
    *ids* count the leaves from left to right.

    Parameters
    ----------
    n_features : int
        Number of columns that rows must have.
    feature, left, right : array of int, shape (n_nodes,)
        Tested column and children; -1 in leaves.
    threshold, lower : array of float, shape (n_nodes,)
        The test. `lower` is -inf for an ordinary test ``x <= threshold``; both are NaN in leaves.
    size : array of int, shape (n_nodes,)
        Training samples in the node.
    score, value : array of float, shape (n_nodes,)
        Score of the node's cut (NaN in leaves), and what the node adds to the objective while it is
        a leaf.
    missing : array of bool, shape (n_nodes,), optional
        Whether rows with a missing value, or one never seen in training, pass the test; by default
        none do.
    values : dict, optional
        By node, the codes of the categories that pass; such nodes have NaN for both bounds.

    See Also
    --------
    spexplain.explanation.Explanation : The tree with names, counts and edits.

    Examples
    --------
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=2, size=10).split(0, feature=1, threshold=0.5, sizes=(4, 6))
    >>> tree.n_leaves, tree.depth
    (2, 1)
    >>> tree.apply([[9.0, 0.5], [9.0, 0.6]])
    array([0, 1])
    """

    n_features: int
    feature: Ints
    threshold: Floats
    lower: Floats
    left: Ints
    right: Ints
    size: Ints
    score: Floats
    value: Floats
    missing: Bools = field(default_factory=lambda: _NOTHING)
    values: SetTests = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.missing):
            object.__setattr__(self, "missing", np.zeros(len(self.feature), dtype=np.bool_))
        for name, dtype in DTYPES.items():
            array: Array = np.array(getattr(self, name), dtype=dtype)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def root(cls, *, n_features: int, size: int, value: float = np.nan) -> Self:
        """Return the tree of one leaf.

        Examples
        --------
        >>> from spexplain import Tree
        >>> Tree.root(n_features=2, size=6).n_leaves
        1
        """
        whole = {"size": [size], "value": [value]}
        blank = {name: [BLANK[dtype]] for name, dtype in DTYPES.items()}
        return cls(n_features=n_features, **(blank | whole))  # type: ignore[arg-type]

    def split(
        self,
        node: int,
        *,
        feature: int,
        threshold: float,
        lower: float = -np.inf,
        sizes: tuple[int, int] = (0, 0),
        score: float = np.nan,
        values: tuple[float, float] = (np.nan, np.nan),
        missing: bool = False,
        categories: tuple[int, ...] | None = None,
    ) -> Self:
        """Return a tree whose leaf `node` has become a test with two new leaves, the youngest nodes.

        `categories` are the codes that pass a test of categories, whose threshold is NaN.

        Examples
        --------
        >>> from spexplain import Tree
        >>> tree = Tree.root(n_features=2, size=6).split(0, feature=0, threshold=40.0, sizes=(3, 3))
        >>> tree.n_leaves
        2
        """
        cut = Cut(feature, threshold, score, score, lower, missing, categories)
        return self.grown([(node, cut, sizes, values)])

    def grown(self, splits: list[tuple[int, Cut, tuple[int, int], tuple[float, float]]]) -> Self:
        """Return the tree after the given (node, cut, sizes, values), in this order."""
        n_old = len(self.feature)
        arrays: dict[str, Array] = {}
        sets = dict(self.values)
        for name, dtype in DTYPES.items():
            arrays[name] = np.full(n_old + 2 * len(splits), BLANK[dtype], dtype=dtype)
            arrays[name][:n_old] = getattr(self, name)
        for number, (node, cut, sizes, values) in enumerate(splits):
            young = n_old + 2 * number
            arrays["feature"][node], arrays["threshold"][node] = cut.feature, cut.threshold
            arrays["lower"][node], arrays["score"][node] = cut.lower, cut.score
            arrays["missing"][node] = cut.missing
            if cut.values is not None:
                arrays["threshold"][node] = arrays["lower"][node] = np.nan
                sets[node] = cut.values
            arrays["left"][node], arrays["right"][node] = young, young + 1
            arrays["size"][young : young + 2] = sizes
            arrays["value"][young : young + 2] = values
        return type(self)(n_features=self.n_features, values=sets, **arrays)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return (
            self.n_features == other.n_features
            and self.values == other.values
            and all(
                np.array_equal(getattr(self, name), getattr(other, name), equal_nan=True)
                for name in DTYPES
            )
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_nodes(self) -> int:
        """Number of nodes, inner nodes and leaves."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return (self.n_nodes + 1) // 2

    @property
    def depth(self) -> int:
        """Number of tests on the longest path."""
        return int(self.node_depths.max())

    @cached_property
    def node_depths(self) -> Ints:
        """Depth of every node; the root has depth 0."""
        depths = np.zeros(self.n_nodes, dtype=np.int64)
        for node in np.flatnonzero(self.feature != LEAF):  # birth order: parents come first
            depths[[self.left[node], self.right[node]]] = depths[node] + 1
        return depths

    @cached_property
    def parents(self) -> Ints:
        """Node number of every node's parent; -1 for the root."""
        parents = np.full(self.n_nodes, LEAF, dtype=np.int64)
        inner = np.flatnonzero(self.feature != LEAF)
        parents[self.left[inner]] = parents[self.right[inner]] = inner
        return parents

    @cached_property
    def leaves(self) -> Ints:
        """Node numbers of the leaves from left to right: ``leaves[leaf_id]`` is its node."""
        found, stack = [], [0]
        while stack:
            node = stack.pop()
            if self.feature[node] == LEAF:
                found.append(node)
            else:
                stack += [int(self.right[node]), int(self.left[node])]
        return np.array(found, dtype=np.int64)

    def test(self, node: int) -> Test:
        """Return the test of an inner node.

        Examples
        --------
        >>> from spexplain import Tree
        >>> tree = Tree.root(n_features=2, size=6).split(0, feature=0, threshold=40.0, sizes=(3, 3))
        >>> tree.test(0).text("age")
        'age ≤ 40'
        """
        feature, missing = int(self.feature[node]), bool(self.missing[node])
        if node in self.values:
            return Test(feature, missing=missing, values=self.values[node])
        return Test(feature, float(self.lower[node]), float(self.threshold[node]), missing)

    def totals(self, leaf_amounts: Array) -> Array:
        """Return the amounts of all nodes, first axis, from those of the leaves from left to right."""
        totals = np.zeros((self.n_nodes, *leaf_amounts.shape[1:]), dtype=leaf_amounts.dtype)
        totals[self.leaves] = leaf_amounts
        for node in range(self.n_nodes - 1, 0, -1):  # children are younger than their parents
            totals[self.parents[node]] += totals[node]
        return totals

    def apply(self, X: Matrix) -> Ints:
        """Return the leaf id of every row; a row gets the same id alone and in any batch.

        Examples
        --------
        >>> import numpy as np
        >>> from spexplain import Tree
        >>> tree = Tree.root(n_features=2, size=6).split(0, feature=0, threshold=40.0, sizes=(3, 3))
        >>> tree.apply(np.array([[22.0, 1.0], [70.0, 3.0]]))
        array([0, 1])
        """
        leaf_id = np.full(self.n_nodes, LEAF, dtype=np.int64)
        leaf_id[self.leaves] = np.arange(self.n_leaves)
        return leaf_id[self._route(X)]

    def _route(self, X: Matrix) -> Ints:
        """Return the node number of every row's leaf."""
        X = np.asarray(X)
        node = np.zeros(len(X), dtype=np.int64)
        moving = np.arange(len(X)) if self.n_nodes > 1 else np.empty(0, dtype=np.int64)
        missing, knows_more = self.missing, bool(self.values) or self.missing.any()
        is_set = np.zeros(self.n_nodes, dtype=np.bool_)
        is_set[list(self.values)] = True
        while len(moving):
            at = node[moving]
            # float32 rows meet float64 thresholds as float64: no rounding of either.
            x = np.maximum(X[moving, self.feature[at]].astype(np.float64, copy=False), _LEAST)
            goes_left = (self.lower[at] < x) & (x <= self.threshold[at])
            if knows_more:
                goes_left |= np.isnan(x) & missing[at]
                for test_node in np.unique(at[is_set[at]]).tolist() if self.values else ():
                    here = np.flatnonzero(at == test_node)
                    goes_left[here] |= np.isin(x[here], self.values[test_node])
            node[moving] = np.where(goes_left, self.left[at], self.right[at])
            moving = moving[self.feature[node[moving]] != LEAF]
        return node

    def path(self, leaf: int) -> list[tuple[int, bool]]:
        """Return the tests on the way to leaf id `leaf` as (node, went left) pairs from the root.

        Examples
        --------
        >>> from spexplain import Tree
        >>> tree = Tree.root(n_features=2, size=6).split(0, feature=0, threshold=40.0, sizes=(3, 3))
        >>> tree.path(1)
        [(0, False)]
        """
        steps, at = [], int(self.leaves[leaf])
        while at:
            parent = int(self.parents[at])
            steps.append((parent, bool(self.left[parent] == at)))
            at = parent
        return steps[::-1]

    def decision_path(self, X: Matrix) -> sparse.csr_array:
        """Return the indicator matrix, shape (n_rows, n_nodes), of the nodes that each row visits.

        Examples
        --------
        >>> import numpy as np
        >>> from spexplain import Tree
        >>> tree = Tree.root(n_features=2, size=6).split(0, feature=0, threshold=40.0, sizes=(3, 3))
        >>> tree.decision_path(np.array([[22.0, 1.0], [70.0, 3.0]])).toarray()
        array([[1, 1, 0],
               [1, 0, 1]])
        """
        return self.visits(self.apply(X))

    def visits(self, leaf_ids: Ints) -> sparse.csr_array:
        """Return the indicator matrix of the nodes that rows visit on the way to their leaves."""
        row, node = np.arange(len(leaf_ids)), self.leaves[np.asarray(leaf_ids, dtype=np.int64)]
        indptr = np.concatenate([[0], np.cumsum(self.node_depths[node] + 1)])
        indices = np.empty(indptr[-1], dtype=np.int64)
        while len(row):  # all rows climb to the root together
            indices[indptr[row] + self.node_depths[node]] = node
            row, node = row[node > 0], self.parents[node[node > 0]]
        ones = np.ones(len(indices), dtype=np.int64)
        return sparse.csr_array((ones, indices, indptr), shape=(len(leaf_ids), self.n_nodes))

    def truncate(self, n_leaves: int) -> Self:
        """Return the tree as it was when it had `n_leaves` leaves.

        Examples
        --------
        >>> from spexplain.tree import Tree
        >>> two = Tree.root(n_features=1, size=9).split(0, feature=0, threshold=2.0)
        >>> two.split(1, feature=0, threshold=1.0).truncate(2) == two
        True
        """
        if not 1 <= n_leaves <= self.n_leaves:
            raise ValueError(
                f"n_leaves={n_leaves} must lie between 1 and the tree's own {self.n_leaves} leaves."
            )
        n_nodes = 2 * n_leaves - 1
        arrays = {name: getattr(self, name)[:n_nodes].copy() for name in DTYPES}
        cut_off = arrays["left"] >= n_nodes
        for name in ("feature", "left", "right"):
            arrays[name][cut_off] = LEAF
        for name in ("threshold", "lower", "score"):
            arrays[name][cut_off] = np.nan
        arrays["missing"][cut_off] = False
        kept = np.flatnonzero(~cut_off).tolist()
        sets = {node: self.values[node] for node in kept if node in self.values}
        return type(self)(n_features=self.n_features, values=sets, **arrays)

    def renumbered(self, columns: Ints, n_features: int) -> Self:
        """Return the tree for a wider table in which column ``columns[j]`` is this tree's column j."""
        arrays = {name: getattr(self, name) for name in DTYPES}
        inner = self.feature != LEAF
        arrays["feature"] = np.where(inner, columns[self.feature], LEAF)
        return type(self)(n_features=n_features, values=self.values, **arrays)

    def over(self, columns: Sequence[int]) -> Self:
        """Return the tree for rows with only some of the columns, including the tested ones."""
        place = np.zeros(self.n_features, dtype=np.int64)
        place[list(columns)] = np.arange(len(columns))
        return self.renumbered(place, max(1, len(columns)))

    def retested(self, tests: Mapping[int, Test], n_features: int | None = None) -> Self:
        """Return the tree with other tests of some inner nodes, perhaps for a table of other columns."""
        arrays = {name: getattr(self, name).copy() for name in DTYPES}
        sets = dict(self.values)
        for node, test in tests.items():
            is_set = test.values is not None
            arrays["feature"][node], arrays["missing"][node] = test.feature, test.missing
            arrays["lower"][node] = np.nan if is_set else test.lower
            arrays["threshold"][node] = np.nan if is_set else test.upper
            sets.pop(node, None)
            if test.values is not None:
                sets[node] = test.values
        width = self.n_features if n_features is None else n_features
        return type(self)(n_features=width, values=sets, **arrays)

    @property
    def tests(self) -> dict[int, Test]:
        """The tests of all inner nodes, in birth order."""
        return {node: self.test(node) for node in np.flatnonzero(self.feature != LEAF).tolist()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, ready for JSON: no NaN or infinity, floats exact.

        Examples
        --------
        >>> from spexplain import Tree
        >>> tree = Tree.root(n_features=2, size=6).split(0, feature=0, threshold=40.0, sizes=(3, 3))
        >>> tree.to_dict()["threshold"]
        [40.0, None, None]
        """
        arrays = {name: getattr(self, name) for name in DTYPES}
        return document_of(self.n_features, arrays, self.values)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the tree that `to_dict` described; anything else is refused in one sentence.

        Examples
        --------
        >>> from spexplain import Tree
        >>> tree = Tree.root(n_features=2, size=6).split(0, feature=0, threshold=40.0, sizes=(3, 3))
        >>> Tree.from_dict(tree.to_dict()).n_leaves
        2
        """
        n_features, arrays, values = parsed(data)
        return cls(n_features=n_features, values=values, **arrays)
