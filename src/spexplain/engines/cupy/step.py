"""The best cuts of one node, or of siblings, in one block of features."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spexplain.engines.cupy.formulas import border_scores, gap_scores
from spexplain.kernels.cuda.records import NOTHING, Block, Borders, Found, Jobs, Node, Scored
from spexplain.records import Side

_A_CUT = 10  # numbers that a cut at a border takes: six of its sides, its score, and what makes it


class Step:
    """The search for the best cuts of one node, or of siblings, in one block of features."""

    def __init__(self, search: Any, block: Block, nodes: list[Node], min_samples: int) -> None:
        self.search, self.block, self.nodes = search, block, nodes
        self.kernels, self.counts = search.kernels, search.counts
        self.objective, self.min_samples = search.objective, min_samples
        self.rows = [node.rows for node in nodes]
        keep = search.table.is_single
        self.counters = search.counters
        self.is_clear = False
        self.borders: Borders = self.counts.borders(nodes, block, self.counters, keep=keep)

    def improve(self, best: list[Found]) -> None:
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

    def _score(self, trend: Side) -> Scored:
        """Score the cuts at all borders and bound those in between, as many features at a time as fit."""
        kernels, xp, fields = self.kernels, self.kernels.xp, self.borders.fields
        n, (_, d, n_borders) = len(fields), fields[0].shape
        n_numbers = (2 if self.borders.moves is None else 3) * n * n_borders * _A_CUT
        n_parts = min(d, -(-8 * n_numbers * d // self.search.work))
        width = -(-d // n_parts)
        scored = Scored(
            xp.empty((3, n, 1, 1), dtype=np.int64),
            xp.empty((n, -(-d // width) * kernels.n_picks, 3), dtype=np.int64),
            xp.empty((n, d, n_borders)),
        )
        for part, start in enumerate(range(0, d, width)):
            features = start, min(start + width, d)
            sides = kernels.make_sides(self.borders, trend, features, scored.totals)
            whole = [each[:, slice(*features)] for each in fields] if self.counts.is_wide else None
            scores = border_scores(xp, self.objective, sides, scored.totals, whole)
            del sides
            kernels.pick_borders(
                scores, fields, features, self.min_samples, scored, part, self.counters
            )
            del scores
        self.is_clear = True  # what the kernel has done beside
        return scored

    def _pure(self, counted: list[int]) -> list[bool]:
        """Return which nodes have samples of a single cluster, where that makes all cuts equal."""
        if not self.objective.flat_if_pure:
            return [False] * len(self.nodes)
        return [self.counts.is_pure(counted[4 + place]) for place in range(len(self.nodes))]

    def _select(
        self,
        scored: Scored | None,
        features: tuple[int, int],
        best: list[Found],
        skipped: Sequence[bool],
    ) -> tuple[Jobs, list[int]]:
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
        jobs: Jobs,
        counted: list[int],
        best: list[Found],
        border_parts: Any,
        skipped: Sequence[bool],
        *,
        first_wins: bool = False,
    ) -> None:
        """Sort and sweep the selected bins, and take the best cuts of these and of the borders."""
        kernels, fields, records = self.kernels, self.borders.fields, None
        n_jobs, n_places, longest = counted[:3]
        taken = kernels.xp.zeros(n_jobs, dtype=np.int32)
        for portion in range(jobs.n_portions):
            # The last job that starts in a portion may end behind it.
            n_left = n_places - portion * self.search.n_places
            n_here = min(self.search.n_places + longest - 1, n_left)
            places = kernels.gather_jobs(self.block, self.rows, jobs, portion, taken, n_here)
            kernels.sort_jobs(jobs, portion, longest, places)
            gaps, valid = self.counts.gaps(
                self.nodes, self.block, self.borders, jobs, portion, places, self.min_samples
            )
            scores = gap_scores(kernels.xp, self.objective, gaps)
            parts = kernels.pick_gaps(scores, valid, places, jobs, fields, first_wins=first_wins)
            found = parts, scores, gaps, jobs, places
            of_borders = border_parts if records is None else None
            records = kernels.improve(records, fields, of_borders, found)
            del gaps, valid, scores, parts, found, places
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

    def _found(self, record: Any, node: Node) -> Found:
        """Return the cut that a record describes."""
        score = float(record[:1].view(np.float64)[0])
        if not score < np.inf:
            return NOTHING
        _, feature, _, n_left, joined, rest, volume, size, samples = record[:9]
        low, high = (_value_of(int(key)) for key in record[9:11])
        left = Side(joined, volume, size)
        right = Side(rest, node.side.volume - volume, node.side.size - size)
        feature = self.block.first + int(feature)
        return Found(score, feature, int(n_left), low, high, int(samples), left, right)

    def _look_at_all(self, best: list[Found]) -> None:
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

    def _take_first(self, best: list[Found], pure: Sequence[bool]) -> None:
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


def _order(found: Found) -> tuple[float, int, int]:
    """Return what equal scores are resolved by."""
    return found.score, found.feature, found.n_left


def _value_of(key: int) -> float:
    """Return the number that an ordered integer stands for; the inverse of ``key_of``."""
    key &= 2**64 - 1
    bits = key & (2**63 - 1) if key >> 63 else ~key & (2**64 - 1)
    return float(np.array([bits], dtype=np.uint64).view(np.float64)[0])
