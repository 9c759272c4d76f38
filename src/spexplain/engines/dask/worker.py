"""What a worker does with its partition in a search: it counts bins, splits rows, looks closely, and adds up edges.

These functions run on the workers. A request says how the rows of its nodes follow from the splits above
them, so that a partition can be computed anew wherever its worker was lost; what was found of a split is
remembered beside the partition.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.kernels.coding import values_around
from spexplain.kernels.labels import fill_histograms
from spexplain.kernels.routes import rows_in_bins
from spexplain.kernels.sums import scan_sums
from spexplain.records import Cut
from spexplain.table.coding import N_CODES
from spexplain.table.partition_worker import BinnedPartition, as_matrix
from spexplain.table.views import SearchedMatrix

Path = tuple[tuple[int, bool], ...]  # splits above a node, and whether it lies on their left
_INDEX_BITS = 22  # of a place on a feature: which stretch between edges; above them, the bin


# --- What is counted: all of it is exact and additive ---------------------------------------------


@dataclass(frozen=True)
class LabelTally:
    """A cell counts the rows of every label; a row's mark is its label, the last one for no cluster."""

    width: int
    dtype: Any  # of the counts: as small as holds the number of all rows

    @property
    def listed_dtype(self) -> Any:
        """Type of the marks of rows that are sent one by one."""
        return np.min_scalar_type(self.width - 1)

    @property
    def listed_bytes(self) -> int:
        """Bytes of the mark of such a row."""
        return int(np.dtype(self.listed_dtype).itemsize)

    def dtype_for(self, n_rows: int) -> Any:
        """Return the smallest type that holds the counts of so many rows."""
        return np.min_scalar_type(n_rows)

    def histograms(self, codes: Array, shift: int, rows: Array, marks: Array, out: Array) -> None:
        """Add the rows to cells of shape (n_features, n_bins, width)."""
        fill_histograms(codes, shift, np.arange(len(out)), rows, marks[rows], 1, out)

    def cells(self, places: Array, rows: Array, marks: Array, n_places: int) -> Array:
        """Return the cells of shape (n_places, width) of rows that lie in numbered places."""
        flat = places * self.width + marks[rows]
        counted = np.bincount(flat, minlength=n_places * self.width)
        return counted.reshape(n_places, self.width).astype(self.dtype)

    def n_rows(self, cells: Ints) -> Ints:
        """Return the number of rows in every cell."""
        return np.asarray(np.sum(cells, axis=-1, dtype=np.int64))


@dataclass(frozen=True)
class AmountTally:
    """A cell sums up the amounts of the rows and, last, counts them; a row's mark is its amounts."""

    width: int
    dtype: Any = np.int64
    listed_dtype: Any = np.int64

    @property
    def listed_bytes(self) -> int:
        """Bytes of the mark of a row that is sent as it is."""
        return 8 * (self.width - 1)

    def dtype_for(self, n_rows: int) -> Any:
        """Return the type of sums over so many rows: the amounts are not known."""
        return self.dtype

    def histograms(self, codes: Array, shift: int, rows: Array, marks: Array, out: Array) -> None:
        """Add the rows to cells of shape (n_features, n_bins, width)."""
        n_features, n_bins, _ = out.shape
        sums = np.empty((n_features, self.width + 1, n_bins + 1), dtype=np.int64)
        scan_sums(codes, shift, 0, n_features, rows, marks, codes.shape[1], sums)
        out += np.moveaxis(np.diff(sums[:, :-1], axis=2), 1, 2)

    def cells(self, places: Array, rows: Array, marks: Array, n_places: int) -> Array:
        """Return the cells of shape (n_places, width) of rows that lie in numbered places."""
        cells = np.zeros((n_places, self.width), dtype=np.int64)
        np.add.at(cells[:, :-1], places, marks[rows])
        cells[:, -1] = np.bincount(places, minlength=n_places)
        return cells

    def n_rows(self, cells: Ints) -> Ints:
        """Return the number of rows in every cell."""
        return np.asarray(cells[..., -1], dtype=np.int64)


Tally = LabelTally | AmountTally


# --- Nodes and their histograms -------------------------------------------------------------------


def side_of(block: Any, column: int, cut: Cut) -> Array:
    """Return which rows lie left of a cut, eight to a byte."""
    x = as_matrix(block)[:, column].astype(np.float64, copy=False)
    return np.packbits((cut.lower < x) & (x <= cut.threshold))


def side_of_codes(part: BinnedPartition, feature: int, last_code: int) -> Array:
    """Return which rows lie in bins up to the last one of the left side, eight to a byte."""
    return np.packbits(part.codes[feature] <= last_code)


def side_of_categories(codes: Array, is_left: Bools) -> Array:
    """Return which rows have a category that goes left, eight to a byte."""
    return np.packbits(is_left[codes])


class Split(NamedTuple):
    """How the sides of a split follow from a partition, or from a further block that belongs to it."""

    side: Callable[..., Array]
    rest: tuple[Any, ...]  # the other arguments of the function
    block: int | None = None  # which of the blocks behind a request; none for the partition itself


class Splits(NamedTuple):
    """The splits above some nodes."""

    search: str  # whose numbers these are
    by_number: Mapping[int, Split]


def sides_of(part: BinnedPartition, splits: Splits, blocks: Sequence[Array]) -> Mapping[int, Array]:
    """Return which rows of a partition lie left of each split, eight to a byte."""
    sides = part.remembered(splits.search)
    for number, (side, rest, block) in splits.by_number.items():
        if number not in sides:
            sides[number] = side(part if block is None else blocks[block], *rest)
    return sides


def inside_of(n_rows: int, path: Path, sides: Mapping[int, Array]) -> Array:
    """Return which rows of a partition lie in a node, eight to a byte; bits behind the last row mean nothing."""
    inside = np.full(-(-n_rows // 8), 255, dtype=np.uint8)
    for split, is_left in path:
        inside &= sides[split] if is_left else ~sides[split]
    return inside


def rows_of(n_rows: int, path: Path, sides: Mapping[int, Array]) -> Array:
    """Return the rows of a partition that lie in a node."""
    if not path:
        return np.arange(n_rows, dtype=np.int32)
    inside = inside_of(n_rows, path, sides)
    return np.flatnonzero(np.unpackbits(inside, count=n_rows).view(np.bool_)).astype(np.int32)


def cells_of_categories(
    part: BinnedPartition, marks: Array, splits: Splits, request: tuple[Any, ...], *blocks: Array
) -> Ints:
    """Return the cells of every category of some columns, shape (n_nodes, n_groups of all columns, width).

    The codes of these columns are the last blocks.
    """
    tally, paths, n_groups = request
    sides, codes = sides_of(part, splits, blocks), blocks[len(blocks) - len(n_groups) :]
    found = np.zeros((len(paths), sum(n_groups), tally.width), dtype=np.int64)
    for place, path in enumerate(paths):
        rows = rows_of(len(marks), path, sides)
        start = 0
        for groups, n in zip(codes, n_groups, strict=True):
            own = groups[rows].astype(np.int64)
            found[place, start : start + n] = tally.cells(own, rows, marks, n)
            start += n
    return found


def histograms_of(
    part: BinnedPartition, marks: Array, splits: Splits, request: tuple[Any, ...], *blocks: Array
) -> Array:
    """Return the cells of all bins, shape (n_nodes, n_features, n_bins, width)."""
    tally, features, shift, paths = request
    sides = sides_of(part, splits, blocks)
    codes = part.codes if features is None else part.codes[features]
    shape = len(paths), len(codes), (N_CODES - 1 >> shift) + 1, tally.width
    found = np.zeros(shape, dtype=tally.dtype)
    for place, path in enumerate(paths):
        rows = rows_of(codes.shape[1], path, sides)
        if len(rows):
            tally.histograms(codes, shift, rows, marks, found[place])
    return found


def totals_of(
    part: BinnedPartition, marks: Array, splits: Splits, request: tuple[Any, ...], *blocks: Array
) -> Array:
    """Return the cells of whole nodes, shape (n_nodes, width)."""
    tally, paths = request
    sides = sides_of(part, splits, blocks)
    found = np.zeros((len(paths), tally.width), dtype=np.int64)
    for place, path in enumerate(paths):
        rows = rows_of(part.shape[1], path, sides)
        found[place] = tally.cells(np.zeros(len(rows), dtype=np.int64), rows, marks, 1)[0]
    return found


# --- The closer look: counts, rises and values of the intervals where a cut can win ---------------


class Group(NamedTuple):
    """Intervals of one feature of one node to look at: between which edges a value lies says where it belongs."""

    node: int
    feature: int
    codes: Bools  # shape (256,): bins that the intervals lie in
    edges: Floats
    # What each stretch between edges is: a numbered place, -1 nothing, or -2 less the number of an
    # interval whose rows are wanted one by one.
    meaning: Ints


class Steps(NamedTuple):
    """What every row adds as a cut moves over it, label by label: how the rise of a place is measured."""

    interval: Array  # shape (n_places,): the row of `amounts` that holds at a place
    amounts: Array  # int32, shape (n_intervals, n_labels)


class Look(NamedTuple):
    """A request to look closely, at some nodes of one fit."""

    tally: Tally
    paths: Sequence[Path]
    groups: Sequence[Group]
    n_places: int
    n_listed: int  # intervals whose rows are wanted
    dtype: Any  # of counts: as small as holds the rows of the largest interval
    steps: Steps | None
    borders: Sequence[tuple[int, int, int]]  # node, feature and last code left of a cut


class Listed(NamedTuple):
    """Rows of intervals, interval by interval, in no further order."""

    sizes: Array  # shape (n_listed,)
    values: Floats  # float32 where the table is
    marks: Array


class Seen(NamedTuple):
    """What a closer look found."""

    cells: Array  # of the numbered places, shape (n_places, width)
    low: Floats  # least value of each place
    high: Floats
    # The largest sum of steps over the first rows of a place, each partition's on its own: no cut inside
    # the place has more steps behind it than these have together.
    rises: Array
    rows: Listed
    around: Floats  # shape (n_borders, 2): the greatest value left, the least value right


class Entries(NamedTuple):
    """Distinct values of intervals, in order."""

    interval: Ints
    value: Floats
    cells: Array


def look_closely(
    part: BinnedPartition, marks: Array, splits: Splits, look: Look, *blocks: Array
) -> Seen:
    """Return what lies in the asked intervals and around the asked borders."""
    X, sides = as_matrix(part), sides_of(part, splits, blocks)
    tally, n_places = look.tally, look.n_places
    seen = Seen(
        np.zeros((n_places, tally.width), dtype=look.dtype),
        np.full(n_places, np.inf, dtype=X.dtype),
        np.full(n_places, -np.inf, dtype=X.dtype),
        np.zeros(0 if look.steps is None else n_places, dtype=np.int32),
        _rows_by_interval(
            tally, look.n_listed, [np.empty(0, np.int64)], [np.empty(0, X.dtype)], [marks[:0]]
        ),
        np.tile([-np.inf, np.inf], (len(look.borders), 1)),
    )
    intervals, values, listed_marks = [], [], []
    used, codes = {group.node for group in look.groups}, part.codes
    inside = {node: inside_of(part.shape[1], look.paths[node], sides) for node in used}
    for group in look.groups:
        column = X[:, group.feature]
        rows, places, found = _placed(group, codes[group.feature], column, inside[group.node])
        numbered = places >= 0
        if numbered.any():
            _count(seen, look, places[numbered], found[numbered], marks[rows[numbered]])
        listed = places <= -2
        if listed.any():
            intervals.append(-2 - places[listed])
            values.append(found[listed])
            listed_marks.append(marks[rows[listed]])
    for place, (node, feature, last_code) in enumerate(look.borders):
        own = SearchedMatrix.of(X[:, feature][:, None])
        rows, nothing = rows_of(part.shape[1], look.paths[node], sides), np.empty((1, 0))
        seen.around[place] = values_around(own, nothing, codes[feature][None], 0, rows, last_code)
    if not intervals:
        return seen
    return seen._replace(
        rows=_rows_by_interval(tally, look.n_listed, intervals, values, listed_marks)
    )


def _placed(group: Group, codes: Array, column: Array, inside: Array) -> tuple[Array, Ints, Floats]:
    """Return the rows of the node in the intervals of a group, what each of them is, and their values."""
    room = np.empty(len(codes) + 1, dtype=np.int32)
    rows = room[: rows_in_bins(inside, codes, group.codes, room)]
    values = column[rows]
    places = group.meaning[np.searchsorted(group.edges, values.astype(np.float64, copy=False))]
    inside = places != -1
    return rows[inside], places[inside], values[inside]


def _count(seen: Seen, look: Look, places: Ints, values: Floats, marks: Array) -> None:
    """Write what is seen of the rows of a group in numbered places; no other group has these places."""
    order = np.argsort(values)
    places, values, marks = places[order], values[order], marks[order]
    # Places of a feature are numbered anew in every interval, but no two rows apart share one.
    starts = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
    used, ends = places[starts], np.r_[starts[1:], len(places)]
    number = np.repeat(np.arange(len(used)), ends - starts)
    cells = look.tally.cells(number, np.arange(len(places)), marks, len(used))
    seen.cells[used] = cells
    seen.low[used], seen.high[used] = values[starts], values[ends - 1]
    if look.steps is not None:
        steps = look.steps.amounts[look.steps.interval[places], marks].astype(np.int64)
        seen.rises[used] = _rises(steps, values, starts)


def _rises(steps: Ints, values: Floats, starts: Ints) -> Ints:
    """Return the largest sum of the first steps of every stretch, zero if all are less."""
    sums = np.cumsum(steps)
    before = sums[starts] - steps[starts]
    # No cut lies between equal values.
    parts_values = np.r_[values[1:] != values[:-1], True]
    parts_values[starts[1:] - 1] = True
    sums = np.where(parts_values, sums, np.iinfo(np.int64).min)
    return np.asarray(np.maximum(np.maximum.reduceat(sums, starts) - before, 0))


def _rows_by_interval(
    tally: Tally,
    n_listed: int,
    intervals: Sequence[Ints],
    values: Sequence[Floats],
    marks: Sequence[Array],
) -> Listed:
    """Return rows in the order of their intervals."""
    interval = np.concatenate(intervals)
    order = np.argsort(interval, kind="stable")
    sizes = np.bincount(interval, minlength=n_listed).astype(np.uint32)
    mark = np.concatenate(marks)[order].astype(tally.listed_dtype)
    return Listed(sizes, np.concatenate(values)[order], mark)


def merge_seen(tally: Tally, parts: Sequence[Seen]) -> Seen:
    """Return what closer looks at several partitions found."""
    around = np.stack([part.around for part in parts])
    lists = [part.rows for part in parts]
    n_listed = len(lists[0].sizes)
    return Seen(
        np.sum([part.cells for part in parts], axis=0, dtype=parts[0].cells.dtype),
        np.min([part.low for part in parts], axis=0),
        np.max([part.high for part in parts], axis=0),
        np.asarray(np.sum([part.rises for part in parts], axis=0, dtype=np.int32)),
        _rows_by_interval(
            tally,
            n_listed,
            [np.repeat(np.arange(n_listed), each.sizes) for each in lists],
            [each.values for each in lists],
            [each.marks for each in lists],
        ),
        np.stack([around[..., 0].max(axis=0), around[..., 1].min(axis=0)], axis=-1),
    )


def entries_of(rows: Listed, tally: Tally) -> Entries:
    """Return the distinct values of the intervals in order, with their cells."""
    interval = np.repeat(np.arange(len(rows.sizes)), rows.sizes)
    value = rows.values.astype(np.float64)
    order = np.lexsort((value, interval))
    interval, value = interval[order], value[order]
    is_new = np.ones(len(value), dtype=np.bool_)
    is_new[1:] = (value[1:] != value[:-1]) | (interval[1:] != interval[:-1])
    first = np.flatnonzero(is_new)
    cells = tally.cells(np.cumsum(is_new) - 1, order, rows.marks, len(first))
    return Entries(interval[first], value[first], cells)


# --- Edges, of which every worker has a share: it sees the bins of all rows -----------------------


class EdgePart(NamedTuple):
    """A share of the edges: both ends, and twice the weight."""

    heads: Array
    tails: Array
    twice: Ints


def itself(value: Any) -> Any:
    """Return a value as it is."""
    return value


def all_codes(columns: Ints, *all_parts: BinnedPartition) -> Array:
    """Return the bins of all rows, partition after partition."""
    return np.concatenate([part.codes[columns] for part in all_parts], axis=1)


def concatenated(*pieces: Array) -> Array:
    """Return what all rows have, partition after partition."""
    return np.concatenate(pieces, axis=-1)


def node_numbers(
    part: BinnedPartition, splits: Splits, paths: Sequence[Path], *blocks: Array
) -> Array:
    """Return which of the nodes each row of a partition lies in; -1 for none."""
    sides = sides_of(part, splits, blocks)
    numbers = np.full(part.shape[1], -1, dtype=np.int16)
    for number, path in enumerate(paths):
        numbers[rows_of(len(numbers), path, sides)] = number
    return numbers


def edge_histograms(
    edges: EdgePart, codes: Array, nodes: Array, shape: tuple[int, int, int], shift: int
) -> Ints:
    """Return the sums over edges inside nodes by the bins of their upper and of their lower ends."""
    node, inside = _inside(edges, nodes)
    heads, tails, twice = (each[inside] for each in edges)
    found = np.zeros((*shape, 2), dtype=np.int64)
    for feature in range(shape[1]):
        first, second = codes[feature, heads] >> shift, codes[feature, tails] >> shift
        flat = found[:, feature].reshape(-1, 2)  # a copy unless there is one feature
        np.add.at(flat[:, 0], node * shape[2] + np.maximum(first, second), twice)
        np.add.at(flat[:, 1], node * shape[2] + np.minimum(first, second), twice)
        found[:, feature] = flat.reshape(shape[0], shape[2], 2)
    return found


def edge_totals(edges: EdgePart, nodes: Array, n_nodes: int) -> Ints:
    """Return twice the weight of the edges inside each node."""
    node, inside = _inside(edges, nodes)
    found = np.zeros(n_nodes, dtype=np.int64)
    np.add.at(found, node, edges.twice[inside])
    return found


def _inside(edges: EdgePart, nodes: Array) -> tuple[Array, Bools]:
    """Return the nodes of the edges that lie inside one, and which these are."""
    node = nodes[edges.heads]
    inside = (node >= 0) & (node == nodes[edges.tails])
    return node[inside].astype(np.int64), inside


def places_of(part: BinnedPartition, splits: Splits, look: Look, *blocks: Array) -> Array:
    """Return where every row lies on the feature of each group: bin, then stretch; -1 outside the node."""
    X, sides = as_matrix(part), sides_of(part, splits, blocks)
    n_rows = part.shape[1]
    found = np.full((len(look.groups), n_rows), -1, dtype=np.int32)
    rows_in = [rows_of(n_rows, path, sides) for path in look.paths]
    for place, group in enumerate(look.groups):
        rows = rows_in[group.node]
        codes = part.codes[group.feature, rows].astype(np.int32)
        values = X[rows, group.feature].astype(np.float64, copy=False)
        stretch = np.where(group.codes[codes], np.searchsorted(group.edges, values), 0)
        found[place, rows] = codes << _INDEX_BITS | stretch
    return found


def edge_look(edges: EdgePart, places: Array, request: tuple[list[Ints], int]) -> Ints:
    """Return the sums over edges by the places of their upper and of their lower ends."""
    meanings, n_places = request
    found = np.zeros((n_places, 2), dtype=np.int64)
    for place, meaning in zip(places, meanings, strict=True):
        first, second = place[edges.heads], place[edges.tails]
        inside = (first >= 0) & (second >= 0)
        first, second, twice = first[inside], second[inside], edges.twice[inside]
        for end, which in enumerate((np.maximum(first, second), np.minimum(first, second))):
            number = meaning[which & ((1 << _INDEX_BITS) - 1)]
            np.add.at(found[:, end], number[number >= 0], twice[number >= 0])
    return found
