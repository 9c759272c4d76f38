"""What workers count: labels, or amounts that every row adds on its own. All of it is exact and additive."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spexplain.aliases import Array, Ints
from spexplain.kernels.labels import fill_histograms
from spexplain.kernels.sums import scan_sums


@dataclass(frozen=True)
class LabelTally:
    """A cell counts the rows of every label; a row's mark is its label, the last one for no cluster."""

    width: int
    dtype: Any  # of the counts: as small as holds the number of all rows

    @property
    def listed_dtype(self) -> Any:
        """Type of the marks of rows that are sent one by one."""
        return np.min_scalar_type(self.width - 1)

    @property
    def listed_bytes(self) -> int:
        """Bytes of the mark of such a row."""
        return int(np.dtype(self.listed_dtype).itemsize)

    def dtype_for(self, n_rows: int) -> Any:
        """Return the smallest type that holds the counts of so many rows."""
        return np.min_scalar_type(n_rows)

    def histograms(self, codes: Array, shift: int, rows: Array, marks: Array, out: Array) -> None:
        """Add the rows to cells of shape (n_features, n_bins, width)."""
        fill_histograms(codes, shift, 0, rows, marks[rows], 1, out)

    def cells(self, places: Array, rows: Array, marks: Array, n_places: int) -> Array:
        """Return the cells of shape (n_places, width) of rows that lie in numbered places."""
        flat = places * self.width + marks[rows]
        counted = np.bincount(flat, minlength=n_places * self.width)
        return counted.reshape(n_places, self.width).astype(self.dtype)

    def n_rows(self, cells: Ints) -> Ints:
        """Return the number of rows in every cell."""
        return np.asarray(np.sum(cells, axis=-1, dtype=np.int64))


@dataclass(frozen=True)
class AmountTally:
    """A cell sums up the amounts of the rows and, last, counts them; a row's mark is its amounts."""

    width: int
    dtype: Any = np.int64
    listed_dtype: Any = np.int64

    @property
    def listed_bytes(self) -> int:
        """Bytes of the mark of a row that is sent as it is."""
        return 8 * (self.width - 1)

    def dtype_for(self, n_rows: int) -> Any:
        """Return the type of sums over so many rows: the amounts are not known."""
        return self.dtype

    def histograms(self, codes: Array, shift: int, rows: Array, marks: Array, out: Array) -> None:
        """Add the rows to cells of shape (n_features, n_bins, width)."""
        n_features, n_bins, _ = out.shape
        sums = np.empty((n_features, self.width + 1, n_bins + 1), dtype=np.int64)
        scan_sums(codes, shift, 0, n_features, rows, marks, codes.shape[1], sums)
        out += np.moveaxis(np.diff(sums[:, :-1], axis=2), 1, 2)

    def cells(self, places: Array, rows: Array, marks: Array, n_places: int) -> Array:
        """Return the cells of shape (n_places, width) of rows that lie in numbered places."""
        cells = np.zeros((n_places, self.width), dtype=np.int64)
        np.add.at(cells[:, :-1], places, marks[rows])
        cells[:, -1] = np.bincount(places, minlength=n_places)
        return cells

    def n_rows(self, cells: Ints) -> Ints:
        """Return the number of rows in every cell."""
        return np.asarray(cells[..., -1], dtype=np.int64)


Tally = LabelTally | AmountTally
