"""What the branches of a node hold while rows come into them one after the other."""

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.kernels.jit import jit


@jit
def fill_branch(
    cells: Array,
    leaf_of: Ints,
    code_of: Ints,
    mass: Floats,
    from_end: bool,
    ends: Ints,
    turns: Bools,
    turned: bool,
    counts: Floats,
    room: Floats,
    sizes: Ints,
    right: Floats,
    purity: Floats,
    smallest: Ints,
) -> None:
    """Add what a branch holds when the rows of an order are parted at some places.

    cells: (n,): of every row the number under which leaf_of and code_of have the leaf that it reaches and
    its cluster, or -1. mass: (n,) what rows weigh, or (0,) where each weighs 1. ends: (m,), increasing:
    where the order is parted; the branch gets the rows before it, or from the end on those behind it.
    turns: (m,); only places whose entry is `turned` are written. counts: (n_leaves, k), room: (4, n_leaves)
    and sizes: (n_leaves,) are zeros. Adds to right and purity (m,) rows in leaves of which their cluster
    is the commonest, and squares of counts over their sums; lowers smallest (m,) to the rows of the smallest
    leaf. O(n + m n_leaves).
    """
    n_rows, n_leaves, n_ends, weighs = len(cells), len(sizes), len(ends), len(mass) > 0
    now, weight, come = 0.0, 1.0, 0
    for i in range(n_ends):
        place = n_ends - 1 - i if from_end else i
        wanted = n_rows - ends[place] if from_end else ends[place]
        while come < wanted:
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
        if turns[place] == turned:
            pure, least = 0.0, smallest[place]
            for leaf in range(n_leaves):
                pure += room[3, leaf]
                least = min(least, sizes[leaf])
            right[place] += now
            purity[place] += pure
            smallest[place] = least


@jit
def fill_tops(
    cells: Array,
    leaf_of: Ints,
    code_of: Ints,
    mass: Floats,
    from_end: bool,
    ends: Ints,
    turns: Bools,
    turned: bool,
    counts: Floats,
    tops: Floats,
    sizes: Ints,
    right: Floats,
    smallest: Ints,
) -> None:
    """Add what `fill_branch` does to right and smallest, without the purity, which takes most of its time.

    tops: (n_leaves,) zeros; the rest as there. O(n + m), and O(n_leaves) whenever the smallest leaf grows.
    """
    n_rows, n_ends, weighs = len(cells), len(ends), len(mass) > 0
    now, weight, come, least = 0.0, 1.0, 0, 0
    for i in range(n_ends):
        place = n_ends - 1 - i if from_end else i
        wanted = n_rows - ends[place] if from_end else ends[place]
        while come < wanted:
            row = n_rows - 1 - come if from_end else come
            come += 1
            at, code = leaf_of[cells[row]], code_of[cells[row]]
            size = sizes[at] + 1
            sizes[at] = size
            if size - 1 == least:
                least = size
                for leaf in range(len(sizes)):
                    least = min(least, sizes[leaf])
            if code >= 0:
                if weighs:
                    weight = mass[row]
                count = counts[at, code] + weight
                counts[at, code] = count
                if count > tops[at]:
                    now += count - tops[at]
                    tops[at] = count
        if turns[place] == turned:
            right[place] += now
            smallest[place] = min(smallest[place], least)


@jit
def count_marked(cells: Array, marked: Bools, ends: Ints, found: Ints) -> None:
    """Write how many of the first so many rows have a cell that is marked.

    cells: (n,), marked: of every cell, ends and found: (m,), ends increasing. O(n + m).
    """
    come, now = 0, 0
    for place in range(len(ends)):
        while come < ends[place]:
            now += marked[cells[come]]
            come += 1
        found[place] = now
