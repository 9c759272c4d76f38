"""Sums over groups of rows, in one read of the table."""

from typing import Any

from spexplain.aliases import Floats, Ints
from spexplain.kernels.jit import jit


@jit
def sum_groups(X: Any, origin: Floats, groups: Ints, sums: Floats, squares: Floats) -> None:
    """Add every row, measured from `origin`, and its squared length to the sums of its group.

    X: (n, d), groups: (n,), with -1 for rows that do not count. Writes to sums (n_groups, d) and
    squares (n_groups,). O(n d).
    """
    for row in range(X.shape[0]):
        group = groups[row]
        if group < 0:
            continue
        total = 0.0
        for column in range(X.shape[1]):
            x = X[row, column] - origin[column]
            sums[group, column] += x
            total += x * x
        squares[group] += total
