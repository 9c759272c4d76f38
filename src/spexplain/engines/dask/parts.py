"""What a worker does with its partition: bins, histograms, and a closer look where a cut can win.

These functions run on the workers. They keep nothing: the rows of a node follow from the sides of the
splits above it, so that a partition can be computed anew wherever its worker was lost.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from spexplain.engines.dask.binning import N_CODES, Binning, code
from spexplain.engines.dask.tallies import Tally
from spexplain.kernels.coding import spread_of_bins, values_around
from spexplain.records import Cut
from spexplain.typing import Array, Bools, Floats, Ints, Matrix

Path = tuple[tuple[int, bool], ...]  # splits above a node, and whether it lies on their left


class Part(NamedTuple):
    """A partition in bins, with the least and the greatest value of each bin of discrete features."""

    codes: Array  # uint8, shape (n_features, n_rows)
    low: Floats  # shape (n_discrete, 256)
    high: Floats
    flaw: tuple[int, int] | None  # the first row and column that hold no finite number


class Group(NamedTuple):
    """Intervals of one feature of one node to look at: between which edges a value lies says where it belongs."""

    node: int
    feature: int
    codes: Bools  # shape (256,): bins that the intervals lie in
    edges: Floats
    # What each stretch between edges is: a numbered place, -1 nothing, or -2 less the number of an
    # interval whose values are wanted one by one.
    meaning: Ints


class Look(NamedTuple):
    """A request to look closely, at some nodes of one fit."""

    tally: Tally
    paths: Sequence[Path]
    groups: Sequence[Group]
    n_places: int
    borders: Sequence[tuple[int, int, int]]  # node, feature and last code left of a cut
    columns: Mapping[int, int]  # where in the partition's block a feature stands


class Seen(NamedTuple):
    """What a closer look found."""

    cells: Array  # of the numbered places, shape (n_places, width)
    low: Floats  # least value of each place
    high: Floats
    entries: "Entries"
    around: Floats  # shape (n_borders, 2): the greatest value left, the least value right


class Entries(NamedTuple):
    """Single values of intervals, in order."""

    interval: Ints
    value: Floats
    cells: Array


def as_matrix(block: Any) -> Matrix:
    """Return a block of rows, an array or a data frame, as floats."""
    values = block.to_numpy() if hasattr(block, "to_numpy") else np.asarray(block)
    if values.ndim != 2:
        raise ValueError(f"X must be a table, but a partition has the shape {values.shape}.")
    if values.dtype == np.float32:
        return np.asarray(values)
    try:
        return values.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X holds text or other things than numbers ({error}); encode such columns as numbers or "
            "leave them out."
        ) from None


def sample_rows(block: Any, place: int, n_wanted: int) -> tuple[Matrix, int]:
    """Return some rows of a block, always the same ones for this partition, and how many it has."""
    X = as_matrix(block)
    if len(X) > n_wanted:
        picked = np.random.default_rng(place).choice(len(X), n_wanted, replace=False)
        return X[np.sort(picked)].astype(np.float64), len(X)
    return X.astype(np.float64), len(X)


def code_part(block: Any, binning: Binning) -> Part:
    """Return a partition in bins."""
    X = as_matrix(block)
    n_features = X.shape[1]
    if n_features != len(binning.edges):
        raise ValueError(
            f"X has partitions of different widths: {len(binning.edges)} and {n_features} columns."
        )
    flaw = _flaw(X)
    codes = code(X if flaw is None else np.zeros(X.shape), binning)
    low = np.full((len(binning.discrete), N_CODES), np.inf)
    high = np.full((len(binning.discrete), N_CODES), -np.inf)
    for place, feature in enumerate(binning.discrete.tolist()):
        if flaw is None:
            spread_of_bins(X.T, codes, feature, low[place], high[place])
    return Part(codes, low, high, flaw)


def _flaw(X: Matrix) -> tuple[int, int] | None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):
            return None
    rows, columns = np.nonzero(~np.isfinite(X))
    return (int(rows[0]), int(columns[0])) if len(rows) else None


def summary_of(part: Part) -> tuple[Any, ...]:
    """Return what the client must know of a partition: rows, first flaw, extremes of its bins."""
    return [part.codes.shape[1]], [part.flaw], part.low, part.high


def merge_summaries(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the summary of several partitions."""
    sizes, flaws, lows, highs = zip(*parts, strict=True)
    joined = [list(chain.from_iterable(each)) for each in (sizes, flaws)]
    return *joined, np.min(lows, axis=0), np.max(highs, axis=0)


def side_of(block: Any, column: int, cut: Cut) -> Array:
    """Return which rows lie left of a cut, eight to a byte."""
    x = as_matrix(block)[:, column].astype(np.float64, copy=False)
    return np.packbits((cut.lower < x) & (x <= cut.threshold))


def side_of_codes(part: Part, feature: int, last_code: int) -> Array:
    """Return which rows lie in bins up to the last one of the left side, eight to a byte."""
    return np.packbits(part.codes[feature] <= last_code)


def rows_of(n_rows: int, path: Path, sides: Mapping[int, Array]) -> Array:
    """Return the rows of a partition that lie in a node."""
    if not path:
        return np.arange(n_rows, dtype=np.int32)
    inside: Any = None
    for split, is_left in path:
        here = sides[split] if is_left else ~sides[split]
        inside = here if inside is None else inside & here
    return np.flatnonzero(np.unpackbits(inside, count=n_rows).view(np.bool_)).astype(np.int32)


def histograms_of(
    part: Part, marks: Array, sides: Mapping[int, Array], request: tuple[Any, ...]
) -> Array:
    """Return the cells of all bins, shape (n_nodes, n_features, n_bins, width)."""
    tally, features, shift, paths = request
    codes = part.codes if features is None else part.codes[features]
    shape = len(paths), len(codes), (N_CODES - 1 >> shift) + 1, tally.width
    found = np.zeros(shape, dtype=tally.dtype)
    for place, path in enumerate(paths):
        rows = rows_of(codes.shape[1], path, sides)
        if len(rows):
            tally.histograms(codes, shift, rows, marks, found[place])
    return found


def totals_of(
    part: Part, marks: Array, sides: Mapping[int, Array], request: tuple[Any, ...]
) -> Array:
    """Return the cells of whole nodes, shape (n_nodes, width)."""
    tally, paths = request
    found = np.zeros((len(paths), tally.width), dtype=np.int64)
    for place, path in enumerate(paths):
        rows = rows_of(part.codes.shape[1], path, sides)
        found[place] = tally.cells(np.zeros(len(rows), dtype=np.int64), rows, marks, 1)[0]
    return found


def look_closely(
    part: Part, marks: Array, block: Any, sides: Mapping[int, Array], look: Look
) -> Seen:
    """Return what lies in the asked intervals and around the asked borders."""
    X = as_matrix(block)
    tally = look.tally
    seen = Seen(
        np.zeros((look.n_places, tally.width), dtype=tally.dtype),
        np.full(look.n_places, np.inf),
        np.full(look.n_places, -np.inf),
        _no_entries(tally),
        np.tile([-np.inf, np.inf], (len(look.borders), 1)),
    )
    entries = [seen.entries]
    rows_in = [rows_of(part.codes.shape[1], path, sides) for path in look.paths]
    for group in look.groups:
        column = X[:, look.columns[group.feature]]
        rows, places, values = _placed(group, part, column, rows_in[group.node])
        numbered = places >= 0
        if numbered.any():
            _count(seen, tally, places[numbered], rows[numbered], marks, values[numbered])
        listed = places <= -2
        if listed.any():
            entries.append(_listed(tally, -2 - places[listed], values[listed], rows[listed], marks))
    for place, (node, feature, last_code) in enumerate(look.borders):
        column = X[:, look.columns[feature]][None]
        codes, nothing = part.codes[feature][None], np.empty((1, 0))
        seen.around[place] = values_around(column, nothing, codes, 0, rows_in[node], last_code)
    return seen._replace(entries=_joined(entries))


def _placed(group: Group, part: Part, column: Array, rows: Array) -> tuple[Array, Ints, Floats]:
    """Return the rows of the node in the intervals of a group, what each of them is, and their values."""
    if not group.codes.all():
        rows = rows[group.codes[part.codes[group.feature, rows]]]
    values = column[rows].astype(np.float64, copy=False)
    places = group.meaning[np.searchsorted(group.edges, values)]
    inside = places != -1
    return rows[inside], places[inside], values[inside]


def _count(
    seen: Seen, tally: Tally, places: Ints, rows: Array, marks: Array, values: Floats
) -> None:
    """Add rows to the numbered places."""
    first, last = int(places.min()), int(places.max()) + 1
    places = places - first
    seen.cells[first:last] += tally.cells(places, rows, marks, last - first)
    np.minimum.at(seen.low[first:last], places, values)
    np.maximum.at(seen.high[first:last], places, values)


def _no_entries(tally: Tally) -> Entries:
    return Entries(
        np.empty(0, dtype=np.int32), np.empty(0), np.empty((0, tally.width), tally.listed_dtype)
    )


def _listed(tally: Tally, interval: Ints, value: Floats, rows: Array, marks: Array) -> Entries:
    """Return the distinct values of the intervals and their cells."""
    order = np.lexsort((value, interval))
    interval, value = interval[order], value[order]
    number, first = _numbered(interval, value)
    cells = tally.cells(number, rows[order], marks, len(first))
    return Entries(interval[first].astype(np.int32), value[first], cells.astype(tally.listed_dtype))


def _numbered(interval: Ints, value: Floats) -> tuple[Ints, Ints]:
    """Return the number of each (interval, value) in a sorted list, and where each comes first."""
    is_new = np.ones(len(value), dtype=np.bool_)
    is_new[1:] = (value[1:] != value[:-1]) | (interval[1:] != interval[:-1])
    return np.cumsum(is_new) - 1, np.flatnonzero(is_new)


def _joined(parts: list[Entries]) -> Entries:
    """Return the entries of several lists, equal values added up."""
    interval, value, cells = (np.concatenate(each) for each in zip(*parts, strict=True))
    if not len(value):
        return parts[0]
    order = np.lexsort((value, interval))
    interval, value, cells = interval[order], value[order], cells[order]
    _, first = _numbered(interval, value)
    return Entries(
        interval[first], value[first], np.add.reduceat(cells, first, axis=0, dtype=cells.dtype)
    )


def merge_seen(parts: list[Seen]) -> Seen:
    """Return what closer looks at several partitions found."""
    cells = parts[0].cells.copy()
    for part in parts[1:]:
        cells += part.cells
    around = np.stack([part.around for part in parts])
    return Seen(
        cells,
        np.min([part.low for part in parts], axis=0),
        np.max([part.high for part in parts], axis=0),
        _joined([part.entries for part in parts]),
        np.stack([around[..., 0].max(axis=0), around[..., 1].min(axis=0)], axis=-1),
    )
