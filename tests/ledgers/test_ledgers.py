"""A ledger tells the same sums however it is asked: for nodes, leaves, sorted orders, or cells of bins."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import graphs as oracle
from spexplain.graphs import (
    CenterCosts,
    CliqueGraph,
    MembershipGraph,
    PairGraph,
    ProductGraph,
    ServingCenters,
    SparseGraph,
    StarGraph,
    WeightedStar,
)
from spexplain.ledgers import (
    AmountLedger,
    EdgeLedger,
    LabelLedger,
    ServiceLedger,
    StarLedger,
    ledger_of,
)
from spexplain.ledgers.labels import CountedBins
from spexplain.objectives import gini_cart, spex
from spexplain.records import Cut, Pair, Side
from strategies import adjacencies_for, labels_for

CUT = Cut(0, 0.0, 0.0, 0.0)
KINDS = [
    "labels",
    "edges",
    "star",
    "furthest",
    "costs",
    "product",
    "pair",
    "shared",
    "loops",
    "heavy",
]


def weighted_graph(data, kind, labels, masses):
    """A graph of weighted samples, and the adjacency of all their copies, added up sample by sample."""
    n, k = len(labels), int(labels.max()) + 1
    if kind == "shared":
        amounts = np.column_stack([masses, masses[::-1] // 2, np.maximum(labels, 0)]).astype(float)
        graph = MembershipGraph.from_amounts(amounts)
        return graph, amounts @ amounts.T - np.diag(amounts.sum(axis=1))
    if kind == "loops":
        adjacency = data.draw(adjacencies_for(n)) + np.diag(masses)
        weights = 1.0 + masses[::-1]
        graph = SparseGraph.from_adjacency(adjacency, sample_weight=weights)
        return graph, adjacency * np.outer(weights, weights) - np.diag(masses * weights)
    amounts = np.zeros((n, k + 1))
    amounts[np.arange(n), labels] = masses + 1.0  # noise finds the last, which is dropped
    joined = np.zeros((n + k, n + k))
    joined[:n, n:] = amounts[:, :-1]
    centers = np.arange(2.0 * k).reshape(k, 2) ** 2
    return WeightedStar.from_amounts(amounts[:, :-1], centers), joined + joined.T


def drawn_graph(data, kind):
    """A graph of that kind, and the adjacency of its vertices where it has edges."""
    n = data.draw(st.integers(2, 8))
    labels = data.draw(labels_for(n))
    if kind in ("labels", "edges"):
        adjacency = data.draw(adjacencies_for(n))
        if kind == "labels":
            adjacency = oracle.clique_adjacency(labels.tolist())
        graph = SparseGraph.from_adjacency(adjacency)
        return CliqueGraph.from_labels(labels) if kind == "labels" else graph, adjacency
    if kind in ("star", "furthest"):
        k = int(labels.max()) + 1
        centers = np.arange(2.0 * k).reshape(k, 2) ** 2
        graph = StarGraph(labels, centers, "any" if kind == "star" else "furthest_l2")
        return graph, oracle.star_adjacency(labels.tolist(), k)
    masses = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)))
    if kind in ("heavy", "loops", "shared"):
        return weighted_graph(data, kind, labels, masses)
    if kind == "costs":
        return CenterCosts(np.column_stack([masses, masses[::-1], labels + 1])), None
    product = masses[:, None] * masses * (1 - np.eye(n))
    if kind == "product":
        return ProductGraph.from_masses(masses), product
    return PairGraph(CliqueGraph.from_labels(labels), ProductGraph.from_masses(masses)), None


def as_numbers(record):
    """The sums of a record as nested lists."""
    return [
        as_numbers(each) if isinstance(each, tuple) else np.asarray(each).tolist()
        for each in record
    ]


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_nodes_orders_and_leaves_agree(kind, data):
    graph, adjacency = drawn_graph(data, kind)
    ledger = ledger_of(graph)
    members = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(ledger.n_vertices)
    state, first_left = ledger.root(), data.draw(st.integers(1, ledger.n_vertices - 1))
    is_left = np.arange(len(members)) < first_left
    parts = ledger.split(state, members, is_left, CUT)
    sides = [
        ledger.node(part, members[side])
        for part, side in zip(parts, (is_left, ~is_left), strict=True)
    ]
    whole = ledger.node(state, members)
    at_gaps = ledger.sorted_sides(state, whole, members[None], np.array([0]))
    for record, many in zip(sides, at_gaps, strict=True):
        flat = zip(record, many, strict=True)
        if isinstance(record, Pair):
            flat = [pair for one, other in flat for pair in zip(one, other, strict=True)]
        elif not isinstance(record, Side):
            flat = [(record.total, many.total)]
        # With the furthest pair, the centres that count differ from node to node.
        fields = list(flat)[: 2 if kind == "furthest" else None]
        for one, other in fields:
            assert np.array_equal(one, other[0, first_left - 1])
    leaves = np.empty(len(members), dtype=np.int64)
    leaves[members] = np.where(is_left, 0, 1)
    by_leaf = ledger.record(ledger.leaf_sums(leaves, 2))
    if isinstance(by_leaf, Pair):
        by_leaf, sides = by_leaf.graph, [side.graph for side in sides]
    for leaf, record in enumerate(sides):
        if isinstance(record, Side):
            fields = 2 if kind == "furthest" else 3
            assert [field[leaf] for field in by_leaf[:fields]] == list(record[:fields])
        else:
            assert np.array_equal(by_leaf.total[leaf], record.total)
    if adjacency is not None:
        for record, side in zip(sides, (is_left, ~is_left), strict=True):
            assert record.inner * graph.unit == oracle.inner(adjacency, members[side])
            assert record.volume * graph.unit == oracle.volume(adjacency, members[side])


@pytest.mark.parametrize("kind", ["labels", "edges", "star", "costs"])
@given(data=st.data())
def test_vertices_of_no_leaf_are_left_out(kind, data):
    graph, _ = drawn_graph(data, kind)
    ledger = ledger_of(graph)
    leaves = np.arange(ledger.n_vertices) % 3 - 1
    kept = np.where(leaves < 0, 2, leaves)
    assert np.array_equal(ledger.leaf_sums(leaves, 2), ledger.leaf_sums(kept, 3)[:, :2])


@pytest.mark.parametrize("kind", ["edges", "star"])
@given(data=st.data())
def test_neighbors(kind, data):
    graph, adjacency = drawn_graph(data, kind)
    ledger = ledger_of(graph)
    indptr, neighbors, weights = ledger.neighbors
    listed = np.zeros(adjacency.shape)
    listed[np.repeat(np.arange(len(adjacency)), np.diff(indptr)), neighbors] = weights * graph.unit
    assert np.array_equal(listed, adjacency)
    assert ledger.vertices[:2].tolist() == [graph.degrees.tolist(), graph.sizes.tolist()]


def test_labels_are_not_needed_for_sums_of_counts():
    class Elsewhere:
        """Labels that nobody may read here."""

        def __len__(self):
            return 6

    counted = CliqueGraph.from_labels([0, 0, 0, 1, 1, -1])
    remote = CliqueGraph(Elsewhere(), counted.cluster_sizes, counted.weights)
    for objective in (spex(counted), gini_cart(counted)):
        here, there = (LabelLedger(graph, objective.trend) for graph in (counted, remote))
        totals = np.array([3, 2, 1])
        assert there.sums(totals).tolist() == [8, 8, 5]
        assert there.is_concave
        assert there.has_one_cluster(np.array([3, 0, 1]))
        assert not there.has_one_cluster(totals)
        cells = np.array([[[1, 0, 0], [2, 1, 1], [0, 1, 0]]], dtype=np.int32)
        starts = np.zeros((1, 3), dtype=np.int32)
        found = []
        for ledger in (here, there):
            fields, caps = np.empty((1, 6, 4), dtype=np.int64), np.empty((1, 2, 4))
            clusters = ledger.clusters(totals)
            ledger.fields_of(cells, starts, clusters, fields, caps)
            bins = CountedBins(cells, starts, fields)
            corners = ledger.corners_of(bins, clusters, np.ones((1, 3), dtype=bool), 1)
            found.append((fields.tolist(), caps.tolist(), corners.tolist()))
        assert found[0] == found[1]
        fields = np.array(found[1][0])[0]
        left = np.concatenate([starts, np.cumsum(cells[0], axis=0)])
        assert np.array_equal(fields[[0, 2, 3]], there.sums(left))
        assert np.array_equal(fields[1], there.sums(totals - left)[0])


def test_fields_of_cells():
    cells = np.array([[[4, 0, 3, 2], [2, 6, 5, 1]]])
    starts = np.array([[1, 1, 1, 1]])
    fields = EdgeLedger.fields_of(cells, starts, Side(10, 20, 5))
    assert fields[0].tolist() == [
        [1, 5, 7], [9, 9, 3], [1, 4, 9], [1, 3, 4], [1, 3, 4], [1, 3, 4],
    ]  # fmt: skip
    fields = AmountLedger.fields_of(cells, starts)
    assert fields[0].tolist() == [[1, 5, 7], [1, 1, 7], [1, 4, 9], [1, 3, 4], [1, 3, 4]]


def test_stars_from_counts():
    labels, centers = np.array([0, 0, 1, 1, 1, -1]), np.array([[0.0], [2.0]])
    ledger = StarLedger(StarGraph(labels, centers))
    totals, inside = np.array([2, 3, 1]), np.array([0, 1])
    remote = StarLedger(StarGraph(labels[:0], centers))
    remote.center_degrees = totals[:-1]
    for each in (ledger, remote):
        assert each.sums(totals, inside).tolist() == [10, 10, 2]
        cells = np.array([[[2, 1, 0], [0, 2, 1]]], dtype=np.int32)
        fields = np.empty((1, 6, 3), dtype=np.int64)
        each.fields_of(
            cells,
            np.zeros((1, 3), np.int32),
            each.table(totals, inside),
            np.array([[0, 1]]),
            fields,
            has_centers=False,
        )
        # Left of the middle border: three samples, and the centre of two of them.
        assert fields[0, :, 1].tolist() == [4, 4, 5, 1, 4, 3]


def test_refusals():
    served = ServingCenters.from_centers(np.eye(3), np.eye(3)[:2])
    assert isinstance(ledger_of(served), ServiceLedger)
    with pytest.raises(TypeError, match="sums of many leaves at once are not known for a Serving"):
        ledger_of(served).leaf_sums(np.zeros(5, dtype=int), 1)
    with pytest.raises(TypeError, match="No ledger is known for graphs of type int"):
        ledger_of(3)


def test_ledgers_load_no_compiler():
    program = (
        "import sys, numpy as np; from spexplain.ledgers import ledger_of; from spexplain.graphs import CliqueGraph;"
        "ledger = ledger_of(CliqueGraph.from_labels([0, 0, 1])); "
        "assert ledger.node(ledger.root(), np.arange(3)).inner == 2; assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
