"""What a branch of a tree holds while rows come into it one after the other."""

from spexplain.aliases import Floats, Ints
from spexplain.kernels.jit import jit


@jit
def fill_branch(
    leaf: Ints,
    codes: Ints,
    mass: Floats,
    counts: Floats,
    room: Floats,
    sizes: Ints,
    right: Floats,
    purity: Floats,
    smallest: Ints,
) -> None:
    """Count the rows of a branch that have come so far, after every one of them.

    leaf, codes, mass: (n,): the leaf that a row reaches, its cluster or -1, what it weighs. counts:
    (n_leaves, k), room: (3, n_leaves) and sizes: (n_leaves,) are zeros. Writes to right, purity and
    smallest (n + 1,), whose first entries are there: rows in leaves of which their cluster is the
    commonest, squares of counts over their sums, and rows of the smallest leaf. O(n n_leaves).
    """
    for row in range(len(leaf)):
        at = leaf[row]
        now, pure, least = right[row], purity[row], smallest[row]
        sizes[at] += 1
        if sizes[at] - 1 == least:
            least = sizes[at]
            for other in range(len(sizes)):
                least = min(least, sizes[other])
        code = codes[row]
        if code >= 0:
            weight, count = mass[row], counts[at, code]
            counts[at, code] = count + weight
            if count + weight > room[0, at]:
                now += count + weight - room[0, at]
                room[0, at] = count + weight
            if room[2, at] > 0:
                pure -= room[1, at] / room[2, at]
            room[1, at] += 2 * count * weight + weight * weight
            room[2, at] += weight
            if room[2, at] > 0:
                pure += room[1, at] / room[2, at]
        right[row + 1], purity[row + 1], smallest[row + 1] = now, pure, least
