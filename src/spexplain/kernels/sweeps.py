"""What a branch of a tree holds while rows come into it one after the other."""

from spexplain.aliases import Array, Floats, Ints
from spexplain.kernels.jit import jit


@jit
def fill_branch(
    cells: Array,
    leaf_of: Ints,
    code_of: Ints,
    mass: Floats,
    from_end: bool,
    ends: Ints,
    counts: Floats,
    room: Floats,
    sizes: Ints,
    right: Floats,
    purity: Floats,
    smallest: Ints,
) -> None:
    """Count the rows of a branch that have come so far, at some places of their order.

    cells: (n,): of every row the number under which leaf_of and code_of have the leaf that it reaches and
    its cluster, or -1. mass: (n,) what rows weigh, or (0,) where each weighs 1. Rows come from the end
    on, or from the beginning; ends: (m,), increasing: how many have come at each place. counts:
    (n_leaves, k), room: (4, n_leaves) and sizes: (n_leaves,) are zeros. Writes to right, purity and
    smallest (m,): rows in leaves of which their cluster is the commonest, squares of counts over their
    sums, and rows of the smallest leaf. O(n + m n_leaves).
    """
    n_rows, n_leaves, weighs = len(cells), len(sizes), len(mass) > 0
    now, weight, come = 0.0, 1.0, 0
    for place in range(len(ends)):
        while come < ends[place]:
            row = n_rows - 1 - come if from_end else come
            come += 1
            at, code = leaf_of[cells[row]], code_of[cells[row]]
            sizes[at] += 1
            if code < 0:
                continue
            if weighs:
                weight = mass[row]
            count = counts[at, code]
            counts[at, code] = count + weight
            if count + weight > room[0, at]:
                now += count + weight - room[0, at]
                room[0, at] = count + weight
            room[1, at] += 2 * count * weight + weight * weight
            room[2, at] += weight
            if room[2, at] > 0:
                room[3, at] = room[1, at] / room[2, at]
        pure, least = 0.0, sizes[0]
        for leaf in range(n_leaves):
            pure += room[3, leaf]
            least = min(least, sizes[leaf])
        right[place], purity[place], smallest[place] = now, pure, least
