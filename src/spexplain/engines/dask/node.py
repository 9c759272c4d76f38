"""The search for the best cut of one node."""

from math import inf

import numpy as np

from spexplain.aliases import Ints
from spexplain.engines.dask.bounds import Scorer
from spexplain.engines.dask.looks import Entries, Seen
from spexplain.engines.dask.records import NOTHING, Bounded, Job, Segments
from spexplain.engines.dask.refinement import (
    N_PLACES,
    Asked,
    Geometry,
    listed,
    look_bytes,
    make_job,
    row_bytes,
    zoomed,
)
from spexplain.engines.dask.slopes import ruler_of
from spexplain.engines.exhaustive import midpoint
from spexplain.records import Cut, Promise
from spexplain.table.partition_coding import N_CODES
from spexplain.table.partitioned import DaskTable

_MOST_ASKED = 1 << 21  # numbers in the answer to one closer look at a node
_FEW = (
    1 / 8
)  # bytes of rows, per byte of the node's histograms, that are sent without a look at finer bins
_MARGIN = 1e-10  # relative; far above what is rounded away from priorities


class NodeSearch:
    """The best cut of one node so far, and the bins that can hold a better one."""

    def __init__(self, scorer: Scorer, table: DaskTable, geometry: Geometry, codes: Ints) -> None:
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
        priority = float(objective.priority(score, self.scorer.record))
        # The builder compares priorities without their last digits.
        priority -= _MARGIN * (abs(score) + abs(priority))
        if priority > rival:
            self.promise = Promise(priority)

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
        return self._with_rulers(jobs[:n_jobs])

    def _most_listed(self, n_rows: int) -> int:
        """Return how many rows an interval may have to be sent as they are, of so many rows in all."""
        each = row_bytes(self.tally)
        assert self.node.histograms is not None
        # One look less is worth a few bytes more. Else whatever is less.
        if n_rows * each <= _FEW * self.node.histograms.nbytes:
            return n_rows
        return look_bytes(self.tally) // each

    def _with_rulers(self, jobs: list[Job]) -> list[Job]:
        """Return the jobs with what rises are measured with."""
        return [job if job.pivots is None else self._with_ruler(job) for job in jobs]

    def _with_ruler(self, job: Job) -> Job:
        at = np.array([job.row]), np.array([job.bin])
        falls = self.scorer.falls(job.bounded.segments, *at)
        if falls is None:
            return job
        n_rows = int(job.bounded.n_inside[job.row, job.bin])
        return job._replace(ruler=ruler_of(falls.steps[0], n_rows))

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
            asked = Asked(self.node, [job for job, _ in chosen], [at for _, at in chosen])
            if is_list:
                self._add(listed(asked, entries, tally, geometry))
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
