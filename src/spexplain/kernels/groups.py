"""Sums over groups of rows, in one read of the table."""

from typing import Any

import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.kernels.jit import jit


@jit
def sum_groups(
    X: Any, origin: Floats, filling: Floats, groups: Ints, sums: Floats, squares: Floats
) -> None:
    """Add every row, measured from `origin`, and its squares to the sums of its group.

    X: (n, d), groups: (n,), with -1 for rows that do not count. A missing value counts as the filling
    of its column, also measured from the origin. Writes to sums and squares (n_groups, d): column by column,
    because a loop that adds to one number is not vectorised. O(n d).
    """
    for row in range(X.shape[0]):
        group = groups[row]
        if group < 0:
            continue
        for column in range(X.shape[1]):
            x = X[row, column] - origin[column]
            x = x if x == x else filling[column]  # noqa: PLR0124
            sums[group, column] += x
            squares[group, column] += x * x


@jit
def survey_columns(X: Any, n_known: Ints, sums: Floats, low: Floats, high: Floats) -> None:
    """Count and add up the values of every column that are not missing, and find the least and the greatest.

    X: (n, d); the others (d,), preset to 0, 0, inf and -inf. O(n d).
    """
    for row in range(X.shape[0]):
        for column in range(X.shape[1]):
            x = np.float64(X[row, column])
            is_known = x == x  # noqa: PLR0124
            n_known[column] += is_known
            sums[column] += x if is_known else 0.0
            low[column] = x if x < low[column] else low[column]  # NaN compares false
            high[column] = x if x > high[column] else high[column]
