"""Where the boxes of a tree go: no two overlap, parents stand in the middle above their children.

After Reingold and Tilford: subtrees are laid out alone, then pushed together until their outlines
touch. This module only places boxes; it draws nothing and knows no units.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spexplain.aliases import Floats


class _Outline(NamedTuple):
    """First and last occupied place of a subtree at every depth below its root."""

    first: list[float]
    last: list[float]

    def moved(self, by: float) -> "_Outline":
        return _Outline([x + by for x in self.first], [x + by for x in self.last])


def tidy_places(
    children: Sequence[tuple[int, int] | None], breadths: Sequence[float], gap: float
) -> Floats:
    """Return the place of every node's middle along its level.

    Parameters
    ----------
    children : sequence of (int, int) or None
        Node numbers of the two children, None for leaves; node 0 is the root, and children have
        higher numbers than their parents.
    breadths : sequence of float
        How much room each box takes along its level.
    gap : float
        Least room between two boxes of a level.

    Returns
    -------
    places : array of float, shape (n_nodes,)
        The leftmost edge of all boxes is at 0.

    Examples
    --------
    >>> from spexplain.show.plots.layout import tidy_places
    >>> tidy_places([(1, 2), None, None], [2.0, 1.0, 1.0], gap=1.0)
    array([1.5, 0.5, 2.5])
    """
    n_nodes = len(children)
    shift = np.zeros(n_nodes)  # place relative to the parent's
    outlines: list[_Outline | None] = [None] * n_nodes
    for node in range(n_nodes - 1, -1, -1):  # children before parents, without recursion
        half, pair = breadths[node] / 2, children[node]
        if pair is None:
            outlines[node] = _Outline([-half], [half])
            continue
        left, right = outlines[pair[0]], outlines[pair[1]]
        assert left is not None
        assert right is not None
        apart = max(end - start for end, start in zip(left.last, right.first, strict=False)) + gap
        shift[pair[0]], shift[pair[1]] = -apart / 2, apart / 2
        below = _joined(left.moved(-apart / 2), right.moved(apart / 2))
        outlines[node] = _Outline([-half, *below.first], [half, *below.last])
        outlines[pair[0]] = outlines[pair[1]] = None
    whole = outlines[0]
    assert whole is not None
    places = np.zeros(n_nodes)
    places[0] = -min(whole.first)
    for node, pair in enumerate(children):
        for child in pair or ():
            places[child] = places[node] + shift[child]
    return places


def _joined(left: _Outline, right: _Outline) -> _Outline:
    """Return the outline of two subtrees side by side; the deeper one alone counts where it is deeper."""
    first = left.first + right.first[len(left.first) :]
    last = right.last + left.last[len(right.last) :]
    return _Outline(first, last)


def level_places(depths: Sequence[int], extents: Sequence[float], gap: float) -> Floats:
    """Return where each level begins, if every level takes as much room as its largest box.

    Examples
    --------
    >>> from spexplain.show.plots.layout import level_places
    >>> level_places([0, 1, 1], [2.0, 1.0, 3.0], gap=0.5)
    array([0. , 2.5, 6. ])
    """
    largest = np.zeros(max(depths) + 1)
    np.maximum.at(largest, np.asarray(depths), np.asarray(extents, dtype=np.float64))
    return np.append(0.0, np.cumsum(largest + gap))
