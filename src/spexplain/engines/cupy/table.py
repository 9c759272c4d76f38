"""The table on the device, in bins: kept there as a whole, or feature by feature where memory is short."""

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from spexplain.aliases import Array, Floats
from spexplain.kernels.cuda.records import CELLS, LANES, BinEdges, FeatureBlock

_N_SAMPLE = 4096  # rows whose quantiles are taken
_N_EDGES = 255  # as many as eight halvings can distinguish
_LEAST_WORK = 1 << 27  # bytes of work arrays that are never worth saving
_WORK_SHARE = 0.2  # of the table, that work arrays may take beyond that


class DeviceBins:
    """A table and its bins.

    Parameters
    ----------
    kernels : Kernels
        What runs on the device.
    X : array of shape (n_samples, n_features)
        On the device or, if it is `streamed`, anywhere.
    extra : array of float64, shape (n_extra, n_features), or None
        Further vertices, on the host.
    n_bins : int
        Bins of a feature.
    work : int
        Bytes that the arrays of a search take for each feature.
    memory : int
        Bytes that codes and work arrays may take in all.
    """

    def __init__(
        self, kernels: Any, X: Any, extra: Floats | None, n_bins: int, work: int, memory: int
    ) -> None:
        self.kernels, self.X, self.n_bins = kernels, X, n_bins
        self.n_samples, self.n_features = X.shape
        self.extra = extra
        self.n_vertices = self.n_samples + (0 if extra is None else len(extra))
        xp = kernels.xp
        self.is_resident = isinstance(X, xp.ndarray)
        self._extra = None if extra is None else xp.asarray(extra)
        self._sample = xp.asarray(_sample(self.n_samples))
        self._bins: dict[int, BinEdges] = {}
        n_groups = -(-self.n_features // LANES)
        codes = n_groups * LANES * self.n_vertices
        self._keeps_codes = self.is_resident and codes + LANES * work <= memory
        per_feature = work
        if self._keeps_codes:
            memory = min(memory - codes, max(_LEAST_WORK, int(_WORK_SHARE * X.nbytes)))
        else:
            per_feature += self.n_vertices
            per_feature += 0 if self.is_resident else self.n_samples * X.dtype.itemsize
        width = max(1, memory // (per_feature * LANES)) * LANES
        self.ranges = [
            (first, min(first + width, self.n_features))
            for first in range(0, self.n_features, width)
        ]
        self._kept: list[FeatureBlock] | None = None
        if self._keeps_codes:
            self._kept = self._code_all(n_groups)
        elif len(self.ranges) > 1 or not self.is_resident:
            warnings.warn(
                f"Device memory does not hold the table and its bins: features are streamed, {width} at "
                "a time, which takes longer.",
                stacklevel=2,
            )

    @property
    def is_single(self) -> bool:
        """Whether all features are searched at once, so that histograms can be kept."""
        return self._kept is not None and len(self.ranges) == 1

    def blocks(self) -> Iterator[FeatureBlock]:
        """Yield the features block by block, in order."""
        if self._kept is not None:
            yield from self._kept
            return
        for first, last in self.ranges:
            yield self._block(first, last)

    def column(self, feature: int) -> tuple[FeatureBlock, int]:
        """Return a block that knows the values of a feature, and the feature's number in it."""
        if self.is_resident:
            return FeatureBlock(0, self.X, self._extra, None, None), feature
        part = slice(feature, feature + 1)
        extra = None if self._extra is None else self._extra[:, part]
        return FeatureBlock(feature, self.kernels.xp.asarray(self.X[:, part]), extra, None, None), 0

    def _code_all(self, n_groups: int) -> list[FeatureBlock]:
        whole = self._block(0, self.n_features)
        if len(self.ranges) == 1:
            return [whole]
        blocks = []
        for first, last in self.ranges:
            groups = slice(first // LANES, -(-last // LANES))
            extra = None if whole.extra is None else whole.extra[:, first:last]
            part = whole.table[:, first:last], extra, whole.codes[groups], whole.solid[first:last]
            blocks.append(FeatureBlock(first, *part))
        return blocks

    def _block(self, first: int, last: int) -> FeatureBlock:
        """Return some features with their codes, made anew."""
        xp, kernels = self.kernels.xp, self.kernels
        table = self.X[:, first:last]
        if not self.is_resident:
            table = xp.asarray(np.ascontiguousarray(table))
        bins = self._bins.get(first)
        if bins is None:
            bins = kernels.choose_edges(table, self._sample, self.n_bins)
            if not self._keeps_codes:
                self._bins[first] = bins  # to code the same features again
        shape = -(-(last - first) // LANES), self.n_vertices, LANES
        codes = xp.empty(shape, dtype=np.uint8)
        kernels.code_table(table, bins, codes)
        solid = kernels.spread_bins(table, codes, bins.is_discrete)[:, : self.n_bins]
        solid = xp.ascontiguousarray(solid)
        if self.extra is None or self._extra is None:
            return FeatureBlock(first, table, None, codes, solid)
        on_host = BinEdges(*map(kernels.fetch, bins))
        of_extra = _code_extra(self.extra[:, first:last], on_host)
        room = np.zeros((shape[0] * LANES, len(self.extra)), dtype=np.uint8)
        room[: last - first] = of_extra
        codes[:, self.n_samples :] = xp.asarray(
            room.reshape(-1, LANES, len(self.extra)).swapaxes(1, 2)
        )
        solid[xp.arange(last - first)[:, None], xp.asarray(of_extra.astype(np.int64))] = 0
        return FeatureBlock(first, table, self._extra[:, first:last], codes, solid)


def _sample(n_samples: int) -> Array:
    """Return the rows whose quantiles are taken: one of each stretch, always the same for a table of that length."""
    if n_samples <= _N_SAMPLE:
        return np.arange(n_samples, dtype=np.int32)
    places = (np.arange(_N_SAMPLE) + _places_in_stretches()) * (n_samples / _N_SAMPLE)
    return np.minimum(places.astype(np.int32), n_samples - 1)


@cache
def _places_in_stretches() -> Floats:
    return np.random.default_rng(0).random(_N_SAMPLE)


def _code_extra(extra: Floats, bins: BinEdges) -> Array:
    """Return the codes of the extra vertices, shape (n_features, n_extra), found as the kernel does."""
    origin, scale = bins.grid[:, :1], bins.grid[:, 1:]
    with np.errstate(over="ignore", invalid="ignore"):
        cells = np.nan_to_num((extra.T - origin) * scale)
    cells = np.clip(cells, 0, CELLS - 1).astype(np.int64)
    codes = np.take_along_axis(bins.cells, cells, axis=1)
    for f in np.flatnonzero(scale == 0):
        edges = bins.edges[f, :_N_EDGES].astype(np.float64)
        codes[f] = np.searchsorted(edges, extra[:, f])
    return codes
