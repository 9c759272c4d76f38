"""The rows of a node and the leaf that each would reach in either branch, for questions about other tests."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.explanation.explanation import Explanation, counts_of_leaves
from spexplain.kernels.readiness import compiled_pays
from spexplain.table.base import Table
from spexplain.table.reference import Reference
from spexplain.tree import LEAF, Tree
from spexplain.tree.reshaping import leaves_below

_FEW = 16  # a node with fewer than one in so many rows sorts its own rows
_FEW_ENDS = 4  # places up to which purities are counted one by one
_N_HELD = 4  # nodes of an explanation whose branches are remembered


class Filled(NamedTuple):
    """What the leaves below a node hold when its rows, in some order, are split at several places."""

    right: Floats  # rows whose leaf stands for their cluster, in the whole tree
    purity: Floats  # squares of counts over their sums, added
    smallest: Ints  # rows in the smallest leaf
    changed: Ints  # rows that take the other branch than now


class Ordered(NamedTuple):
    """The rows of a node in the order of a column."""

    cells: Array  # see `Branches.cells`
    values: Floats  # of the rows that have one, which come first
    places: Callable[[], Ints]  # of the rows of the node in this order


@dataclass(frozen=True, eq=False)
class Branches:
    """The rows of a node: the leaf that each would reach in either branch, and its cluster.

    Parameters
    ----------
    rows : array of int
        Rows of the table, increasing.
    is_left : array of bool
        Whether each takes the left branch now.
    left, right : array of int
        Leaf that each reaches in the left branch, and in the right one: 0, 1, ...
    n_left, n_right : int
        Leaves of both branches.
    reference : Reference
        The clustering of all rows of the table.
    weights : array of float, optional
        Weights of all rows.
    elsewhere : float
        Rows right in the other leaves of the tree.
    total : float
        Rows that belong to a cluster.
    is_inner : bool
        Whether the node is an inner node, whose branches can change sides.
    """

    rows: Ints
    is_left: Bools
    left: Array
    right: Array
    n_left: int
    n_right: int
    reference: Reference
    weights: Floats | None
    elsewhere: float
    total: float
    is_inner: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether all rows of the table reach the node."""
        return len(self.rows) == len(self.reference.codes)

    def of(self, values: Array) -> Array:
        """Return the entries for the rows of the node in an array for all rows."""
        return values if self.is_whole else values[self.rows]

    @cached_property
    def own(self) -> Reference:
        """The clustering of the rows of the node."""
        return self.reference if self.is_whole else self.reference.rows(self.rows)

    @cached_property
    def mass(self) -> Floats | None:
        """The weights of the rows of the node."""
        return None if self.weights is None else self.of(self.weights)

    @cached_property
    def amounts(self) -> Floats:
        """What every row adds to each cluster, shape (n_rows, k)."""
        return self.own.amounts(self.mass)

    @property
    def n_cells(self) -> int:
        """Pairs of leaves, times clusters and noise, for rows of either branch."""
        return self.n_left * self.n_right * (self.reference.n_clusters + 1) * 2

    @cached_property
    def cells(self) -> Array:
        """Of every row of the node, its branch, its leaves in both, and its cluster in one number."""
        k = self.reference.n_clusters
        dtype: Any = np.uint16 if self.n_cells < 2**16 else np.int64
        found: Array = self.of(self.reference.codes).astype(dtype)
        found += dtype(1)  # noise, -1, comes first, also where there are no signs
        found += (self.left * (k + 1)).astype(dtype)
        found += (self.right * (self.n_left * (k + 1))).astype(dtype)
        found += (self.is_left * (self.n_cells // 2)).astype(dtype)
        return found

    @cached_property
    def of_cells(self) -> tuple[Ints, Ints, Ints, Bools]:
        """Left leaf, right leaf and cluster of every cell, and whether its rows take the left branch."""
        codes, numbers = self.reference.n_clusters + 1, np.arange(self.n_cells)
        within = numbers % (self.n_cells // 2)
        left, right = within // codes % self.n_left, within // (codes * self.n_left)
        return left, right, within % codes - 1, numbers >= self.n_cells // 2

    @cached_property
    def _of_all(self) -> Array:
        """The cells by row of the table; those of other nodes have the number behind the last."""
        if self.is_whole:
            return self.cells
        found = np.full(len(self.reference.codes), self.n_cells, dtype=self.cells.dtype)
        found[self.rows] = self.cells
        return found

    def ordered(self, table: Table, column: int) -> Ordered:
        """Return the rows of the node in the order of a column, those without a value last."""
        n_rows = len(self.rows)
        if _FEW * n_rows < len(self.reference.codes):
            x = table.column(column)[self.rows]
            order = np.argsort(x)
            known = x[order][: n_rows - int(np.count_nonzero(np.isnan(x)))]
            return Ordered(self.cells[order], known, lambda: order)
        whole = table.order(column)
        cells, known = np.take(self._of_all, whole.rows, mode="clip"), whole.values
        if self.is_whole:
            return Ordered(cells, known, lambda: whole.rows)
        inside = cells != self.n_cells
        return Ordered(
            cells[inside],
            known[inside[: len(known)]],
            lambda: np.searchsorted(self.rows, whole.rows[inside]),
        )

    def parted(self, ordered: Ordered, ends: Ints, *, purity: bool = True) -> Filled:
        """Return what the leaves hold when the first rows of an order go left and the others right, for some numbers.

        If most rows would change their branch, the branches change sides instead. Without `purity`, which takes
        most of the time, its entries are NaN.
        """
        n_rows, k = len(ordered.cells), self.reference.n_clusters
        pays = compiled_pays(n_rows * (k + self.n_left + self.n_right), "sweeps.fill_branch")
        if self.reference.memberships is not None or not pays:
            return self._parted_plainly(ordered, ends)
        from spexplain.kernels.sweeps import count_marked, fill_branch, fill_tops

        left_of, right_of, code_of, marked = self.of_cells
        n_left = np.empty(len(ends), dtype=np.int64)
        count_marked(ordered.cells, marked, ends, n_left)
        changed, turns = self._turned(ends, n_left)
        right, smallest = np.zeros(len(ends)), np.full(len(ends), n_rows)
        pure = np.zeros(len(ends)) if purity else np.full(len(ends), np.nan)
        mass = np.empty(0) if self.mass is None else self.mass[ordered.places()]
        for turned in (False, True) if turns.any() else (False,):
            sides = (left_of, right_of) if not turned else (right_of, left_of)
            for leaf_of, from_end in zip(sides, (False, True), strict=True):
                n_leaves = int(leaf_of[-1]) + 1
                counts, sizes = np.zeros((n_leaves, k)), np.zeros(n_leaves, dtype=np.int64)
                order = ordered.cells, leaf_of, code_of, mass, from_end
                places = ends, turns, turned
                if purity:
                    room = np.zeros((4, n_leaves))
                    fill_branch(*order, *places, counts, room, sizes, right, pure, smallest)
                else:
                    tops = np.zeros(n_leaves)
                    fill_tops(*order, *places, counts, tops, sizes, right, smallest)
        right += self.elsewhere
        return Filled(right, pure, smallest, changed)

    def purity_at(self, ordered: Ordered, ends: Ints) -> Floats:
        """Return the purity of the leaves when an order is split at some places."""
        if self.mass is not None or self.reference.memberships is not None or len(ends) > _FEW_ENDS:
            return self.parted(ordered, ends).purity
        found = np.empty(len(ends))
        for at, end in enumerate(ends.tolist()):
            passing = np.bincount(ordered.cells[:end], minlength=self.n_cells)
            n_left = np.array([passing[self.of_cells[3]].sum()])
            turned = bool(self._turned(np.array([end]), n_left)[1][0])
            # Leaf by leaf in their order, as `parted` adds them: the sums are the same to the last bit.
            found[at] = sum(
                sum(float(own @ own / own.sum()) for own in counts[:, :-1] if own.any())
                for counts in self._leaves_of(passing, turned=turned)
            )
        return found

    def _turned(self, ends: Ints, n_left: Ints) -> tuple[Ints, Bools]:
        """Return the rows changed, and whether the branches change sides.

        n_left: rows before each end that go left now.
        """
        if not self.is_inner:
            return ends, np.zeros(len(ends), dtype=np.bool_)
        n_rows, all_left = len(self.rows), int(np.count_nonzero(self.is_left))
        changed = (ends - n_left) + (all_left - n_left)
        turns = 2 * changed > n_rows
        return np.where(turns, n_rows - changed, changed), turns

    def _parted_plainly(self, ordered: Ordered, ends: Ints) -> Filled:
        """Return what `parted` does, without compiled code and for memberships."""
        left_of, right_of, _, marked = self.of_cells
        amounts, cells = self.amounts[ordered.places()], ordered.cells
        n_left = np.append(0, np.cumsum(marked[cells], dtype=np.int64))[ends]
        changed, turns = self._turned(ends, n_left)
        found = []
        for one, other in ((left_of, right_of), (right_of, left_of)):
            first = right_by_place(one[cells], int(one[-1]) + 1, amounts)
            second = right_by_place(other[cells][::-1], int(other[-1]) + 1, amounts[::-1])
            second_at = len(cells) - ends
            right, purity = (
                x[ends] + y[second_at] for x, y in zip(first[:2], second[:2], strict=True)
            )
            smallest = np.minimum(first[2][ends], second[2][second_at])
            found.append((right + self.elsewhere, purity, smallest))
        right, purity, smallest = (
            np.where(turns, *pair) for pair in zip(found[1], found[0], strict=True)
        )
        return Filled(right, purity, smallest, changed)

    def summed(self, groups: Ints, n_groups: int) -> Floats:
        """Return what the rows of every group add to each cluster, shape (n_groups, k)."""
        k = self.reference.n_clusters
        if self.reference.memberships is not None:
            found = [np.bincount(groups, each, minlength=n_groups) for each in self.amounts.T]
            return np.stack(found, axis=-1)
        codes = self.of(self.reference.codes)
        known = codes >= 0
        mass = None if self.mass is None else self.mass[known]
        pairs = groups[known] * k + codes[known]
        sums = np.bincount(pairs, mass, minlength=n_groups * k).astype(np.float64)
        return sums.reshape(n_groups, k)

    def leaf_counts(self, is_left: Bools, *, turned: bool) -> tuple[Ints, Array, Array | None]:
        """Return rows, rows of each cluster and weight of the leaves, left branch first, once some rows go left."""
        n_left, n_right = (self.n_right, self.n_left) if turned else (self.n_left, self.n_right)
        if self.mass is not None or self.reference.memberships is not None:
            leaf = self.leaves(is_left, turned=turned)
            return counts_of_leaves(leaf, n_left + n_right, self.own, self.mass)
        passing = np.bincount(self.cells[is_left], minlength=self.n_cells)
        both = np.concatenate(self._leaves_of(passing, turned=turned))
        return both.sum(axis=1), both[:, :-1], None

    @cached_property
    def _all_cells(self) -> Ints:
        """Rows of every cell."""
        return np.bincount(self.cells, minlength=self.n_cells)

    def _leaves_of(self, passing: Ints, *, turned: bool) -> tuple[Ints, Ints]:
        """Return rows of each cluster and, last, of noise in the leaves of both branches, from passing rows by cell."""
        left_of, right_of, code_of, _ = self.of_cells
        found = []
        for cells, leaf_of in zip(
            (passing, self._all_cells - passing),
            (right_of, left_of) if turned else (left_of, right_of),
            strict=True,
        ):
            shape = int(leaf_of[-1]) + 1, self.reference.n_clusters + 1
            counts = np.zeros(shape, dtype=np.int64)
            np.add.at(counts, (leaf_of, code_of), cells)  # noise, -1, is the last
            found.append(counts)
        return found[0], found[1]

    def leaves(self, is_left: Bools, *, turned: bool) -> Ints:
        """Return the leaf that each row reaches, left branch first, once some rows go left."""
        if turned:
            return np.where(is_left, self.right, self.n_right + self.left)
        return np.where(is_left, self.left, self.n_left + self.right)


def branches_of(
    explanation: Explanation, node: int, table: Table, reference: Reference
) -> Branches:
    """Return the rows of a node and where they would end in either branch; remembered for a few nodes."""
    held: dict[int, Branches] = explanation.remembered.setdefault("branches", {})
    if node not in held:
        found = _found(explanation, node, table, reference)
        while len(held) >= _N_HELD:
            held.pop(next(iter(held)))
        held[node] = found
    return held[node]


def _found(explanation: Explanation, node: int, table: Table, reference: Reference) -> Branches:
    tree, rows = explanation.tree, explanation.rows_of(node)
    assert explanation.training is not None
    own = leaves_below(tree, node)
    others = np.delete(tree.leaves, own)
    elsewhere = 0.0
    # A leaf may stand for another cluster than its commonest.
    if explanation.node_codes is not None:
        codes = explanation.node_codes[others]
        elsewhere = float(explanation.node_counts[others, codes][codes >= 0].sum())
    total = float(explanation.node_counts[0].sum())
    about = reference, explanation.training.weights, elsewhere, total
    left: Array
    right: Array
    left, right = np.zeros((2, len(rows)), dtype=np.int32)
    if tree.feature[node] == LEAF:
        is_left = np.zeros(len(rows), dtype=np.bool_)
        return Branches(rows, is_left, left, right, 1, 1, *about, is_inner=False)
    sides = int(tree.left[node]), int(tree.right[node])
    n_left, n_right = (len(leaves_below(tree, each)) for each in sides)
    # Where a row is now is known already: only the other branch is walked.
    leaf = np.asarray(explanation.labels)
    leaf = leaf if len(rows) == len(leaf) else leaf[rows]
    leaf = leaf - own[0]
    is_left = leaf < n_left
    here, there = np.flatnonzero(is_left), np.flatnonzero(~is_left)
    left[here], right[there] = leaf[here], leaf[there] - n_left
    left[there] = routed(table, tree, rows[there], sides[0])
    right[here] = routed(table, tree, rows[here], sides[1])
    return Branches(rows, is_left, left, right, n_left, n_right, *about)


def routed(table: Table, tree: Tree, rows: Ints, node: int = 0) -> Array:
    """Return the leaf that each row reaches from a node on, counted from the first leaf below it.

    Does column by column what `Tree.apply` does row by row.
    """
    found = np.zeros(len(rows), dtype=np.int32)
    first = leaves_below(tree, node)[0]
    leaf_ids = {int(each): leaf - int(first) for leaf, each in enumerate(tree.leaves)}
    waiting: list[tuple[int, Ints]] = [(node, np.arange(len(rows)))]
    while waiting:
        at, own = waiting.pop()
        if tree.feature[at] == LEAF:
            found[own] = leaf_ids[at]
            continue
        test = tree.test(at)
        passes = test.passes(table.column(test.feature)[rows[own]])
        waiting += [(int(tree.left[at]), own[passes]), (int(tree.right[at]), own[~passes])]
    return found


def right_by_place(leaf: Ints, n_leaves: int, amounts: Floats) -> tuple[Floats, Floats, Ints]:
    """Return rows right, purity and the smallest leaf, once 0, 1, ... rows have come into a branch in this order."""
    n_rows = len(leaf)
    right, purity = np.zeros(n_rows + 1), np.zeros(n_rows + 1)
    smallest = np.full(n_rows + 1, np.iinfo(np.int64).max)
    places = np.arange(n_rows + 1)
    for each in range(n_leaves):
        own = np.flatnonzero(leaf == each)
        best, pure = np.zeros(len(own) + 1), np.zeros(len(own) + 1)
        if len(own) and amounts.shape[1]:
            counts = np.cumsum(amounts[own], axis=0)
            best[1:] = counts.max(axis=1)
            pure[1:] = np.square(counts).sum(axis=1) / np.maximum(counts.sum(axis=1), 1e-300)
        n_in = np.searchsorted(own, places, side="left")
        right += best[n_in]
        purity += pure[n_in]
        smallest = np.minimum(smallest, n_in)
    return right, purity, smallest
