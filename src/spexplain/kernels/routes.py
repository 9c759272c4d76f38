"""Rows on their way through a tree, and the rows of a node that lie in some bins: one look at every row."""

from typing import Any

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.kernels.jit import jit


@jit
def walk_tree(
    X: Any,
    columns: Ints,
    bounds: Floats,
    passes: Bools,
    children: Ints,
    ends: Floats,
    n_missing: Ints,
    leaves: Ints,
) -> None:
    """Write the node that every row of X ends in to `leaves`, and the values around the tests to `ends`.

    Shapes: X (n, d); of every node columns (n_nodes,), -1 in leaves, bounds (n_nodes, 2), passes (n_nodes,),
    whether missing values go left, children (n_nodes, 2); ends (n_nodes, 4), preset to -inf, inf, -inf and
    inf: the greatest value up to the upper bound, the least above it, the same for the lower bound;
    n_missing (n_nodes,), leaves (n,). A lower bound of -inf is none. O(n depth).
    """
    for row in range(X.shape[0]):
        node = 0
        while columns[node] >= 0:
            x = np.float64(X[row, columns[node]])
            lower, upper = bounds[node, 0], bounds[node, 1]
            if x != x:  # noqa: PLR0124
                n_missing[node] += 1
                node = children[node, 0 if passes[node] else 1]
                continue
            side = 0 if x <= upper else 1
            if side == 0:
                ends[node, 0] = x if x > ends[node, 0] else ends[node, 0]
            else:
                ends[node, 1] = x if x < ends[node, 1] else ends[node, 1]
            if lower > -np.inf:
                if x <= lower:
                    side = 1
                    ends[node, 2] = x if x > ends[node, 2] else ends[node, 2]
                else:
                    ends[node, 3] = x if x < ends[node, 3] else ends[node, 3]
            node = children[node, side]
        leaves[row] = node


@jit
def rows_in_bins(inside: Array, codes: Array, wanted: Bools, rows: Array) -> int:
    """Write the rows of a node that lie in wanted bins to `rows`, ascending, and return how many they are.

    Shapes: inside (>= n / 8,), a bit for every row, the first the highest of its byte; codes (n,), the bins
    of the rows, wanted (256,), rows (n + 1,). O(n).
    """
    n_found = 0
    for row in range(codes.shape[0]):
        rows[n_found] = row
        is_inside = inside[row >> 3] >> (7 - (row & 7)) & 1
        n_found += 1 if is_inside and wanted[codes[row]] else 0
    return n_found
