"""What every graph tells an engine, and the fixed-point weights that make all sums exact."""

from typing import Protocol

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix

# Sums of weights stay below 2**62, so they and their differences fit int64.
_BITS = 61


class Graph(Protocol):
    """A weighted graph over the samples and, after them, perhaps extra vertices."""

    @property
    def n_samples(self) -> int:
        """Number of samples; vertices beyond it are extra."""

    @property
    def extra(self) -> Matrix | None:
        """Coordinates of the extra vertices, shape (n_extra, n_features), or None."""

    @property
    def degrees(self) -> Ints:
        """Weight of the edge ends at each vertex, in units of `unit`."""

    @property
    def sizes(self) -> Ints:
        """What each vertex adds to `Side.size`: 1 (or its weight) if it counts, else 0."""

    @property
    def unit(self) -> float:
        """Weight of one fixed-point unit, a power of two."""


def to_fixed_point(weights: Floats, total: float, bits: int = _BITS) -> tuple[Ints, float]:
    """Return non-negative weights as integers, and the weight of one unit.

    Integers are kept as they are. Other weights are multiplied by the power of two that brings
    `total`, the largest sum that will be taken, just below 2**61: an error of at most 2**-61 of the
    total, less than adding floats in any order would cost. A positive weight never becomes zero. Fewer
    `bits` leave room for products of sums.
    """
    if total < 2.0**bits and np.array_equal(weights, np.floor(weights)):
        return weights.astype(np.int64), 1.0
    exponent = bits - int(np.frexp(total)[1])
    scaled = np.rint(np.ldexp(weights, exponent)).astype(np.int64)
    return np.where(weights > 0, np.maximum(scaled, 1), 0), float(np.ldexp(1.0, -exponent))
