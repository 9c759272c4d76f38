"""No score inside a bin lies below what the walk of its rows allows, whatever their order and partitions."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spexplain.engines.dask.bounds import clique_falls, path_bounds, whole_steps_of
from spexplain.engines.dask.worker import _rises
from spexplain.graphs import CliqueGraph
from spexplain.objectives import Objective, gini_cart, spex
from spexplain.records import Side


def tilted(graph: CliqueGraph) -> Objective:
    """A formula with terms linear in volumes and sizes, and sides that do not count alike."""
    plain = spex(graph)

    def score(left, right, node):
        tilt = (3 * left.volume + right.volume) / node.volume - 2 * left.size / node.size
        return tilt - 2 * left.inner / left.volume - right.inner / right.volume

    return replace(plain, score=score)


FORMULAS = {
    "spex": lambda labels: spex(CliqueGraph.from_labels(labels)),
    "weighted": lambda labels: spex(CliqueGraph.from_labels(labels, "inverse_size")),
    "gini": lambda labels: gini_cart(CliqueGraph.from_labels(labels)),
    "tilted": lambda labels: tilted(CliqueGraph.from_labels(labels)),
}


def sides_of(clusters, left):
    """Exact sums left and right of cuts with these labels on the left."""
    totals, weights, degrees, counted = clusters
    return [Side((a * (a - 1)) @ weights, a @ degrees, a @ counted) for a in (left, totals - left)]


def case_of(name, labels):
    """An objective, what its clusters are in the root, and the sums over the root."""
    objective = FORMULAS[name](labels)
    graph = objective.graph
    degrees = graph.weights * (graph.cluster_sizes - 1)
    sizes = np.asarray(graph.cluster_sizes)
    clusters = np.stack([sizes, graph.weights, degrees, np.ones_like(sizes)])
    whole = sides_of(clusters, sizes[None])[0]
    return objective, clusters, Side(*(field[0] for field in whole))


@pytest.mark.parametrize("name", FORMULAS)
@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    shape=st.tuples(st.integers(1, 5), st.integers(4, 400), st.integers(1, 5)),
)
def test_bounds_hold_for_every_cut_of_the_walk(name, seed, shape):
    n_clusters, n_rows, n_parts = shape
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_clusters, n_rows)
    objective, clusters, node = case_of(name, labels)

    start, stop = np.sort(rng.choice(n_rows + 1, 2, replace=False))
    order = rng.permutation(n_rows) if rng.random() < 0.5 else np.argsort(labels)
    walk = np.eye(objective.graph.n_clusters, dtype=np.int64)[labels[order]]
    left, inside = walk[:start].sum(axis=0)[None], walk[start:stop].sum(axis=0)[None]
    # The steps in which the walk is measured are those of a larger interval around the bin.
    before, after = rng.integers(0, start + 1), rng.integers(stop, n_rows + 1)
    around = walk[:before].sum(axis=0)[None], walk[before:after].sum(axis=0)[None]
    with np.errstate(divide="ignore", invalid="ignore"):
        falls = clique_falls(objective, node, clusters, left, inside)
        measured = clique_falls(objective, node, clusters, *around)
        first = objective.score(*sides_of(clusters, left), node)
        cuts = left + np.cumsum(walk[start : stop - 1], axis=0)
        scores = objective.score(*sides_of(clusters, cuts), node)
    rounded = whole_steps_of(measured.steps[0], int(after - before))

    owner = rng.integers(0, n_parts, stop - start)
    highest = 0
    for part in range(n_parts):
        own = np.flatnonzero(owner == part)
        if len(own):
            steps = rounded.steps.astype(np.int64)[labels[order][start:stop][own]]
            highest += int(_rises(steps, own.astype(float), np.array([0]))[0])
    assert highest < 2**31
    found = path_bounds(
        first, falls, inside, rounded.unit * rounded.steps[None], np.array([rounded.unit * highest])
    )
    assert not np.any(scores < found)


@pytest.mark.parametrize("name", FORMULAS)
@settings(max_examples=60)
@given(seed=st.integers(0, 10_000))
def test_falls_hold_where_clusters_move_as_a_whole(name, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, rng.integers(20, 300))
    objective, clusters, node = case_of(name, labels)
    sizes = clusters[0]
    left = rng.integers(1, np.maximum(sizes, 2))[None]
    inside = rng.integers(0, np.maximum(sizes - left, 1))
    chosen = np.array(list(product([0, 1], repeat=len(sizes)))) * inside
    with np.errstate(divide="ignore", invalid="ignore"):
        falls = clique_falls(objective, node, clusters, left, inside)
        scores = objective.score(*sides_of(clusters, left + chosen), node)
        first = objective.score(*sides_of(clusters, left), node)
    lowest = first - chosen @ falls.steps[0] - falls.slack
    assert not np.any(scores < lowest - 1e-12 * np.abs(first))


@pytest.mark.parametrize("name", ["spex", "weighted", "gini"])
def test_one_partition_misses_by_the_second_order_only(name):
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, 4, 40_000) + rng.normal(0, 1, 40_000)).astype(int) % 4
    misses = []
    for width in (4000, 400):
        objective, clusters, node = case_of(name, labels)
        walk = np.eye(objective.graph.n_clusters, dtype=np.int64)[labels]
        left = walk[:20_000].sum(axis=0)[None]
        inside = walk[20_000 : 20_000 + width].sum(axis=0)[None]
        falls = clique_falls(objective, node, clusters, left, inside)
        steps = falls.steps[0][labels[20_000 : 20_000 + width]]
        highest = np.maximum(np.cumsum(steps).max(), 0.0)
        first = objective.score(*sides_of(clusters, left), node)
        found = path_bounds(first, falls, inside, falls.steps, np.array([highest]))
        cuts = left + np.cumsum(walk[20_000 : 20_000 + width], axis=0)
        scores = objective.score(*sides_of(clusters, cuts), node)
        misses.append(min(first[0], scores.min()) - found[0])
    assert 0 <= misses[1] < misses[0] / 50


def test_walks_end_only_between_different_values():
    steps = np.array([5, -9, 3, 2, -1])
    assert _rises(steps, np.array([1.0, 1.0, 2.0, 3.0, 4.0]), np.array([0])).tolist() == [1]
    assert _rises(steps, np.arange(5.0), np.array([0, 2])).tolist() == [5, 5]
