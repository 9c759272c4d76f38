"""`DaskEngine`, and its search over partitions: histograms, bounds, and a closer look where a cut can win."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any
from uuid import uuid4

import numpy as np

from spexplain.aliases import Bools, Floats, Ints
from spexplain.engines.base import Search, searches_empty_sides
from spexplain.engines.categories import GroupedSums
from spexplain.engines.dask import worker
from spexplain.engines.dask.bounds import (
    NOTHING,
    Bounded,
    FoundCut,
    Node,
    Scorer,
    Segments,
    whole_steps_of,
)
from spexplain.engines.dask.sums import Above, EdgeSums, Sums, sums_of
from spexplain.engines.dask.worker import Entries, Look, Seen
from spexplain.engines.dask.zoom import (
    N_PLACES,
    Geometry,
    Job,
    NodeRequest,
    all_numbered,
    bin_per_value,
    groups_of,
    look_bytes,
    make_job,
    number_jobs,
    row_bytes,
    steps_of,
    zoomed,
)
from spexplain.engines.exhaustive import NumpyEngine, midpoint
from spexplain.objectives import Objective
from spexplain.objectives.bounds import promise_after
from spexplain.records import Cut, Promise
from spexplain.table.coding import MAX_BINS, N_CODES
from spexplain.table.partitioned import ROWS_PER_PARTITION, CodedTable, PartitionedTable
from spexplain.table.storage import engine_of
from spexplain.table.views import CategoryColumn

_MOST_CELLS = 1 << 22  # numbers in the histograms of one node, beyond which bins are joined
_MOST_ASKED = 1 << 21  # numbers in the answer to one closer look at a node
_FEW = 1.0  # bytes of rows, per byte of a node's histograms, that are sent without a look at finer bins


class NodeSearch:
    """The best cut of one node so far, and the bins that can hold a better one."""

    def __init__(self, scorer: Scorer, table: CodedTable, geometry: Geometry, codes: Ints) -> None:
        self.scorer, self.table, self.geometry = scorer, table, geometry
        self.node, self.objective, self.tally = scorer.node, scorer.objective, scorer.sums.tally
        self.codes = codes  # bins of the extra vertices, shape (n_features, n_extra)
        self.best = NOTHING
        self.promise: Promise | None = None
        self.open: list[Bounded] = []
        self._around: dict[tuple[int, int], tuple[float, float]] = {}
        self._add(self._whole())

    def _whole(self) -> Segments:
        """Return all features in bins."""
        table, (columns, shift, *_) = self.table, self.geometry
        cells = self.node.histograms
        assert cells is not None
        low, high = (
            np.minimum.reduceat(table.low[columns], np.arange(0, N_CODES, 1 << shift), axis=1),
            np.maximum.reduceat(table.high[columns], np.arange(0, N_CODES, 1 << shift), axis=1),
        )
        features = np.arange(len(columns))
        centers = self.codes
        for center in self.node.centers:
            place = features, centers[:, center]
            value = self.geometry.points[center]
            low[place], high[place] = np.minimum(low[place], value), np.maximum(high[place], value)
        starts = np.zeros((len(features), cells.shape[2]), dtype=cells.dtype)
        return Segments(features, features * 0 - 1, starts, cells, low, high, centers)

    def _add(self, segments: Segments) -> None:
        bounded, best = self.scorer.bound(segments)
        self.best = min(self.best, best, key=lambda found: found.rank)
        if self.best is best and best.last_code >= 0:
            self._learn_from_solid(segments)
        self.scorer.tighten(bounded, self.best.score)
        self.open.append(bounded)

    def priority(self) -> float:
        """Return what the leaf's priority is at most."""
        if self.promise is not None or self.best.score == inf:
            return inf
        return float(self.objective.priority(self.best.true_score, self.scorer.record))

    def try_to_promise(self, rival: float) -> None:
        """Put off the search if the best cut is sure to come after the rival."""
        objective = self.objective
        if rival == inf or objective.trend is None or self.scorer.is_flat or self.promise:
            return
        left = [each.bounds[each.can_win(self.best)] for each in self.open]
        lowest = min((float(bounds.min()) for bounds in left if bounds.size), default=inf)
        if lowest == inf and self.border() is None:
            return
        score = min(self.best.score, lowest)
        self.promise = promise_after(objective, score, self.scorer.record, rival)

    def border(self) -> tuple[int, int] | None:
        """Return feature and last code of the best cut if the values around it are not known yet."""
        feature, last_code = self.best.feature, self.best.last_code
        if self.promise is not None or last_code < 0 or (feature, last_code) in self._around:
            return None
        return feature, last_code

    def _learn_from_solid(self, whole: Segments) -> None:
        """Remember the values around the best border if the bins beside it hold a single value each."""
        feature, last_code = self.best.feature, self.best.last_code
        border = (last_code >> self.geometry.shift) + 1
        is_used = self.tally.n_rows(whole.cells[feature]) > 0
        is_used[whole.centers[feature, self.node.centers]] = True
        left, right = np.flatnonzero(is_used[:border])[-1], np.flatnonzero(is_used[border:])[0]
        low, high = whole.low[feature], whole.high[feature]
        right += border
        if low[left] == high[left] and low[right] == high[right]:
            self._around[feature, last_code] = float(high[left]), float(low[right])

    def learn_border(self, last_code: int, low: float, high: float) -> None:
        """Remember the values around the border of the best cut."""
        feature, shift = self.best.feature, self.geometry.shift
        inside = self.node.centers
        values = self.geometry.points[inside, feature]
        is_left = self.codes[feature, inside] <= last_code >> shift
        low = max([low, *values[is_left]])
        high = min([high, *values[~is_left]])
        self._around[feature, last_code] = float(low), float(high)

    def next_jobs(self) -> list[Job]:
        """Return the bins to look at now, the most promising first."""
        if self.promise is not None:
            return []
        chosen = [(bounded, bounded.can_win(self.best)) for bounded in self.open]
        many = self._most_listed(sum(int(each.n_inside[wanted].sum()) for each, wanted in chosen))
        jobs = [
            make_job(bounded, int(row), int(place), many, self.geometry)
            for bounded, wanted in chosen
            for row, place in np.argwhere(wanted)
        ]
        jobs.sort(key=lambda job: job.bound)
        spent, n_jobs = 0, 0
        for job in jobs:
            n_rows = int(job.bounded.n_inside[job.row, job.bin])
            spent += self.tally.width * (n_rows if job.pivots is None else N_PLACES)
            if n_jobs and spent > _MOST_ASKED:
                break
            n_jobs += 1
        for job in jobs[:n_jobs]:
            job.bounded.bounds[job.row, job.bin] = inf
        return self._with_whole_steps(jobs[:n_jobs])

    def _most_listed(self, n_rows: int) -> int:
        """Return how many rows an interval may have to be sent as they are, of so many rows in all."""
        each = row_bytes(self.tally)
        assert self.node.histograms is not None
        # One look less is worth a few bytes more. Else whatever is less.
        if n_rows * each <= _FEW * self.node.histograms.nbytes:
            return n_rows
        return look_bytes(self.tally) // each

    def _with_whole_steps(self, jobs: list[Job]) -> list[Job]:
        """Return the jobs with what rises are measured with."""
        return [job if job.pivots is None else self._measured(job) for job in jobs]

    def _measured(self, job: Job) -> Job:
        at = np.array([job.row]), np.array([job.bin])
        falls = self.scorer.falls(job.bounded.segments, *at)
        if falls is None:
            return job
        n_rows = int(job.bounded.n_inside[job.row, job.bin])
        return job._replace(whole_steps=whole_steps_of(falls.steps[0], n_rows))

    def take(self, jobs: list[tuple[Job, int]], seen: Seen, entries: Entries) -> None:
        """Take in what the closer look has found."""
        tally, geometry = self.tally, self.geometry
        # Jobs of one depth at a time: segments have one.
        kinds = sorted({(job.bounded.segments.depth, job.pivots is None) for job, _ in jobs})
        for depth, is_list in kinds:
            chosen = [
                (job, at)
                for job, at in jobs
                if (job.bounded.segments.depth, job.pivots is None) == (depth, is_list)
            ]
            asked = NodeRequest(self.node, [job for job, _ in chosen], [at for _, at in chosen])
            if is_list:
                self._add(bin_per_value(asked, entries, tally, geometry))
            else:
                self._add(zoomed(asked, seen, tally, geometry))

    def cut(self) -> Cut | None:
        """Return the best cut."""
        best = self.best
        if best.score == inf:
            return None
        low, high = best.low, best.high
        if best.last_code >= 0:
            low, high = self._around[best.feature, best.last_code]
        score = best.true_score
        priority = float(self.objective.priority(score, self.scorer.record))
        cut = Cut(best.feature, midpoint(low, high), score, priority)
        self.node.found = cut, best
        return cut


class DaskSearch:
    """The cuts of one table under one objective."""

    def __init__(
        self, table: CodedTable, objective: Objective, sums: Sums, min_samples_leaf: int
    ) -> None:
        self.table, self.objective, self.sums = table, objective, sums
        self.workers, self.tally = table.workers, sums.tally
        self.n_samples, self.n_features = table.shape
        self.min_samples_leaf = min_samples_leaf
        extra = objective.graph.extra
        points = np.empty((0, self.n_features)) if extra is None else extra.astype(np.float64)
        self.marks = sums.marks(table)
        self.edges: EdgeSums | None = sums if isinstance(sums, EdgeSums) else None
        self.geometry = Geometry(
            table.used, _shift(self.n_features, self.tally.width), table.sample, points
        )
        self.codes = self._codes_of(points)
        self._name = uuid4().hex  # under which workers remember the sides of splits
        # With the blocks that they look at, if these are not the partitions themselves.
        self._splits: list[tuple[worker.Split, list[Any] | None]] = []
        self._categories: dict[int, list[Any]] = {}  # codes of every partition, by column

    def _codes_of(self, points: Floats) -> Ints:
        """Return the bins of the extra vertices, shape (n_features, n_extra)."""
        whole = np.zeros((len(points), len(self.table.low)))
        whole[:, self.table.used] = points
        codes = self.table.codes_of(whole)[:, self.table.used].T
        return codes.astype(np.int64) >> self.geometry.shift

    def root(self) -> Node:
        centers = np.arange(len(self.geometry.points))
        if self.edges is not None:
            node = Node((), self._totals([()])[0], centers)
        else:
            # Any feature has all rows in its bins; the histograms are needed anyway.
            node = Node((), np.zeros(self.tally.width, dtype=np.int64), centers)
            self._count([node])
            assert node.histograms is not None
            node.totals = node.histograms[0].sum(axis=0, dtype=np.int64)
        self.sums.record(node)
        return node

    def size(self, node: Node) -> int:
        return int(self.tally.n_rows(node.totals))

    def value(self, node: Node) -> float:
        return self.objective.leaf_value(self.sums.record(node))

    def split(self, node: Node, cut: Cut) -> tuple[Node, Node]:
        column = int(self.table.used[cut.feature])
        known = node.found[1] if node.found is not None and node.found[0] == cut else None
        if known is not None and known.last_code >= 0:
            split = worker.Split(worker.side_of_codes, (column, known.last_code))
        else:
            split = worker.Split(worker.side_of, (column, cut))
        values = self.geometry.points[node.centers, cut.feature]
        is_left = (cut.lower < values) & (values <= cut.threshold)
        return self._parts(node, split, None, is_left, known)

    def _parts(
        self,
        node: Node,
        split: worker.Split,
        blocks: list[Any] | None,
        is_left: Bools,
        known: FoundCut | None,
    ) -> tuple[Node, Node]:
        """Return the two parts of a node, from the sides of its rows and of its extra vertices."""
        number = len(self._splits)
        self._splits.append((split, blocks))
        paths = [(*node.path, (number, side)) for side in (True, False)]
        left, right = self._totals_of_parts(node, paths, known)
        return (
            Node(paths[0], left, node.centers[is_left], node),
            Node(paths[1], right, node.centers[~is_left], node),
        )

    def _totals_of_parts(
        self, node: Node, paths: Sequence[worker.Path], known: FoundCut | None
    ) -> tuple[Ints, Ints]:
        """Return the cells of both parts of a node: from the search if it found the cut, else counted."""
        if self.edges is not None:
            both = self._totals(paths)
            return both[0], both[1]
        left = self._totals(paths[:1])[0] if known is None else known.left
        return left, node.totals - left

    # Categories, see `spexplain.engines.categories`.

    def record(self, node: Node) -> Any:
        """Return the record of sums over a node."""
        return self.sums.record(node)

    def is_pure(self, node: Node) -> bool:
        """Whether all counted samples of a node belong to one cluster."""
        return self.sums.is_pure(node)

    def grouped(
        self, nodes: Sequence[Node], columns: Sequence[CategoryColumn]
    ) -> list[list[GroupedSums]]:
        """Return, for every node and column, the sums by category: one request for all."""
        self.sums.check_groups()
        paths = [node.path for node in nodes]
        n_groups = [column.n_categories + 1 for column in columns]
        held = self.workers.hold((self.tally, paths, n_groups))
        codes = [self._codes_of_category(column) for column in columns]
        arguments = self._above(paths).arguments(held, self.table.parts, self.marks, last=codes)
        counted = self.workers.ask(
            "categories", worker.cells_of_categories, arguments, beside=self.table.parts
        )
        ends = np.cumsum(n_groups)
        return [
            [
                self._grouped(node, cells[end - n : end])
                for n, end in zip(n_groups, ends, strict=True)
            ]
            for node, cells in zip(nodes, counted, strict=True)
        ]

    def _grouped(self, node: Node, cells: Ints) -> GroupedSums:
        return GroupedSums(
            self.tally.n_rows(cells),
            partial(self.sums.group_profiles, cells),
            partial(self.sums.group_sides, node, cells),
        )

    def _codes_of_category(self, column: CategoryColumn) -> list[Any]:
        """Return the codes of a category partition by partition, with the workers."""
        if isinstance(column.codes, list):
            return column.codes
        if column.column not in self._categories:
            dtype = np.min_scalar_type(column.n_categories)
            pieces = self.table.part_of_rows(column.codes, dtype)
            self._categories[column.column] = self.workers.keep(pieces)
        return self._categories[column.column]

    def split_groups(
        self, node: Node, column: CategoryColumn, is_left: Bools, cut: Cut
    ) -> tuple[Node, Node]:
        """Return the two parts of a node, from the categories that go left."""
        codes = self._codes_of_category(column)
        split = worker.Split(worker.side_of_categories, (is_left,))
        return self._parts(node, split, codes, np.ones(len(node.centers), dtype=np.bool_), None)

    def best_cuts(self, nodes: Sequence[Node], rival: float = inf) -> list[Cut | Promise | None]:
        found = self._best_with(nodes, self.min_samples_leaf, rival)
        if searches_empty_sides(self.objective, self.min_samples_leaf):
            again = [i for i, cut in enumerate(found) if cut is None]
            for i, cut in zip(
                again, self._best_with([nodes[i] for i in again], 0, rival), strict=True
            ):
                found[i] = cut
        return found

    def _best_with(
        self, nodes: Sequence[Node], min_samples: int, rival: float
    ) -> list[Cut | Promise | None]:
        places = [i for i, node in enumerate(nodes) if self._n_members(node) > 1]
        chosen = [nodes[i] for i in places]
        self._count(chosen)
        found: list[Cut | Promise | None] = [None] * len(nodes)
        searches = [self._search(node, min_samples) for node in chosen]
        self._refine(searches, rival)
        for i, search in zip(places, searches, strict=True):
            found[i] = search.promise or search.cut()
        return found

    def _search(self, node: Node, min_samples: int) -> NodeSearch:
        scorer = Scorer(self.objective, self.sums, node, min_samples, self.geometry.shift)
        return NodeSearch(scorer, self.table, self.geometry, self.codes)

    def _n_members(self, node: Node) -> int:
        return self.size(node) + len(node.centers)

    def _count(self, nodes: Sequence[Node]) -> None:
        """Count the histograms of the nodes; of siblings only the smaller, the other is what remains."""
        missing = sorted((node for node in nodes if node.histograms is None), key=self.size)
        rest = None
        if len(missing) == 2 and missing[0].parent is missing[1].parent is not None:
            parent = missing[1].parent
            # Edges between siblings lie in neither: with edges both are counted.
            if parent is not None and parent.histograms is not None and self.edges is None:
                rest = missing.pop()
        if missing:
            columns = self.table.used
            all_columns = len(columns) == len(self.table.low)
            paths = [node.path for node in missing]
            request = (self.tally, None if all_columns else columns, self.geometry.shift, paths)
            above, held = self._above(paths), self.workers.hold(request)
            arguments = above.arguments(held, self.table.parts, self.marks)
            counted = self.workers.ask(
                "histograms", worker.histograms_of, arguments, beside=self.table.parts
            )
            if self.edges is not None:
                self.edges.add_histograms(counted, above, paths, self.geometry.shift)
            for node, histograms in zip(missing, counted, strict=True):
                node.histograms = histograms
        if rest is not None and rest.parent is not None:
            rest.histograms = rest.parent.histograms - missing[0].histograms  # type: ignore[operator]
        for node in nodes:
            if node.parent is not None:
                node.parent.histograms = None
            node.parent = None

    def _totals(self, paths: Sequence[worker.Path]) -> Ints:
        above, held = self._above(paths), self.workers.hold((self.tally, paths))
        arguments = above.arguments(held, self.table.parts, self.marks)
        totals: Ints = self.workers.ask(
            "totals", worker.totals_of, arguments, beside=self.table.parts
        )
        if self.edges is not None:
            self.edges.add_totals(totals, above, paths)
        return totals

    def _above(self, paths: Sequence[worker.Path]) -> Above:
        """Return the splits above some nodes."""
        by_number: dict[int, worker.Split] = {}
        blocks: list[list[Any]] = []
        for number in sorted({number for path in paths for number, _ in path}):
            split, own = self._splits[number]
            if own is not None:
                split = split._replace(block=len(blocks))
                blocks.append(own)
            by_number[number] = split
        return Above(self.workers.hold(worker.Splits(self._name, by_number)), blocks)

    def _refine(self, searches: list[NodeSearch], rival: float) -> None:
        """Look closely, at all nodes in one request, until nothing is left that can win."""
        while True:
            for search in searches:
                others = [other.priority() for other in searches if other is not search]
                search.try_to_promise(min([rival, *others]))
            asked = [search.next_jobs() for search in searches]
            # Mostly the closer look finds a better cut, and the values around the border are not needed.
            borders = [
                None if jobs else search.border()
                for search, jobs in zip(searches, asked, strict=True)
            ]
            if not any(asked) and not any(borders):
                return
            self._look(searches, asked, borders)

    def _look(
        self,
        searches: list[NodeSearch],
        asked: list[list[Job]],
        borders: list[tuple[int, int] | None],
    ) -> None:
        """Send one request, and hand out its answers."""
        nodes = [place for place, each in enumerate(asked) for _ in each]
        jobs = [job for each in asked for job in each]
        first, n_places = number_jobs(jobs)
        groups = groups_of(nodes, jobs, first, self.geometry)
        columns = self.table.used
        wanted = [(i, int(columns[each[0]]), each[1]) for i, each in enumerate(borders) if each]
        paths = [search.node.path for search in searches]
        n_inside = [int(job.bounded.n_inside[job.row, job.bin]) for job in jobs]
        dtype = self.tally.dtype_for(max(n_inside, default=0))
        n_listed = sum(job.pivots is None for job in jobs)
        steps = steps_of(jobs)
        look = Look(self.tally, paths, groups, n_places, n_listed, dtype, steps, wanted)
        above, held = self._above(paths), self.workers.hold(look)
        arguments = above.arguments(held, self.table.parts, self.marks)
        merge = partial(worker.merge_seen, self.tally)
        seen = self.workers.ask(
            "look", worker.look_closely, arguments, merge, beside=self.table.parts
        )
        entries = worker.entries_of(seen.rows, self.tally)
        if self.edges is not None and jobs:
            listed_too = all_numbered(nodes, jobs, first, n_places, entries)
            look = look._replace(groups=groups_of(*listed_too, self.geometry))
            n_all = n_places + len(entries.value)
            found = self.edges.look(look, above, n_all)
            seen.cells[:, :2] += found[:n_places]
            entries.cells[:, :2] += found[n_places:]
        for (i, _, last_code), around in zip(wanted, seen.around.tolist(), strict=True):
            searches[i].learn_border(last_code, *around)
        for i, search in enumerate(searches):
            own = [(job, at) for node, job, at in zip(nodes, jobs, first, strict=True) if node == i]
            search.take(own, seen, entries)


def _shift(n_features: int, width: int) -> int:
    """Return by how much codes are shifted so that the histograms of a node are not too large."""
    shift = 0
    while n_features * (N_CODES >> shift) * width > _MOST_CELLS and shift < 5:
        shift += 1
    return shift


@dataclass(frozen=True)
class DaskEngine:
    """Exact search over partitions of rows by the workers of Dask; only sums travel.

    The current `distributed.Client` is used if there is one, else Dask's own threads. The tree does
    not depend on partitions, workers, or the order in which they finish.

    Parameters
    ----------
    max_bins : int, default=255
        Bins of a feature, 2 to 255. The tree does not depend on it.
    rows_per_partition : int, default=1_000_000
        For tables that are not Dask collections.
    n_jobs : int, optional
        Threads where there is no client; None leaves their number to Dask.
    """

    max_bins: int = MAX_BINS
    rows_per_partition: int = ROWS_PER_PARTITION
    n_jobs: int | None = None

    def bind(self, X: Any, objective: Objective, *, min_samples_leaf: int = 1) -> Search:
        """Return the search for the cuts of one table under one objective."""
        if not 2 <= self.max_bins <= MAX_BINS:
            raise ValueError(f"max_bins={self.max_bins} must be from 2 to {MAX_BINS}.")
        sums = sums_of(objective.graph, objective.trend)
        if sums is None:
            if engine_of(X) == "dask":
                raise ValueError(
                    f"A graph of the type {type(objective.graph).__name__} cannot be searched in partitions; "
                    "pass a table in memory, for example a sample, instead of a Dask collection."
                )
            return NumpyEngine().bind(X, objective, min_samples_leaf=min_samples_leaf)
        table = PartitionedTable.of(
            X,
            max_bins=self.max_bins,
            rows_per_partition=self.rows_per_partition,
            n_jobs=self.n_jobs,
        )
        if not isinstance(table, CodedTable):
            raise ValueError(
                "X holds categories or missing values; fit an estimator to it, which searches their views."
            )
        return DaskSearch(table, objective, sums, min_samples_leaf)
