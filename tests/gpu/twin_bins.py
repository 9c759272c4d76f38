"""Twins of the kernels that put values into bins."""

import numpy as np

from spexplain.kernels.cuda.records import CELLS, LANES, BinEdges


class BinTwins:
    def choose_edges(self, table, sample, n_bins):
        keys = np.sort(table[sample], axis=0)
        n, d = keys.shape
        edges = np.full((d, 256), np.inf, dtype=table.dtype)
        picks = np.maximum(np.arange(1, n_bins) * n // n_bins, 1) - 1
        chosen = keys[picks].T.copy()
        again = np.zeros(chosen.shape, dtype=bool)
        again[:, :-1] = chosen[:, 1:] == chosen[:, :-1]
        for f, i in zip(*np.nonzero(again), strict=True):
            value = keys[picks[i], f]
            if i == 0 or keys[picks[i - 1], f] != value:
                low = np.searchsorted(keys[:, f], value)
                chosen[f, i] = keys[low - 1, f] if low else value
        edges[:, : n_bins - 1] = chosen
        is_discrete = again.any(axis=1) | (n < n_bins)
        grid, cells = np.zeros((d, 2)), np.zeros((d, CELLS), dtype=np.uint8)
        for f in range(d):
            own = chosen[f].astype(np.float64)
            grid[f, 0] = own[0]
            with np.errstate(divide="ignore", over="ignore"):
                scale = (CELLS - 2) / (own[-1] - own[0])
            if is_discrete[f] or not 0 < scale < np.inf:
                continue
            places = np.clip((own - own[0]) * scale, 0, CELLS - 1).astype(int)
            if 10 * (1 + np.count_nonzero(np.diff(places) > 0)) >= 9 * len(own):
                grid[f, 1] = scale
                cells[f] = np.searchsorted(places, np.arange(CELLS))
        return BinEdges(edges, is_discrete.astype(np.uint8), grid, cells)

    def code_table(self, table, bins, codes):
        n, d = table.shape
        codes[:, :n] = 0
        for f in range(d):
            origin, scale = bins.grid[f]
            found = np.searchsorted(bins.edges[f, :255], table[:, f])
            if scale > 0:
                with np.errstate(over="ignore"):
                    places = (table[:, f].astype(np.float64) - origin) * scale
                found = bins.cells[f, np.clip(places, 0, CELLS - 1).astype(int)]
            codes[f // LANES, :n, f % LANES] = found

    def spread_bins(self, table, codes, is_discrete):
        d = table.shape[1]
        solid = np.zeros((d, 256), dtype=np.uint8)
        for f in np.flatnonzero(is_discrete):
            code = codes[f // LANES, : len(table), f % LANES]
            for b in np.unique(code):
                inside = table[code == b, f].astype(np.float64)
                solid[f, b] = inside.min() == inside.max()
        return solid
