"""Tables on a GPU, in CuPy arrays. CuPy is never loaded for other tables."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from spexplain.aliases import EngineName, Floats, Ints, Matrix, NoisePolicy
from spexplain.table.base import GroupSums, Margins, NodeValues, Table
from spexplain.table.columns import settled_columns
from spexplain.table.distances import CostName
from spexplain.table.host import HostTable
from spexplain.table.reference import Reference
from spexplain.table.storage import is_on_device, known_copy, on_host, remember_copy
from spexplain.table.views import View, beyond
from spexplain.tree import LEAF, Column, Kind, Tree

_log = logging.getLogger("spexplain")
_COPIED = 1 << 23  # bytes up to which the caller's table is copied, rather than watched


@dataclass(frozen=True, eq=False)
class DeviceTable(Table):
    """A CuPy matrix, checked; rows are routed and summed on the device.

    Parameters
    ----------
    values : cupy.ndarray of float32 or float64, shape (n_rows, n_columns)
        The values.
    kinds : str
        Kind of all columns.
    seen : tuple of int, optional
        Checksum of values in the caller's memory, to detect later changes.
    described : tuple of Column, optional
        What the columns hold, for tables with missing values.
    """

    engine: ClassVar[EngineName | None] = "cupy"
    values: Any
    kinds: Kind | tuple[Kind, ...] = "number"
    seen: tuple[int, ...] | None = None
    names: None = None  # CuPy arrays have none
    described: tuple[Column, ...] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n_rows, n_columns = self.values.shape
        return n_rows, n_columns

    def kept(self) -> Self:
        """Return the table, protected from later edits of the caller's array; see `HostTable.kept`."""
        if self.values.nbytes <= _COPIED:
            return replace(self, values=self.values.copy(order="K"))
        return replace(self, seen=_checksum(self.values))

    def training_rows(self) -> Matrix:
        """Return the values on the host as they were at the fit; refuse a table that has changed."""
        if self.seen is not None and self.seen != _checksum(self.values):
            raise ValueError(
                "The table that this estimator was fitted to has changed since; pass the training rows as X."
            )
        return self.to_host()

    def to_host(self, what: str = "", instead: str = "") -> Matrix:
        """Return a copy on the host."""
        _log.info("A copy of X on the host is made")
        copied: Matrix = self.values.get()
        return copied

    def leaves(self, tree: Tree) -> Any:
        """Return the leaf id of every row, on the device."""
        return _kernels_for(self.values).route_rows(self.values, tree, _leaf_ids(tree))

    def fetch(self, leaves: Any) -> Ints:
        """Return leaf ids on the host, and remember their copy on the device."""
        if not is_on_device(leaves) or not len(leaves):
            return np.asarray(on_host(leaves))
        short = leaves.astype(np.min_scalar_type(int(leaves.max()) + 1))  # fewer bytes to transfer
        # Half the memory of 64-bit integers, which would be slow to write for the first time.
        fetched: Ints = short.get().astype(np.int32)
        remember_copy(fetched, short)
        return fetched

    def leaf_sizes(self, leaves: Any, n_leaves: int) -> Ints:
        """Return the number of rows of every leaf, counted on the device."""
        return super().leaf_sizes(known_copy(leaves), n_leaves)

    def reference(self, y: Any, noise: NoisePolicy = "ignore") -> Reference:
        """Return the labels of the rows as a clustering to explain; whole numbers are coded on the device."""
        is_here = isinstance(y, np.ndarray) and not is_on_device(y)
        if not (is_here and y.dtype.kind in "iu" and y.ndim == 1):
            return super().reference(y, noise)
        import cupy

        return replace(super().reference(cupy.asarray(y), noise), labels=y)

    def margins(self, leaves: Any, codes: Any, shape: tuple[int, int]) -> Margins:
        """Return the sums by leaf and by cluster of the rows that have a cluster; see `Table.margins`."""
        import cupy

        own, other = (cupy.asarray(known_copy(each)).astype(np.int64) for each in (leaves, codes))
        return super().margins(own, other, shape)

    def select(self, columns: Sequence[int]) -> Self:
        """Return the table of some columns only."""
        if len(columns) == self.shape[1]:
            return self
        chosen, described = list(columns), self.described
        if described is not None:
            described = tuple(described[each] for each in chosen)
        return replace(self, values=self.values[:, chosen], seen=None, described=described)

    def search_columns(self, columns: Ints, *, one_by_one: bool, codes: Any) -> Any:
        """Return the columns with missing values at either end, made on the device; they are all numbers."""
        views: list[View] = []
        for each in columns.tolist():
            if self.columns[each].has_missing:
                views += [View(each, "missing left"), View(each, "missing right")]
            else:
                views.append(View(each))
        matrix = self.values[:, [view.column for view in views]]  # all columns in one go
        for role, worst, direction in (
            ("missing left", np.inf, -np.inf),
            ("missing right", -np.inf, np.inf),
        ):
            places = [place for place, view in enumerate(views) if view.role == role]
            some = matrix[:, places]
            missing = np.isnan(some)
            known = np.where(missing, some.dtype.type(worst), some)
            ends = known.min(axis=0) if direction < 0 else known.max(axis=0)
            matrix[:, places] = np.where(missing, beyond(ends, direction), some)
        return matrix, tuple(views), ()

    def settled_columns(self, used: Sequence[int]) -> tuple[Column, ...]:
        """Return what the columns hold, for those that are used as their values tell."""
        found = list(self.columns)
        for each in used:
            # The values of floats without gaps tell nothing more.
            if found[each].kind != "number" or found[each].has_missing:
                column = on_host(self.values[:, [each]])
                found[each] = settled_columns([found[each]], column, [0])[0]
        return tuple(found)

    def as_points(self) -> "DeviceTable":
        """Return the table that distances, centres and costs are computed from: numbers without gaps."""
        return self if self.is_plain else self._points

    @cached_property
    def _points(self) -> "DeviceTable":
        """The table with means for missing values; the means are computed on the host, to be the same as there."""
        places = [place for place, column in enumerate(self.columns) if column.has_missing]
        gaps = self.select(places)
        means = HostTable(on_host(gaps.values), described=gaps.columns).means
        values = self.values.astype(np.float64)
        for place, mean in zip(places, means.tolist(), strict=True):
            values[np.isnan(values[:, place]), place] = mean
        return DeviceTable(values)

    def node_values(self, tree: Tree) -> NodeValues:
        """Return which training values meet the tests of a tree, and the leaves of the rows."""
        met = _kernels_for(self.values).meet_tests(self.values, tree, _leaf_ids(tree))
        below, above, lower_below, lower_above = met.ends
        leaves = self.fetch(met.leaves)
        return NodeValues(below, above, lower_below, lower_above, met.n_missing, {}, leaves)

    def take(self, rows: Ints) -> Self:
        """Return the table of some rows only."""
        return replace(self, values=self.values[rows], seen=None)

    @property
    def origin(self) -> Floats:
        """The first row."""
        first: Floats = self.values[0].get().astype(np.float64)
        return first

    def sums(self, groups: Any, n_groups: int) -> GroupSums:
        """Return rows, sums and squared lengths of every group. Always added in the same order."""
        kernels = _kernels_for(self.values)
        xp = kernels.xp
        # Group -1 comes first; short keys are sorted fast.
        keys = (xp.asarray(groups) + 1).astype(np.min_scalar_type(n_groups + 1))
        rows = xp.argsort(keys)
        edges = xp.arange(1, n_groups + 2).astype(keys.dtype)
        starts = xp.searchsorted(keys[rows], edges).astype(np.int64)
        sums, squares = kernels.sum_groups(self.values, xp.asarray(self.origin), rows, starts)
        return GroupSums(np.diff(starts.get()), sums.get(), squares.get())

    def _block_sums(self, rows: slice, shares: Any) -> tuple[Floats, Floats]:
        """Return the shared sums, and those of squared lengths, of some rows."""
        import cupy

        gaps = self.values[rows].astype(np.float64) - cupy.asarray(self.origin)
        own = cupy.asarray(shares.toarray())
        return (own.T @ gaps).get(), (own.T @ cupy.einsum("ij,ij->i", gaps, gaps)).get()

    def scales(self, features: Ints) -> Floats:
        """Return the standard deviations of some columns; NaN elsewhere."""
        scales = np.full(self.shape[1], np.nan)
        chosen = np.unique(features).astype(np.int64)
        has_missing = np.array([self.columns[each].has_missing for each in chosen], dtype=np.bool_)
        if not has_missing.all():
            whole = chosen[~has_missing]
            scales[whole] = _kernels_for(self.values).deviations(self.values, whole)
        for feature in chosen[has_missing].tolist():
            column = self.values[:, feature].astype(np.float64)
            column = column[~np.isnan(column)]
            is_one = not len(column) or bool((column == column[0]).all())
            scales[feature] = 0.0 if is_one else float(column.std())
        return scales

    def _on_host(self) -> HostTable:
        return HostTable(self.to_host(), None, self.kinds)

    def centers(self, codes: Ints, n_clusters: int, cost: CostName) -> Floats:
        """Return the centre of every cluster: computed from a copy on the host, to be the same as there."""
        return self._on_host().centers(codes, n_clusters, cost)

    def nearest(self, centers: Floats, cost: CostName) -> Ints:
        """Return the nearest centre of every row of a copy on the host."""
        return self._on_host().nearest(centers, cost)


def _kernels_for(X: Any) -> Any:
    """Return the kernels for a table; tests replace them."""
    from spexplain.kernels.cuda.kernels import CudaKernels

    return CudaKernels(X.dtype)


def _leaf_ids(tree: Tree) -> Ints:
    """Return the leaf id of every node that is a leaf."""
    assert not tree.values  # sets of categories were refused when the rows were read
    leaf_id = np.full(tree.n_nodes, LEAF, dtype=np.int64)
    leaf_id[tree.leaves] = np.arange(tree.n_leaves)
    return leaf_id


def _checksum(X: Any) -> tuple[int, ...]:
    """Return a sum of the bits of all values, each multiplied by a number for its position."""
    return (_kernels_for(X).sum_bits(X),)
