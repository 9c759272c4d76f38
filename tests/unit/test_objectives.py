"""Formulas on the sums of both sides and the node, by hand on small sets."""

import numpy as np
import pytest

from spexplain.graphs import CliqueGraph
from spexplain.objectives import Objective, conductance, gini_cart, spex, volume_cart
from spexplain.records import Side


def clique_side(counts, cluster_sizes) -> Side:
    """Sums over a set with so many samples of each unit clique."""
    counts, cluster_sizes = np.array(counts), np.array(cluster_sizes)
    return Side(
        inner=int(np.sum(counts * (counts - 1))),
        volume=int(np.sum(counts * (cluster_sizes - 1))),
        size=int(counts.sum()),
    )


SIZES = [6, 4]
GRAPH = CliqueGraph.from_labels(np.repeat([0, 1], SIZES))
LEFT, RIGHT = clique_side([5, 1], SIZES), clique_side([1, 3], SIZES)
NODE = clique_side(SIZES, SIZES)


def test_conductance():
    assert conductance(LEFT) == (5 * 1 + 1 * 3) / (5 * 5 + 1 * 3)
    assert conductance(NODE) == 0


def test_spex():
    objective = spex(GRAPH)
    score = objective.score(LEFT, RIGHT, NODE)
    assert score == 8 / 28 + 8 / 14
    assert objective.value(LEFT) == 8 / 28
    assert objective.priority(score, RIGHT) == score - 8 / 14


@pytest.mark.parametrize("leaf_weight", ["none", "size"])
def test_gini(leaf_weight):
    objective = gini_cart(GRAPH, leaf_weight)
    gini_left, gini_right, gini_node = 1 - 26 / 36, 1 - 10 / 16, 1 - 52 / 100
    score = objective.score(LEFT, RIGHT, NODE)
    assert score == pytest.approx(0.6 * gini_left + 0.4 * gini_right)
    drop = objective.priority(score, NODE)
    assert drop == pytest.approx((score - gini_node) * (10 if leaf_weight == "size" else 1))
    assert objective.value(LEFT) == pytest.approx(0.6 * gini_left)


@pytest.mark.parametrize("leaf_weight", ["none", "size"])
def test_volume_form(leaf_weight):
    # Edges join samples of different clusters: 5 inside the left side, 3 inside the right one.
    objective = volume_cart(GRAPH, leaf_weight)
    score = objective.score(LEFT, RIGHT, NODE)
    volume_left, volume_right = 5 * 4 + 1 * 6, 1 * 4 + 3 * 6
    assert score == pytest.approx(2 * 5 / volume_left + 2 * 3 / volume_right)
    outer = volume_left - 2 * 5
    normalised_cut = outer / volume_left + outer / volume_right
    assert score == pytest.approx(2 - normalised_cut)
    weight = 10 if leaf_weight == "size" else 1
    assert objective.priority(score, NODE) == pytest.approx((1 - normalised_cut) * weight)


def test_formulas_take_arrays():
    stacked = [Side(*map(np.array, zip(side, side, strict=True))) for side in (LEFT, RIGHT)]
    for objective in (spex(GRAPH), gini_cart(GRAPH), volume_cart(GRAPH)):
        one = objective.score(LEFT, RIGHT, NODE)
        assert objective.score(*stacked, NODE).tolist() == [one, one]


@pytest.mark.parametrize("formula", [spex, gini_cart, volume_cart])
def test_a_side_without_edges_or_clusters_is_inadmissible(formula):
    nothing = Side(*(np.array([0]),) * 3)
    everything = Side(*(np.array([field]) for field in NODE))
    with np.errstate(all="ignore"):
        assert np.isnan(formula(GRAPH).score(nothing, everything, NODE))


def test_leaves_are_ranked_by_their_score_unless_told_otherwise():
    objective = Objective("own", GRAPH, score=lambda left, right, node: 0.0, value=lambda node: 0.0)
    assert objective.priority(0.7, NODE) == 0.7
    assert not objective.flat_if_pure
