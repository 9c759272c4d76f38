"""What happens to the pair sums of leaves and clusters while rows of a node move from right to left."""

from typing import NamedTuple, Protocol

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix
from spexplain.refine.routes import Test


class Moving(NamedTuple):
    """Rows that move one by one from their right leaf to their left leaf, as kernels read them.

    A cell is an entry of the table of leaves × clusters, whose last column counts rows of no cluster.
    """

    cells: Array  # left and right cell of every row, in the halves of its bits
    leaf_of_cell: Array
    weights: Bools  # of cells: whether their rows count
    counts: Ints  # rows of each cell while all rows are right
    sizes: Ints  # clustered rows of each leaf then
    rows: Ints  # all rows of each leaf then
    need: Ints  # rows that each leaf must have
    start: tuple[int, int, int]  # pairs in cells, pairs in leaves, leaves below their need
    ratio: tuple[float, float, float, float]
    least: float  # only a higher index counts


class Parted(Protocol):
    """The rows of a table, parted node by node: a node's rows stand between two places."""

    columns: Matrix  # shape (n_features, n_rows)

    def restart(self) -> None:
        """Forget all partings: one node holds all rows."""

    def rows(self, start: int, stop: int) -> Ints:
        """Return the rows of a node."""

    def part(self, start: int, stop: int, goes_left: Bools) -> None:
        """Bring the rows of a node that go left before the others."""

    def best_move(self, start: int, stop: int, moving: Moving) -> tuple[float, Test | None]:
        """Return the best index of all cuts of a node that move its rows, and the cut.

        Equal indices resolve to the lowest feature, then the lowest threshold; minus infinity and
        None if no index is high enough.
        """


def index_of(ratio: tuple[float, float, float, float], same: Floats, both: Floats) -> Floats:
    """Return the adjusted Rand index from pairs in cells and in leaves, as the kernels compute it."""
    r0, r1, r2, r3 = ratio
    return (r0 * same + r1 * both) / (r2 + r3 * both)
