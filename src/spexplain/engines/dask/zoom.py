"""The closer look: which intervals to ask for, how to ask, and what the answers say."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.engines.dask.bounds import Bounded, Node, Rises, Segments, WholeSteps
from spexplain.engines.dask.worker import Entries, Group, Seen, Steps, Tally
from spexplain.table.coding import N_CODES, to_float, to_place

N_PLACES = 16  # finer bins of an interval: fewer mean more looks, more mean more bytes
_ENOUGH = 8  # sampled values in an interval that make good borders


class Geometry(NamedTuple):
    """Where bins and extra vertices lie: what all nodes of a fit share."""

    columns: Ints  # of the table, for every feature
    shift: int  # the bin of a code is the code shifted to the right
    sample: Floats  # shape (n_table_columns, n_sample), sorted
    points: Floats  # shape (n_extra, n_features): the extra vertices


class Job(NamedTuple):
    """An interval to look at closely."""

    bounded: Bounded
    row: int
    bin: int
    bound: float
    pivots: Floats | None  # None: all rows one by one
    whole_steps: WholeSteps | None = None  # what rises are measured with


class NodeRequest(NamedTuple):
    """The jobs of one node in one request, and their first places or their intervals."""

    node: Node
    jobs: list[Job]
    first: list[int]


def row_bytes(tally: Tally) -> int:
    """Return the bytes of a row that is sent as it is: its value, and its label or amounts."""
    return 8 + tally.listed_bytes


def look_bytes(tally: Tally) -> int:
    """Return the bytes of the finer bins of an interval: counts or sums, extremes and rises."""
    n_bytes: int = np.dtype(tally.dtype_for(2**16 - 1)).itemsize
    return N_PLACES * (n_bytes * tally.width + 12)


def make_job(bounded: Bounded, row: int, place: int, many: int, geometry: Geometry) -> Job:
    """Return how to look at one bin: all rows if they are not many, else finer bins."""
    segments = bounded.segments
    bound = float(bounded.bounds[row, place])
    if bounded.n_inside[row, place] <= many:
        return Job(bounded, row, place, bound, None)
    column = geometry.columns[segments.features[row]]
    low, high = segments.low[row, place], segments.high[row, place]
    pivots = pivots_between(float(low), float(high), geometry.sample[column], segments.depth)
    return Job(bounded, row, place, bound, pivots)


def pivots_between(low: float, high: float, sample: Floats, depth: int) -> Floats:
    """Return borders of finer bins: each holds values above the one before it, up to itself.

    Sampled values if there are enough, else a regular grid. Every other time this is a grid over
    the floats in between as they lie in memory, which separates values that no regular grid separates.
    """
    inside = np.unique(sample[np.searchsorted(sample, low) : np.searchsorted(sample, high)])
    if len(inside) >= _ENOUGH:
        picks = np.arange(1, N_PLACES) * len(inside) // N_PLACES
        return np.asarray(np.unique(inside[picks]))
    if depth % 2 == 0:
        with np.errstate(over="ignore", invalid="ignore"):
            grid = low + (high - low) * (np.arange(1, N_PLACES) / N_PLACES)
        grid = np.unique(grid[np.isfinite(grid) & (grid >= low) & (grid < high)])
        if len(grid) > 1:
            return np.asarray(grid)
    first, last = (int(place) for place in to_place(np.array([low, high])))
    steps = {first + (last - first) * i // (N_PLACES - 1) for i in range(N_PLACES - 1)}
    return to_float(np.array(sorted(step for step in steps if step < last)))


def number_jobs(jobs: Sequence[Job]) -> tuple[list[int], int]:
    """Return for each job its first place, or the number of its interval; and the number of places."""
    first, n_places, n_intervals = [], 0, 0
    for job in jobs:
        if job.pivots is None:
            first.append(n_intervals)
            n_intervals += 1
        else:
            first.append(n_places)
            n_places += len(job.pivots) + 1
    return first, n_places


def steps_of(jobs: Sequence[Job]) -> Steps | None:
    """Return the steps to measure the rises of all places with, or None if the formula allows none."""
    zooms = [job for job in jobs if job.pivots is not None]
    measured = [job.whole_steps for job in zooms if job.whole_steps is not None]
    if not measured:
        return None
    n_places = [len(job.pivots) + 1 for job in zooms if job.pivots is not None]
    owner = np.repeat(np.arange(len(zooms), dtype=np.int32), n_places)
    return Steps(owner, np.stack([each.steps for each in measured]))


def groups_of(
    nodes: Sequence[int], jobs: Sequence[Job], first: Sequence[int], geometry: Geometry
) -> list[Group]:
    """Return jobs of numbered nodes as groups by node and feature."""
    by_feature = defaultdict(list)
    for node, job, at in zip(nodes, jobs, first, strict=True):
        by_feature[node, int(job.bounded.segments.features[job.row])].append((job, at))
    return [
        _group(each, geometry.shift)._replace(node=node, feature=int(geometry.columns[feature]))
        for (node, feature), each in by_feature.items()
    ]


def all_numbered(
    nodes: Sequence[int], jobs: Sequence[Job], first: Sequence[int], n_places: int, entries: Entries
) -> tuple[list[int], list[Job], list[int]]:
    """Return the jobs with the values that were found as borders, numbered after all other places."""
    owners, numbered, starts = [], [], []
    for node, job, at in zip(nodes, jobs, first, strict=True):
        start, stop = np.searchsorted(entries.interval, [at, at + 1])
        if job.pivots is not None:
            numbered.append(job)
            starts.append(at)
        elif stop > start:
            numbered.append(job._replace(pivots=entries.value[start : stop - 1]))
            starts.append(n_places + int(start))
        else:
            continue
        owners.append(node)
    return owners, numbered, starts


def _group(jobs: list[tuple[Job, int]], shift: int) -> Group:
    """Return the intervals of one feature: their ends and borders in order."""
    codes = np.zeros(N_CODES, dtype=np.bool_)
    edges, meaning = [], [np.array([-1])]
    for job, first in sorted(
        jobs, key=lambda each: each[0].bounded.segments.low[each[0].row, each[0].bin]
    ):
        segments, row, place = job.bounded.segments, job.row, job.bin
        code = place if segments.depth == 0 else int(segments.codes[row])
        codes[code << shift : (code + 1) << shift] = True
        low, high = segments.low[row, place], segments.high[row, place]
        pivots = np.empty(0) if job.pivots is None else job.pivots
        with np.errstate(over="ignore"):
            below = np.nextafter(low, -np.inf)
        edges.append(np.r_[below, pivots, high])
        inside = (
            np.array([-2 - first]) if job.pivots is None else first + np.arange(len(pivots) + 1)
        )
        meaning += [inside, np.array([-1])]
    return Group(0, 0, codes, np.concatenate(edges), np.concatenate(meaning))


def zoomed(asked: NodeRequest, seen: Seen, tally: Tally, geometry: Geometry) -> Segments:
    """Return the finer bins of intervals with many rows."""
    cells = np.zeros((len(asked.jobs), N_PLACES, tally.width), dtype=tally.dtype)
    low = np.full(cells.shape[:2], np.inf)
    high = np.full(cells.shape[:2], -np.inf)
    rises = np.zeros(cells.shape[:2])
    inner, steps = [], []
    for i, (job, first) in enumerate(zip(asked.jobs, asked.first, strict=True)):
        assert job.pivots is not None
        n = len(job.pivots) + 1
        cells[i, :n] = seen.cells[first : first + n]
        low[i, :n], high[i, :n] = seen.low[first : first + n], seen.high[first : first + n]
        inner.append(job.pivots)
        if job.whole_steps is not None:
            rises[i, :n] = job.whole_steps.unit * seen.rises[first : first + n]
            steps.append(job.whole_steps.unit * job.whole_steps.steps)
    segments = _with_centers(asked, inner, cells, low, high, geometry)
    return segments._replace(rises=Rises(np.stack(steps), rises)) if steps else segments


def bin_per_value(
    asked: NodeRequest, entries: Entries, tally: Tally, geometry: Geometry
) -> Segments:
    """Return intervals with a bin for every value."""
    values = []
    for job, interval in zip(asked.jobs, asked.first, strict=True):
        start, stop = np.searchsorted(entries.interval, [interval, interval + 1])
        points = _points_in(asked.node, job, geometry)
        values.append((np.union1d(entries.value[start:stop], points), start, stop))
    n_bins = max(len(each) for each, *_ in values)
    cells = np.zeros((len(values), max(1, n_bins), tally.width), dtype=tally.dtype)
    low = np.full(cells.shape[:2], np.inf)
    high = np.full(cells.shape[:2], -np.inf)
    for i, (distinct, start, stop) in enumerate(values):
        cells[i, np.searchsorted(distinct, entries.value[start:stop])] = entries.cells[start:stop]
        low[i, : len(distinct)] = high[i, : len(distinct)] = distinct
    return _with_centers(asked, [each[:-1] for each, *_ in values], cells, low, high, geometry)


def _points_in(node: Node, job: Job, geometry: Geometry) -> Floats:
    """Return the values of the node's extra vertices in an interval."""
    segments = job.bounded.segments
    inside = node.centers[segments.centers[job.row, node.centers] == job.bin]
    return np.asarray(geometry.points[inside, segments.features[job.row]], dtype=np.float64)


def _with_centers(
    asked: NodeRequest,
    pivots: list[Floats],
    cells: Any,
    low: Floats,
    high: Floats,
    geometry: Geometry,
) -> Segments:
    """Return the segments with their starts and the extra vertices in place."""
    m, n_bins = low.shape
    starts = np.zeros((m, cells.shape[2]), dtype=cells.dtype)
    centers = np.empty((m, len(geometry.points)), dtype=np.int64)
    features, codes = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    for i, job in enumerate(asked.jobs):
        segments, row, place = job.bounded.segments, job.row, job.bin
        features[i] = segments.features[row]
        codes[i] = place if segments.depth == 0 else segments.codes[row]
        starts[i] = segments.starts[row] + segments.cells[row, :place].sum(axis=0)
        before = segments.centers[row]
        centers[i] = np.where(before < place, -1, n_bins)
        for center in asked.node.centers[before[asked.node.centers] == place]:
            value = geometry.points[center, features[i]]
            where = int(np.searchsorted(pivots[i], value))
            centers[i, center] = where
            low[i, where], high[i, where] = min(low[i, where], value), max(high[i, where], value)
    depth = asked.jobs[0].bounded.segments.depth + 1
    return Segments(features, codes, starts, cells, low, high, centers, depth)
