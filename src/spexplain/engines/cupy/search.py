"""The search for the best cuts on the device: count, bound, and look closely only where a cut can win.

The same steps as in the histogram engine, for siblings at once. The host waits for the device twice a
pair of siblings: for the number of rows to look at closely, and for the cuts.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spexplain.engines.cupy.counts import goes_left
from spexplain.engines.cupy.step import Step
from spexplain.engines.cupy.table import DeviceTable
from spexplain.engines.exhaustive import midpoint
from spexplain.kernels.cuda.records import NOTHING, Found, Node
from spexplain.objectives import Objective
from spexplain.records import Cut, Side

_BYTES_A_PLACE = 150  # of all arrays that a closer look at a row takes


class CupySearch:
    """The cuts of one table under one objective."""

    def __init__(
        self,
        table: DeviceTable,
        objective: Objective,
        counts: Any,
        min_samples_leaf: int,
        work: int,
    ) -> None:
        self.table, self.objective, self.counts = table, objective, counts
        self.kernels = table.kernels
        self.n_features = table.n_features
        self.min_samples_leaf = min_samples_leaf
        self.work = work  # bytes of the arrays of one step
        self.n_places = work // _BYTES_A_PLACE  # rows that are looked at closely at a time
        xp = self.kernels.xp
        self.counters = xp.zeros(6, dtype=np.int64)
        self.no_prior = xp.full((2, 2), np.inf)
        self._n_parts = 1

    def root(self) -> Node:
        n_vertices = self.table.n_vertices
        rows = self.counts.order()
        if rows is None:
            rows = self.kernels.xp.arange(n_vertices, dtype=np.int32)
        extra = self.table.extra
        centers = None if extra is None else np.arange(len(extra))
        return Node(rows, self.table.n_samples, self.counts.root_side(), centers=centers)

    def size(self, node: Node) -> int:
        return node.n_samples

    def value(self, node: Node) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(self.objective.value(node.side))
        # Nothing to cut (isolated vertices only): such a leaf adds nothing.
        return 0.0 if np.isnan(value) else value

    def split(self, node: Node, cut: Cut) -> tuple[Node, Node]:
        block, feature = self.table.column(cut.feature)
        numbers = self._n_parts, self._n_parts + 1
        self._n_parts += 2
        n_rows = len(node.rows)
        known = node.found[1] if node.found is not None and node.found[0] == cut else None
        room = (n_rows, n_rows) if known is None else (known.n_left, n_rows - known.n_left)
        part_of = self.counts.part_of if self.counts.needs_parts else None
        left, right, counted = self.kernels.split_rows(
            block, node.rows, feature, (cut.lower, cut.threshold), room, part_of, numbers
        )
        if known is None:
            n_left, n_right = self.kernels.fetch(counted).tolist()
            left, right = left[:n_left], right[:n_right]
        parts = []
        for rows, number, centers in zip(
            (left, right), numbers, self._split_centers(node, cut), strict=True
        ):
            parts.append(Node(rows, 0, node.side, number, centers, parent=node))
        self._measure(node, parts, known)
        return parts[0], parts[1]

    def _split_centers(self, node: Node, cut: Cut) -> tuple[Any, Any]:
        if node.centers is None or self.table.extra is None:
            return None, None
        points = self.table.extra[node.centers]
        is_left = goes_left(points, cut.feature, cut.lower, cut.threshold)
        return node.centers[is_left], node.centers[~is_left]

    def _measure(self, node: Node, parts: list[Node], known: Found | None) -> None:
        """Set the sums of both parts: known from the search, or counted now."""
        if known is not None:
            samples = known.samples_left, node.n_samples - known.samples_left
            sides = known.left, known.right
        else:
            block = next(iter(self.table.blocks())).narrowed(1)
            ends = []
            for part in parts:
                borders = self.counts.borders([part], block, self.counters, keep=False)
                sums = self.kernels.fetch(borders.fields[0][:, 0, -1])
                ends.append(sums.astype(np.int64))
            samples = int(ends[0][-1]), int(ends[1][-1])
            left, right = (Side(end[0], end[2], end[3]) for end in ends)
            sides = left, right
        for part, n_samples, side in zip(parts, samples, sides, strict=True):
            part.n_samples = n_samples
            part.side = self.counts.child_side(side, part.centers)

    def best_cuts(self, nodes: Sequence[Node], rival: float = np.inf) -> list[Cut | None]:
        parents = {id(node.parent) for node in nodes if node.parent is not None}
        if len(nodes) == 2 and len(parents) == 1:
            cuts = self._cuts_of(nodes)
        else:
            cuts = [self._cuts_of([node])[0] for node in nodes]
        for node in nodes:
            node.parent = None
        return cuts

    def _cuts_of(self, nodes: Sequence[Node]) -> list[Cut | None]:
        """Return the best cuts of a node, or of siblings."""
        found = self._best_with(nodes, self.min_samples_leaf)
        if self.min_samples_leaf == 1:
            for place, node in enumerate(nodes):
                n_centers = 0 if node.centers is None else len(node.centers)
                if found[place].score == np.inf and n_centers > 1:
                    # Centres without samples between them: part the centres all the same.
                    found[place] = self._best_with([node], 0)[0]
        return [self._cut(node, best) for node, best in zip(nodes, found, strict=True)]

    def _cut(self, node: Node, best: Found) -> Cut | None:
        if best.score == np.inf:
            return None
        priority = float(self.objective.priority(best.score, node.side))
        cut = Cut(best.feature, midpoint(best.low, best.high), best.score, priority)
        node.found = cut, best
        return cut

    def _best_with(self, nodes: Sequence[Node], min_samples: int) -> list[Found]:
        found = [NOTHING] * len(nodes)
        wanted = [place for place, node in enumerate(nodes) if len(node.rows) > 1]
        by_size = sorted(wanted, key=lambda place: len(nodes[place].rows))
        if not by_size:
            return found
        # Of siblings, one of which is too small to search, the other is counted on its own.
        batch = [nodes[place] for place in by_size]
        best = [NOTHING] * len(batch)
        for block in self.table.blocks():
            Step(self, block, batch, min_samples).improve(best)
        for place, each in zip(by_size, best, strict=True):
            found[place] = each
        return found
