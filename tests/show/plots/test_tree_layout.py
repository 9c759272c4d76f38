"""Boxes of a tree: no overlap, parents in the middle, nothing left of zero."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spexplain.show.plots.tree import level_places, tidy_places
from spexplain.tree import LEAF
from strategies import trees


def children_of(tree):
    return [
        None if tree.feature[node] == LEAF else (int(tree.left[node]), int(tree.right[node]))
        for node in range(tree.n_nodes)
    ]


@given(trees(), st.data())
def test_tidy(tree, data):
    n_nodes = tree.n_nodes
    widths = st.lists(st.integers(1, 9).map(float), min_size=n_nodes, max_size=n_nodes)
    breadths = np.array(data.draw(widths))
    places = tidy_places(children_of(tree), breadths, gap=0.5)
    assert np.min(places - breadths / 2) == 0
    for node in np.flatnonzero(tree.feature != LEAF):
        both = places[tree.left[node]], places[tree.right[node]]
        assert np.isclose(np.mean(both), places[node])
        assert both[0] < both[1]
    for depth in range(tree.depth + 1):
        level = np.flatnonzero(tree.node_depths == depth)
        level = level[np.argsort(places[level])]
        starts, ends = places[level] - breadths[level] / 2, places[level] + breadths[level] / 2
        assert np.all(starts[1:] - ends[:-1] >= 0.5 - 1e-9)


def test_equal_subtrees_look_equal():
    children = [(1, 2), (3, 4), (5, 6), None, None, None, None]
    places = tidy_places(children, [1.0] * 7, gap=1.0)
    assert places.tolist() == [3.5, 1.5, 5.5, 0.5, 2.5, 4.5, 6.5]


def test_a_wide_root_is_not_cut_off():
    assert tidy_places([(1, 2), None, None], [9.0, 1.0, 1.0], gap=1.0).tolist() == [4.5, 3.5, 5.5]
    assert tidy_places([None], [3.0], gap=1.0).tolist() == [1.5]


def test_long_paths():
    children = [(2 * s + 1, 2 * s + 2) if s < 2000 else None for s in range(1)]
    children = []
    for node in range(4001):
        is_inner = node % 2 == 0 and node < 4000
        children.append((node + 1, node + 2) if is_inner else None)
    places = tidy_places(children, [1.0] * 4001, gap=0.5)
    assert np.all(np.isfinite(places))


def test_levels():
    assert level_places([0], [2.0], gap=1.0).tolist() == [0.0, 3.0]
