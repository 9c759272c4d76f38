"""Two graphs at once, for non-uniform sparse cuts: little of one, much of the other."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.graphs.base import Graph

# Squares of sums must fit int64.
_LARGEST_TOTAL = 2.0**31


@dataclass(frozen=True, eq=False)
class ProductGraph:
    """The clique whose edge between x and y weighs mass(x)·mass(y), never written down edge by edge.

    With a graph's degrees as masses, cutting little of the graph and much of this clique is the
    normalised cut.

    Parameters
    ----------
    masses : array of int, shape (n_samples,)
        Non-negative; their sum is below 2**31.
    unit : float
        Weight of one fixed-point unit.
    own : array of int, shape (n_samples,), optional
        Squared mass of every vertex, summed over its copies where it stands for several; by default the
        squares of `masses`.

    Examples
    --------
    >>> from spexplain.graphs import ProductGraph
    >>> ProductGraph.from_masses([1.0, 2.0, 3.0]).degrees
    array([5, 8, 9])
    """

    masses: Ints
    unit: float = 1.0
    own: Ints | None = None

    @classmethod
    def from_masses(cls, masses: Floats | Ints, copies: Floats | None = None) -> Self:
        """Return the graph of any non-negative masses, rounded to one part in 2**31 of their sum if need be.

        A vertex that stands for several `copies`, among which its mass is shared evenly, is joined to
        itself, too.
        """
        given = np.asarray(masses, dtype=np.float64)
        total = float(given.sum())
        unit = 1.0
        if total < _LARGEST_TOTAL and np.array_equal(given, np.floor(given)):
            fixed = given.astype(np.int64)
        else:
            exponent = 30 - int(np.frexp(total)[1])
            fixed = np.rint(np.ldexp(given, exponent)).astype(np.int64)
            fixed = np.where(given > 0, np.maximum(fixed, 1), 0)
            unit = float(np.ldexp(1.0, -2 * exponent))
        if copies is None:
            return cls(fixed, unit)
        own = np.rint(fixed * (fixed / np.maximum(copies, 1.0))).astype(np.int64)
        return cls(fixed, unit, own)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.masses)

    @property
    def extra(self) -> None:
        """No vertices beyond the samples."""
        return

    @property
    def degrees(self) -> Ints:
        """mass(x) times the mass of all others."""
        return np.asarray(self.masses * self.masses.sum() - self.squares)

    @property
    def squares(self) -> Ints:
        """Squared masses of the copies of every vertex, added."""
        return self.masses**2 if self.own is None else self.own

    @property
    def sizes(self) -> Ints:
        """Every vertex counts."""
        return np.ones(self.n_samples, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class PairGraph:
    """Two graphs over the same vertices; sums come as a `Pair` of sides.

    Parameters
    ----------
    graph, against : Graph
        The graph to cut little of, and the one to cut much of.
    """

    graph: Any
    against: Any

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.graph.n_samples)

    @property
    def extra(self) -> Matrix | None:
        """Extra vertices of the first graph; the second has the same."""
        first: Graph = self.graph
        return first.extra

    @property
    def degrees(self) -> Ints:
        """Degrees in the first graph."""
        first: Graph = self.graph
        return first.degrees

    @property
    def sizes(self) -> Ints:
        """Sizes in the first graph."""
        first: Graph = self.graph
        return first.sizes

    @property
    def unit(self) -> float:
        """Unit of the first graph's weights, in units of the second's."""
        return float(self.graph.unit / self.against.unit)
