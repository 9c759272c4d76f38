"""The search for the best cuts on the device: count, bound, and look closely only where a cut can win.

The same steps as in the histogram engine, for siblings at once. The host waits for the device twice a
pair of siblings: for the number of rows to look at closely, and for the cuts.
"""

from collections.abc import Callable, Sequence
from struct import unpack
from typing import Any

import numpy as np

from spexplain.aliases import Bools
from spexplain.engines.base import searches_empty_sides
from spexplain.engines.cupy.formula import formula_in_c
from spexplain.engines.cupy.table import DeviceBins
from spexplain.engines.exhaustive import midpoint
from spexplain.kernels.cuda.records import (
    NOTHING,
    BinJobs,
    BorderSums,
    DeviceCut,
    DeviceNode,
    FeatureBlock,
    ScoredBorders,
)
from spexplain.objectives import Objective
from spexplain.records import Cut, Side

_BYTES_A_PLACE = 150  # of all arrays that a closer look at a row takes
_A_CUT = 10  # numbers that a cut at a border takes: six of its sides, its score, and what makes it


class CupySearch:
    """The cuts of one table under one objective."""

    def __init__(
        self,
        table: DeviceBins,
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

    def root(self) -> DeviceNode:
        n_vertices = self.table.n_vertices
        rows = self.counts.order()
        if rows is None:
            rows = self.kernels.xp.arange(n_vertices, dtype=np.int32)
        extra = self.table.extra
        centers = None if extra is None else np.arange(len(extra))
        return DeviceNode(rows, self.table.n_samples, self.counts.root_side(), centers=centers)

    def size(self, node: DeviceNode) -> int:
        return node.n_samples

    def value(self, node: DeviceNode) -> float:
        return self.objective.leaf_value(node.side)

    def record(self, node: DeviceNode) -> Side:
        """Return the sums over a node."""
        return node.side

    def is_pure(self, node: DeviceNode) -> bool:
        """Whether all counted samples of a node belong to one cluster."""
        return bool(self.counts.has_one_cluster(node.rows))

    def split(self, node: DeviceNode, cut: Cut) -> tuple[DeviceNode, DeviceNode]:
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
            parts.append(DeviceNode(rows, 0, node.side, number, centers, parent=node))
        self._measure(node, parts, known)
        return parts[0], parts[1]

    def _split_centers(self, node: DeviceNode, cut: Cut) -> tuple[Any, Any]:
        if node.centers is None or self.table.extra is None:
            return None, None
        points = self.table.extra[node.centers]
        is_left = goes_left(points, cut.feature, cut.lower, cut.threshold)
        return node.centers[is_left], node.centers[~is_left]

    def _measure(self, node: DeviceNode, parts: list[DeviceNode], known: DeviceCut | None) -> None:
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

    def best_cuts(self, nodes: Sequence[DeviceNode], rival: float = np.inf) -> list[Cut | None]:
        parents = {id(node.parent) for node in nodes if node.parent is not None}
        if len(nodes) == 2 and len(parents) == 1:
            cuts = self._cuts_of(nodes)
        else:
            cuts = [self._cuts_of([node])[0] for node in nodes]
        for node in nodes:
            node.parent = None
        return cuts

    def _cuts_of(self, nodes: Sequence[DeviceNode]) -> list[Cut | None]:
        """Return the best cuts of a node, or of siblings."""
        found = self._best_with(nodes, self.min_samples_leaf)
        if searches_empty_sides(self.objective, self.min_samples_leaf):
            for place, node in enumerate(nodes):
                assert node.centers is not None
                if found[place].score == np.inf and len(node.centers) > 1:
                    found[place] = self._best_with([node], 0)[0]
        return [self._cut(node, best) for node, best in zip(nodes, found, strict=True)]

    def _cut(self, node: DeviceNode, best: DeviceCut) -> Cut | None:
        if best.score == np.inf:
            return None
        priority = float(self.objective.priority(best.score, node.side))
        cut = Cut(best.feature, midpoint(best.low, best.high), best.score, priority)
        node.found = cut, best
        return cut

    def _best_with(self, nodes: Sequence[DeviceNode], min_samples: int) -> list[DeviceCut]:
        found = [NOTHING] * len(nodes)
        wanted = [place for place, node in enumerate(nodes) if len(node.rows) > 1]
        by_size = sorted(wanted, key=lambda place: len(nodes[place].rows))
        if not by_size:
            return found
        # Of siblings, one of which is too small to search, the other is counted on its own.
        batch = [nodes[place] for place in by_size]
        best = [NOTHING] * len(batch)
        for block in self.table.blocks():
            BlockSearch(self, block, batch, min_samples).improve(best)
        for place, each in zip(by_size, best, strict=True):
            found[place] = each
        return found


class BlockSearch:
    """The search for the best cuts of one node, or of siblings, in one block of features."""

    def __init__(
        self, search: Any, block: FeatureBlock, nodes: list[DeviceNode], min_samples: int
    ) -> None:
        self.search, self.block, self.nodes = search, block, nodes
        self.kernels, self.counts = search.kernels, search.counts
        self.objective, self.min_samples = search.objective, min_samples
        self.formula = formula_in_c(search.objective.score)
        self.rows = [node.rows for node in nodes]
        keep = search.table.is_single
        self.counters = search.counters
        self.is_clear = False
        self.borders: BorderSums = self.counts.borders(nodes, block, self.counters, keep=keep)

    def improve(self, best: list[DeviceCut]) -> None:
        """Replace the best cuts so far by better ones of this block."""
        if self.objective.trend is None:
            self._look_at_all(best)
            return
        scored, everywhere = self._score(self.objective.trend), (0, self.block.n_features)
        skipped = [False] * len(self.nodes)
        jobs, counted = self._select(scored, everywhere, best, skipped)
        pure = self._pure(counted)
        if any(pure):
            self._take_first(best, pure)
            if all(pure):
                return
            skipped = pure
            jobs, counted = self._select(scored, everywhere, best, skipped)
        parts = scored.parts
        del scored  # device memory is short: the bounds have said what they know
        self._sweep(jobs, counted, best, parts, skipped)

    def _score(self, trend: Side) -> ScoredBorders:
        """Score the cuts at all borders and bound those in between, as many features at a time as fit."""
        kernels, xp, fields = self.kernels, self.kernels.xp, self.borders.fields
        self.is_clear = True  # what the kernels do beside
        if self.formula is not None:
            scored: ScoredBorders = kernels.score_borders(
                self.borders, self.formula, trend, self.min_samples, self.counters
            )
            return scored
        n, (_, d, n_borders) = len(fields), fields[0].shape
        n_numbers = (2 if self.borders.moves is None else 3) * n * n_borders * _A_CUT
        n_parts = min(d, -(-8 * n_numbers * d // self.search.work))
        width = -(-d // n_parts)
        totals = xp.empty((3, n, 1, 1), dtype=np.int64)  # inner, volume and size of the nodes
        scored = ScoredBorders(
            xp.empty((n, -(-d // width) * kernels.n_picks, 3), dtype=np.int64),
            xp.empty((n, d, n_borders)),
        )
        for part, start in enumerate(range(0, d, width)):
            features = start, min(start + width, d)
            sides = kernels.make_sides(self.borders, trend, features, totals)
            whole = [each[:, slice(*features)] for each in fields] if self.counts.is_wide else None
            scores = border_scores(xp, self.objective, sides, totals, whole)
            del sides
            kernels.pick_borders(
                scores, fields, features, self.min_samples, scored, part, self.counters
            )
            del scores
        return scored

    def _pure(self, counted: list[int]) -> list[bool]:
        """Return which nodes have samples of a single cluster, where that makes all cuts equal."""
        if not self.objective.flat_if_pure:
            return [False] * len(self.nodes)
        return [self.counts.is_pure(counted[4 + place]) for place in range(len(self.nodes))]

    def _select(
        self,
        scored: ScoredBorders | None,
        features: tuple[int, int],
        best: list[DeviceCut],
        skipped: Sequence[bool],
    ) -> tuple[BinJobs, list[int]]:
        """Return the bins to look at closely; how many there are, their rows, and the most of one."""
        prior = self.search.no_prior[:, : len(best)]
        if any(skipped) or any(found.score < np.inf for found in best):
            limits = [(found.score, found.feature - self.block.first) for found in best]
            limits = [(-np.inf, 0) if s else each for each, s in zip(limits, skipped, strict=True)]
            prior = self.kernels.xp.asarray(np.array(limits, dtype=np.float64).T.copy())
        if not self.is_clear:
            self.counters[:4] = 0
        self.is_clear = False
        jobs = self.kernels.select_bins(
            scored, self.borders.fields, self.block.solid, prior, features, self.min_samples,
            self.search.n_places, self.counters,
        )  # fmt: skip
        counted = self.kernels.fetch(self.counters).tolist()
        entries, n_portions = jobs.entries[: counted[0]], -(-counted[1] // self.search.n_places)
        if n_portions > 1:
            entries = entries.copy()  # memory is short: the room for more of them is given back
        return jobs._replace(entries=entries, n_portions=n_portions), counted

    def _sweep(
        self,
        jobs: BinJobs,
        counted: list[int],
        best: list[DeviceCut],
        border_parts: Any,
        skipped: Sequence[bool],
        *,
        first_wins: bool = False,
    ) -> None:
        """Sort and sweep the selected bins, and take the best cuts of these and of the borders."""
        kernels, fields, records = self.kernels, self.borders.fields, None
        _, n_places, longest = counted[:3]
        for portion in range(jobs.n_portions):
            # The last job that starts in a portion may end behind it.
            n_left = n_places - portion * self.search.n_places
            n_here = min(self.search.n_places + longest - 1, n_left)
            places = kernels.gather_jobs(self.block, self.rows, jobs, portion, n_here)
            kernels.sort_jobs(jobs, portion, longest, places)
            gaps, valid = self.counts.gaps(
                self.nodes, self.block, self.borders, jobs, portion, places, self.min_samples
            )
            head = valid, places, jobs, fields
            if self.formula is not None:
                scores, parts = kernels.score_gaps(self.formula, gaps, *head, first_wins=first_wins)
            else:
                scores = gap_scores(kernels.xp, self.objective, gaps)
                parts = kernels.pick_gaps(scores, *head, first_wins=first_wins)
            found = parts, scores, gaps, jobs, places
            of_borders = border_parts if records is None else None
            records = kernels.improve(records, fields, of_borders, found)
            del gaps, valid, scores, parts, found, places, head
        if records is None and border_parts is not None:
            records = kernels.improve(None, fields, border_parts, None)
        if records is None:
            return
        if border_parts is not None:
            kernels.find_around(self.block, self.rows, records)
        for place, (record, node) in enumerate(
            zip(kernels.fetch(records), self.nodes, strict=True)
        ):
            if not skipped[place]:
                best[place] = min(best[place], self._found(record, node), key=_order)

    def _found(self, record: Any, node: DeviceNode) -> DeviceCut:
        """Return the cut that a record describes."""
        score = float(record[:1].view(np.float64)[0])
        if not score < np.inf:
            return NOTHING
        joined, rest, volume, size = record[4:8]
        feature, _, n_left, *_, samples, low, high, _ = record[1:].tolist()
        left = Side(joined, volume, size)
        right = Side(rest, node.side.volume - volume, node.side.size - size)
        ends = _value_of(low), _value_of(high)
        return DeviceCut(score, self.block.first + feature, n_left, *ends, samples, left, right)

    def _look_at_all(self, best: list[DeviceCut]) -> None:
        """Sweep all features: nothing is known of the formula."""
        jobs, counted = self._select(None, (0, 0), best, [False] * len(best))
        pure = self._pure(counted)
        if any(pure):
            self._take_first(best, pure)
        n_rows = sum(len(rows) for rows in self.rows)
        width = max(1, self.search.n_places // n_rows)
        nothing_yet = [NOTHING] * len(best)
        for start in range(0, self.block.n_features, width):
            features = start, min(start + width, self.block.n_features)
            jobs, counted = self._select(None, features, nothing_yet, pure)
            self._sweep(jobs, counted, best, None, pure)

    def _take_first(self, best: list[DeviceCut], pure: Sequence[bool]) -> None:
        """Find the first admissible cut of the nodes in which all cuts tie."""
        for place in range(len(self.nodes)):
            if not pure[place] or best[place].score < np.inf:
                continue
            others = [each != place for each in range(len(self.nodes))]
            nothing_yet = [NOTHING] * len(best)
            start, width = 0, 1
            most = max(1, self.search.n_places // len(self.rows[place]))
            while start < self.block.n_features and best[place].score == np.inf:
                features = start, min(start + width, self.block.n_features)
                jobs, counted = self._select(None, features, nothing_yet, others)
                self._sweep(jobs, counted, best, None, others, first_wins=True)
                start, width = features[1], min(4 * width, most)


def _order(found: DeviceCut) -> tuple[float, int, int]:
    """Return what equal scores are resolved by."""
    return found.score, found.feature, found.n_left


def _value_of(key: int) -> float:
    """Return the number that an ordered integer stands for; the inverse of ``key_of``."""
    # As a signed number: those of positive numbers have lost their highest bit.
    bits = key & (2**63 - 1) if key < 0 else ~key & (2**64 - 1)
    return float(unpack("<d", bits.to_bytes(8, "little"))[0])


def goes_left(points: Any, feature: int, lower: float, threshold: float) -> Bools:
    """Return which points a cut sends to the left."""
    x = points[:, feature].astype(np.float64)
    return np.asarray((lower < x) & (x <= threshold))


def border_scores(
    xp: Any, objective: Objective, sides: Any, totals: Any, fields: list[Any] | None = None
) -> Any:
    """Return the scores of cuts at borders and at their best in between, one row a variant.

    Sides come as doubles where bounds need fractions; where their sums exceed what doubles hold, the cuts
    at borders are scored from the `fields` of the same features, which are integers.
    """
    node = Side(*totals)
    scores = _scores(xp, objective, Side(*sides[:3]), Side(*sides[3:]), node)
    if fields is not None and sides.dtype == np.float64:
        joined, rest, volume, size = xp.stack([each[:4] for each in fields], axis=1)
        right = Side(rest, node.volume - volume, node.size - size)
        scores[0] = _scores(xp, objective, Side(joined, volume, size), right, node)
    return scores


def gap_scores(xp: Any, objective: Objective, gaps: Any) -> Any:
    """Return the scores of the cuts at all gaps."""
    return _scores(xp, objective, Side(*gaps[:3]), Side(*gaps[3:6]), Side(*gaps[6:9]))


def _scores(xp: Any, objective: Objective, left: Side, right: Side, node: Side) -> Any:
    """Return the formula's value for cuts of one or two nodes."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        try:
            scores = objective.score(left, right, node)
        except (TypeError, ValueError):
            # The formula wants plain numbers for the node.
            scores = _one_by_one(xp, objective.score, left, right, node)
    if scores.shape != left.volume.shape:
        scores = xp.broadcast_to(scores, left.volume.shape)
    return xp.ascontiguousarray(scores, dtype=np.float64)


def _one_by_one(
    xp: Any, score: Callable[[Side, Side, Side], Any], left: Side, right: Side, node: Side
) -> Any:
    """Return the scores with every distinct node given as plain numbers, where its cuts are."""
    shape = left.volume.shape
    sums = [xp.broadcast_to(field, shape) for field in node]
    scores = xp.full(shape, np.nan)
    still_open = xp.ones(shape, dtype=bool)
    while bool(still_open.any()):
        place = int(still_open.ravel().argmax())
        numbers = [int(field.ravel()[place]) for field in sums]
        here = still_open
        for field, number in zip(sums, numbers, strict=True):
            here = here & (field == number)
        values = score(left, right, Side(*map(np.int64, numbers)))
        scores = xp.where(here, values, scores)
        still_open = still_open & ~here
    return scores
