"""The search for the best cuts over partitions: histograms, bounds, and a closer look where a cut can win."""

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import Any

import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.engines.dask.bounds import Scorer
from spexplain.engines.dask.edges import EdgeSums
from spexplain.engines.dask.looks import Look, entries_of, look_closely, merge_seen
from spexplain.engines.dask.node import NodeSearch
from spexplain.engines.dask.records import Found, Job, Node
from spexplain.engines.dask.refinement import (
    Geometry,
    all_numbered,
    groups_of,
    number_jobs,
    steps_of,
)
from spexplain.engines.dask.sums import Sums
from spexplain.objectives import Objective
from spexplain.records import Cut, Promise
from spexplain.table import partition_tasks as parts
from spexplain.table.partition_coding import N_CODES
from spexplain.table.partitioned import DaskTable

_MOST_CELLS = 1 << 22  # numbers in the histograms of one node, beyond which bins are joined


class DaskSearch:
    """The cuts of one table under one objective."""

    def __init__(
        self, table: DaskTable, objective: Objective, sums: Sums, min_samples_leaf: int
    ) -> None:
        self.table, self.objective, self.sums = table, objective, sums
        self.workers, self.tally = table.workers, sums.tally
        self.n_samples, self.n_features = table.shape
        self.min_samples_leaf = min_samples_leaf
        extra = objective.graph.extra
        points = np.empty((0, self.n_features)) if extra is None else extra.astype(np.float64)
        self.has_extra = extra is not None
        self.marks = sums.marks(table)
        self.edges: EdgeSums | None = sums if isinstance(sums, EdgeSums) else None
        self.geometry = Geometry(
            table.columns, _shift(self.n_features, self.tally.width), table.sample, points
        )
        self.codes = self._codes_of(points)
        self.sides: dict[int, list[Any]] = {}  # of every split, partition by partition
        self._kept: set[int] = set()  # splits whose sides stay with the workers

    def _codes_of(self, points: Floats) -> Ints:
        """Return the bins of the extra vertices, shape (n_features, n_extra)."""
        whole = np.zeros((len(points), len(self.table.low)))
        whole[:, self.table.columns] = points
        codes = self.table.codes_of(whole)[:, self.table.columns].T
        return codes.astype(np.int64) >> self.geometry.shift

    def root(self) -> Node:
        node = Node((), self._totals([()])[0], np.arange(len(self.geometry.points)))
        self.sums.record(node)
        return node

    def size(self, node: Node) -> int:
        return int(self.tally.n_rows(node.totals))

    def value(self, node: Node) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(self.objective.value(self.sums.record(node)))
        # Nothing to cut (isolated vertices only): such a leaf adds nothing.
        return 0.0 if np.isnan(value) else value

    def split(self, node: Node, cut: Cut) -> tuple[Node, Node]:
        number, column = len(self.sides), int(self.table.columns[cut.feature])
        known = node.found[1] if node.found is not None and node.found[0] == cut else None
        if known is not None and known.last_code >= 0:
            coded = [(part, column, known.last_code) for part in self.table.parts]
            tasks = self.workers.tasks("sides", parts.side_of_codes, coded)
        else:
            blocks, places = self.table.read([column])
            read = [(block, places[column], cut) for block in blocks]
            tasks = self.workers.tasks("sides", parts.side_of, read)
        self.sides[number] = tasks
        values = self.geometry.points[node.centers, cut.feature]
        is_left = (cut.lower < values) & (values <= cut.threshold)
        paths = [(*node.path, (number, side)) for side in (True, False)]
        left, right = self._totals_of_parts(node, paths, known)
        return (
            Node(paths[0], left, node.centers[is_left], node),
            Node(paths[1], right, node.centers[~is_left], node),
        )

    def _totals_of_parts(
        self, node: Node, paths: Sequence[parts.Path], known: Found | None
    ) -> tuple[Ints, Ints]:
        """Return the cells of both parts of a node: from the search if it found the cut, else counted."""
        if self.edges is not None:
            both = self._totals(paths)
            return both[0], both[1]
        left = self._totals(paths[:1])[0] if known is None else known.left
        return left, node.totals - left

    def best_cuts(self, nodes: Sequence[Node], rival: float = inf) -> list[Cut | Promise | None]:
        found = self._best_with(nodes, self.min_samples_leaf, rival)
        if self.has_extra and self.min_samples_leaf == 1:
            again = [i for i, cut in enumerate(found) if cut is None]
            # Centres without samples between them: part the centres all the same.
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
            columns = self.table.columns
            all_columns = len(columns) == len(self.table.low)
            paths = [node.path for node in missing]
            request = (self.tally, None if all_columns else columns, self.geometry.shift, paths)
            sides, held = self._sides(paths), self.workers.hold(request)
            arguments = [
                (*each, held) for each in zip(self.table.parts, self.marks, sides, strict=True)
            ]
            counted = self.workers.ask(
                "histograms", parts.histograms_of, arguments, beside=self.table.parts
            )
            if self.edges is not None:
                self.edges.add_histograms(counted, sides, paths, self.geometry.shift)
            for node, histograms in zip(missing, counted, strict=True):
                node.histograms = histograms
        if rest is not None and rest.parent is not None:
            rest.histograms = rest.parent.histograms - missing[0].histograms  # type: ignore[operator]
        for node in nodes:
            if node.parent is not None:
                node.parent.histograms = None
            node.parent = None

    def _totals(self, paths: Sequence[parts.Path]) -> Ints:
        sides, held = self._sides(paths), self.workers.hold((self.tally, paths))
        arguments = [
            (*each, held) for each in zip(self.table.parts, self.marks, sides, strict=True)
        ]
        totals: Ints = self.workers.ask(
            "totals", parts.totals_of, arguments, beside=self.table.parts
        )
        if self.edges is not None:
            self.edges.add_totals(totals, sides, paths)
        return totals

    def _sides(self, paths: Sequence[parts.Path]) -> list[dict[int, Any]]:
        """Return the sides of all splits above some nodes, for every partition."""
        splits = sorted({split for path in paths for split, _ in path})
        for split in splits:
            # Not before they are needed: the parts of the last split are never looked at.
            if split not in self._kept:
                self.sides[split] = self.workers.keep(self.sides[split])
                self._kept.add(split)
        return [
            {split: self.sides[split][place] for split in splits}
            for place in range(len(self.table.parts))
        ]

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
        columns = self.table.columns
        wanted = [(i, int(columns[each[0]]), each[1]) for i, each in enumerate(borders) if each]
        used = sorted({group.feature for group in groups} | {column for _, column, _ in wanted})
        blocks, places = self.table.read(used)
        paths = [search.node.path for search in searches]
        n_inside = [int(job.bounded.n_inside[job.row, job.bin]) for job in jobs]
        dtype = self.tally.dtype_for(max(n_inside, default=0))
        n_listed = sum(job.pivots is None for job in jobs)
        steps = steps_of(jobs)
        look = Look(self.tally, paths, groups, n_places, n_listed, dtype, steps, wanted, places)
        sides, held = self._sides(paths), self.workers.hold(look)
        arguments = [
            (*each, held) for each in zip(self.table.parts, self.marks, blocks, sides, strict=True)
        ]
        merge = partial(merge_seen, self.tally)
        seen = self.workers.ask("look", look_closely, arguments, merge, beside=self.table.parts)
        entries = entries_of(seen.rows, self.tally)
        if self.edges is not None and jobs:
            listed_too = all_numbered(nodes, jobs, first, n_places, entries)
            look = look._replace(groups=groups_of(*listed_too, self.geometry))
            n_all = n_places + len(entries.value)
            found = self.edges.look(look, blocks, sides, n_all)
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
