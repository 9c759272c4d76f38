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
def survey_columns(X: Any, n_known: Floats, sums: Floats, low: Floats, high: Floats) -> None:
    """Count and add up the values of every column that are not missing, and find the least and the greatest.

    X: (n, d), rows beyond a multiple of four left out; the others (d,), preset to 0, 0, inf and -inf. O(n d).
    """
    for row in range(0, X.shape[0] - 3, 4):
        for column in range(X.shape[1]):
            # Four rows at a time: what is known of a column is read and written once for all of them.
            a, b = np.float64(X[row, column]), np.float64(X[row + 1, column])
            c, d = np.float64(X[row + 2, column]), np.float64(X[row + 3, column])
            has_a, has_b = 1.0 if a == a else 0.0, 1.0 if b == b else 0.0  # noqa: PLR0124
            has_c, has_d = 1.0 if c == c else 0.0, 1.0 if d == d else 0.0  # noqa: PLR0124
            n_known[column] += (has_a + has_b) + (has_c + has_d)
            ab = (a if has_a > 0 else 0.0) + (b if has_b > 0 else 0.0)
            cd = (c if has_c > 0 else 0.0) + (d if has_d > 0 else 0.0)
            sums[column] += ab + cd
            least, most = low[column], high[column]
            least, most = a if a < least else least, a if a > most else most  # NaN compares false
            least, most = b if b < least else least, b if b > most else most
            least, most = c if c < least else least, c if c > most else most
            least, most = d if d < least else least, d if d > most else most
            low[column], high[column] = least, most
