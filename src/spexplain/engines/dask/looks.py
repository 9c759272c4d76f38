"""The closer look of a worker at its partition: counts, rises and values of the intervals where a cut can win."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.engines.dask.tallies import Tally
from spexplain.kernels.coding import values_around
from spexplain.table.partition_tasks import Part, Path, as_matrix, rows_of


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
    columns: Mapping[int, int]  # where in the partition's block a feature stands


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
    part: Part, marks: Array, block: Any, sides: Mapping[int, Array], look: Look
) -> Seen:
    """Return what lies in the asked intervals and around the asked borders."""
    X = as_matrix(block)
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
    used = {group.node for group in look.groups} | {node for node, *_ in look.borders}
    rows_in = {node: rows_of(part.codes.shape[1], look.paths[node], sides) for node in used}
    for group in look.groups:
        column = X[:, look.columns[group.feature]]
        rows, places, found = _placed(group, part, column, rows_in[group.node])
        numbered = places >= 0
        if numbered.any():
            _count(seen, look, places[numbered], found[numbered], marks[rows[numbered]])
        listed = places <= -2
        if listed.any():
            intervals.append(-2 - places[listed])
            values.append(found[listed])
            listed_marks.append(marks[rows[listed]])
    for place, (node, feature, last_code) in enumerate(look.borders):
        column = X[:, look.columns[feature]][None]
        codes, nothing = part.codes[feature][None], np.empty((1, 0))
        seen.around[place] = values_around(column, nothing, codes, 0, rows_in[node], last_code)
    if not intervals:
        return seen
    return seen._replace(
        rows=_rows_by_interval(tally, look.n_listed, intervals, values, listed_marks)
    )


def _placed(group: Group, part: Part, column: Array, rows: Array) -> tuple[Array, Ints, Floats]:
    """Return the rows of the node in the intervals of a group, what each of them is, and their values."""
    if not group.codes.all():
        rows = rows[group.codes[part.codes[group.feature, rows]]]
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
