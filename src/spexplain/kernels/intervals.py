"""Walks down from the peaks of surrogate features."""

import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.kernels.jit import jit


@jit
def _totals(labels: Ints, weights: Ints, k: int) -> Ints:
    """Return the weight of the samples of each of k labels, others left out."""
    totals = np.zeros(k, dtype=np.int64)
    for i in range(len(labels)):
        if labels[i] >= 0:
            totals[labels[i]] += weights[i]
    return totals


@jit
def _rank(center: Floats, ranked: Ints) -> None:
    """Write the numbers of the centres in descending order; there are few. Cost O(k²)."""
    for c in range(len(center)):
        j = c
        while j > 0 and center[ranked[j - 1]] < center[c]:
            ranked[j] = ranked[j - 1]
            j -= 1
        ranked[j] = c


@jit
def least_parted(
    values: Floats,
    labels: Ints,
    weights: Ints,
    centers: Floats,
    margin: float,
    min_samples: int,
    half_lines: bool,
    parted: Ints,
    levels: Floats,
) -> None:
    """Write the least weight of samples that a level of each bump parts from their centres, and that level.

    ``values[b]`` are the values of bump b at a node's samples in the order of the column: they rise
    to one peak and fall again, so the samples in descending order of value come from two pointers.
    A level parts samples and centres below it from the others. Levels are midpoints between
    consecutive distinct values of samples whose centre is in the node (label >= 0), strictly between
    the lowest and the highest centre; of equally good levels the lowest is written. `margin` is the
    relative size of rounding. Without a level, -1 is written to `parted`.

    Shapes: values (n_bumps, m), labels and weights (m,), centers (n_bumps, k), parted and levels (n_bumps,).
    Cost O(m + k²) a bump.
    """
    m, k = len(labels), centers.shape[1]
    totals, inside = _totals(labels, weights, k), np.empty(k, dtype=np.int64)
    is_inside, ranked = np.empty(k, dtype=np.bool_), np.empty(k, dtype=np.int64)
    descending = np.empty(m)
    for b in range(len(values)):
        value, center = values[b], centers[b]
        parted[b], levels[b] = -1, 0.0
        _rank(center, ranked)
        lowest, highest, n_above = center[ranked[k - 1]], center[ranked[0]], 0
        inside[:] = 0
        is_inside[:] = False
        n_parted, n_in, last = 0, 0, -1.0
        right = np.argmax(value)
        left = right - 1
        for i in range(m):
            if left < 0 or (right < m and value[right] > value[left]):
                at = right
                right += 1
            else:
                at = left
                left -= 1
            # Rounding can lift a value above the one before it: then both are the same.
            here = value[at] if i == 0 else min(value[at], descending[i - 1])
            descending[i] = here
            label = labels[at]
            if label < 0:
                continue
            if 0 <= here < last:
                level = here + (last - here) / 2
                if level <= here:
                    level = last
                below, above = level * (1 - margin), level * (1 + margin)
                if lowest >= below:
                    break
                while center[ranked[n_above]] >= below:  # the lowest is not: no end is reached
                    c = ranked[n_above]
                    is_inside[c] = True
                    n_parted += totals[c] - 2 * inside[c]
                    n_above += 1
                while n_in < i and descending[n_in] >= level:
                    n_in += 1
                if (
                    highest > above
                    and min(n_in, m - n_in) >= min_samples
                    and (not half_lines or value[0] >= level or value[m - 1] >= level)
                    and (parted[b] < 0 or n_parted <= parted[b])
                ):
                    parted[b], levels[b] = n_parted, level
            last = here
            inside[label] += weights[at]
            n_parted += -weights[at] if is_inside[label] else weights[at]
