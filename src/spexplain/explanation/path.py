"""The path of growth: one tree holds the trees of all smaller numbers of leaves."""

from collections.abc import Sequence

import numpy as np

from spexplain.facts.path import PathStep, path_of

__all__ = [
    "AUTO_GAIN",
    "AUTO_LEAVES_PER_CLUSTER",
    "PathStep",
    "path_of",
    "plateau",
    "plateau_at",
]

# n_leaves="auto" grows this many leaves per cluster; a leaf must explain this share of the rows anew.
AUTO_LEAVES_PER_CLUSTER = 3
AUTO_GAIN = 0.01


def plateau(steps: list[PathStep]) -> int:
    """Return the number of leaves that ``n_leaves="auto"`` takes.

    With a reference: the smallest tree to which no number of further leaves adds `AUTO_GAIN` of
    fidelity per leaf. Without: the tree of at least two leaves at the sharpest bend of the objective,
    after which a further leaf suddenly costs more than the last one did.
    """
    if np.isnan(steps[-1].fidelity):
        bends = np.diff([step.objective for step in steps], n=2)
        return 2 + int(np.argmax(bends)) if len(bends) else steps[-1].n_leaves
    sizes = [step.n_leaves for step in steps]
    return sizes[plateau_at(sizes, [step.fidelity for step in steps])]


def plateau_at(sizes: Sequence[int], values: Sequence[float]) -> int:
    """Return the place of the first size to which no number of further leaves adds `AUTO_GAIN` per leaf.

    Examples
    --------
    >>> from spexplain.explanation.path import plateau_at
    >>> plateau_at([2, 3, 4, 6], [0.5, 0.9, 0.905, 0.91])
    1
    """
    leaves, reached = np.asarray(sizes), np.asarray(values)
    for place in range(len(sizes)):
        more = leaves[place + 1 :] - leaves[place]
        if np.all(reached[place + 1 :] - reached[place] < AUTO_GAIN * more):
            return place
    raise AssertionError("nothing is larger than the last")
