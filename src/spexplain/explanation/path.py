"""The path of growth: one tree holds the trees of all smaller numbers of leaves."""

import numpy as np

from spexplain.facts.path import PathStep, path_of

__all__ = ["AUTO_GAIN", "AUTO_LEAVES_PER_CLUSTER", "PathStep", "path_of", "plateau"]

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
    fidelity = np.array([step.fidelity for step in steps])
    for place in range(len(steps) - 1):
        gains = fidelity[place + 1 :] - fidelity[place]
        if np.all(gains < AUTO_GAIN * np.arange(1, len(gains) + 1)):
            return steps[place].n_leaves
    return steps[-1].n_leaves
