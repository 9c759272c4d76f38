"""Formulas on the sums of both sides and the node, by hand on small sets."""

from dataclasses import replace
from math import ceil

import numpy as np
import pytest

from spexplain.graphs import (
    CenterCosts,
    CliqueGraph,
    PairGraph,
    ProductGraph,
    ServingCenters,
    SparseGraph,
    StarGraph,
)
from spexplain.objectives import (
    Objective,
    bounds,
    conductance,
    emn,
    exkmc,
    gini_cart,
    imm,
    non_uniform_cut,
    on_columns,
    shallow_service,
    spex,
    volume_cart,
)
from spexplain.records import Costs, Pair, Service, Side


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


# --- What engines rely on -------------------------------------------------------------------------


def stars() -> StarGraph:
    return StarGraph(np.repeat([0, 1], 5), np.zeros((2, 3)))


@pytest.mark.parametrize(
    "objective",
    [spex(GRAPH), gini_cart(GRAPH), imm(stars()), emn(stars())],
    ids=["spex", "gini", "imm", "emn"],
)
@pytest.mark.parametrize("field", Side._fields)
def test_scores_move_as_declared(objective, field):
    left, right = Side(inner=10, volume=40, size=8), Side(inner=16, volume=50, size=9)
    node = Side(inner=40, volume=90, size=17)
    score = objective.score(left, right, node)
    changed = [
        objective.score(left._replace(**{field: getattr(left, field) + change}), right, node)
        for change in (-6, -2, 2, 6)
    ]
    trend = getattr(objective.trend, field)
    assert trend in (-1, 0, 1)
    steps = np.sign(np.diff([*changed[:2], score, *changed[2:]]))
    if objective.name == "imm" and field == "size":
        # It only asks whether there are centres on a side at all.
        with np.errstate(all="ignore"):
            none = objective.score(Side(*map(np.int64, left._replace(size=0))), right, node)
        assert (trend, set(steps), none) == (-1, {0}, np.inf)
    else:
        assert set(steps) <= {trend, 0}
        assert trend in steps


def test_volume_cart_rises_with_the_sets():
    objective, sizes = volume_cart(GRAPH), np.array([5, 4, 3])
    assert objective.trend == Side(inner=1, volume=0, size=1)
    right, node = clique_side([1, 2, 2], sizes), clique_side(sizes, sizes)
    nested = [clique_side(counts, sizes) for counts in ([2, 1, 0], [3, 1, 0], [3, 2, 0], [3, 2, 1])]
    scores = [objective.score(left, right, node) for left in nested]
    assert scores == sorted(set(scores))
    other = nested[0]._replace(volume=7)
    assert objective.score(other, right, node) == scores[0]


@pytest.mark.parametrize("field", Side._fields)
@pytest.mark.parametrize("graph", Pair._fields)
def test_trend_of_a_non_uniform_cut(graph, field):
    pair = PairGraph(CliqueGraph.from_labels([0, 0, 1]), ProductGraph.from_masses([1.0, 1.0, 1.0]))
    objective = non_uniform_cut(pair)
    left, right = Side(inner=10, volume=40, size=8), Side(inner=16, volume=50, size=9)
    sides, node = Pair(left, left), Side(inner=40, volume=90, size=17)
    scores = []
    for change in (-6, -2, 0, 2, 6):
        changed = left._replace(**{field: getattr(left, field) + change})
        moved = sides._replace(**{graph: changed})
        scores.append(objective.score(moved, Pair(right, right), Pair(node, node)))
    assert set(np.sign(np.diff(scores))) == {getattr(getattr(objective.trend, graph), field)}


def test_costs_of_service_have_a_trend():
    objective = exkmc(CenterCosts(np.array([[1, 5], [6, 2]])))
    node = Costs(np.array([90, 80]))
    left, right = Costs(np.array([10, 20])), Costs(np.array([30, 25]))
    assert objective.score(left, right, node) == 35
    assert objective.trend == Costs(total=1)
    assert objective.score(Costs(left.total + 3), right, node) == 38


def test_costs_of_service_must_fall_by_more_than_rounding():
    score = exkmc(CenterCosts(np.array([[1, 5], [6, 2]]), unit=2.0**-50)).score
    side, least = Costs(np.array([2**59, 2**60])), 2**12  # 2**-48 of what both sides cost
    assert score(side, side, Costs(np.array([2**60 + least, 2**61]))) == np.inf
    assert score(side, side, Costs(np.array([2**60 + least + 1, 2**61]))) == 2.0**10
    assert score(Costs(np.array([1, 2])), Costs(np.array([1, 2])), Costs(np.array([3, 4]))) < 1


def test_value_of_a_non_uniform_cut_is_weight_of_the_graph():
    # A path of weights 0.75 and 0.5: the middle vertex alone parts both.
    adjacency = np.array([[0, 0.75, 0], [0.75, 0, 0.5], [0, 0.5, 0]])
    first = SparseGraph.from_adjacency(adjacency)
    pair = PairGraph(first, ProductGraph.from_masses([1.0, 1.0, 1.0]))
    middle = Side(inner=0, volume=int(first.degrees[1]), size=1)
    assert non_uniform_cut(pair).value(Pair(middle, middle)) == (0.75 + 0.5) / 2


def test_value_of_stars_is_weight_of_the_graph():
    leaf = Side(inner=4, volume=10, size=3)
    for formula in (imm, emn):
        assert formula(stars()).value(leaf) == 3
        assert formula(replace(stars(), unit=0.25)).value(leaf) == 3 * 0.25


@pytest.mark.parametrize("sign", [-1, 0, 1])
def test_optimistic_sets_take_whatever_lowers_the_score(sign):
    less, more = np.array([[1, 2]]), np.array([[3, 5]])
    found = bounds._optimistic(Costs(less), Costs(more), Costs(sign), None).total
    assert found.tolist() == (more if sign < 0 else less).tolist()
    few, many = Side(inner=2, volume=6, size=2), Side(inner=8, volume=20, size=5)
    taken = bounds.optimistic_side(few, many, Side(inner=sign, volume=sign, size=sign))
    assert taken == (many if sign < 0 else few)


@pytest.mark.parametrize("n_kept", [1, 2])
def test_extra_vertices_lose_the_columns_that_a_table_loses(n_kept):
    # As many columns are kept as there are centres: that must not be mistaken for all columns.
    graph = StarGraph(np.array([0, 1]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    columns = np.array([2, 0])[:n_kept]
    kept = on_columns(replace(imm(graph), start=emn(graph)), columns)
    assert kept.graph.extra.tolist() == graph.centers[:, columns].tolist()
    assert kept.start.graph.extra.tolist() == graph.centers[:, columns].tolist()
    everything = imm(graph)
    assert on_columns(everything, np.arange(3)) is everything


# --- The depth that ExShallow expects -------------------------------------------------------------


def depth_by_hand(n_left: int, n_right: int, k_left: int, k_right: int) -> float:
    """The definition, number by number: all further splits divide like the first, rounded up."""
    points, centers = n_left + n_right, k_left + k_right

    def total(level: int, n: int, k: int) -> int:
        if k == 1:
            return n * level
        first = min(max(ceil(k_left * k / centers), 1), k - 1)
        some = min(max(ceil(n_left * n / points), 1), n - 1)
        if n <= 1:
            some = n if first > k - first else 0
        return total(level + 1, some, first) + total(level + 1, n - some, k - first)

    return (total(1, n_left, k_left) + total(1, n_right, k_right)) / points


@pytest.mark.parametrize("k_right", [1, 2, 3, 5])
@pytest.mark.parametrize("k_left", [1, 2, 4])
def test_expected_depth(k_left, k_right):
    graph = ServingCenters.from_centers(np.zeros((1, 1)), np.zeros((k_left + k_right, 1)))
    objective = shallow_service(graph, 1.0)
    more = (0, 1, 2, 3, 5, 20, 40)  # a side far larger leaves lone points with several centres
    sizes = [(k_left + a, k_right + b) for a in more for b in more]
    for n_left, n_right in sizes:
        left = Service(*(np.array([x]) for x in (2, n_left, k_left, 0)))
        right = Service(*(np.array([x]) for x in (3, n_right, k_right, 1)))
        node = Service(10, n_left + n_right, k_left + k_right, 0)
        # The test on the right repeats one above: it makes no rule longer.
        saved = n_right / (n_left + n_right)
        expected = 0.5 + depth_by_hand(n_left, n_right, k_left, k_right) - saved
        assert objective.score(left, right, node) == pytest.approx([expected])
