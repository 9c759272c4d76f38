"""Compiled scores and bounds equal those by arrays, compiled and as plain Python."""

from dataclasses import replace

import numpy as np
import pytest

from spexplain.engines.histogram.scores import (
    ArrayScores,
    CompiledScores,
    ScoreKernels,
    SearchedNode,
    scores_of,
)
from spexplain.graphs import CliqueGraph, SparseGraph, StarGraph
from spexplain.ledgers import ledger_of
from spexplain.objectives import compilable, emn, gini_cart, imm, spex, volume_cart
from spexplain.records import Side

LABELS = np.repeat([0, 1, 2], [9, 7, 5])
CLIQUES = CliqueGraph.from_labels(LABELS)
STARS = StarGraph(LABELS, np.zeros((3, 1)))


@compilable
def inner_share(left, right, node):
    """A formula that falls in the volume, which none of ours does."""
    return left.inner / left.volume + right.inner / right.volume


OBJECTIVES = {
    "spex": spex(CLIQUES),
    "spex on edges": spex(SparseGraph.from_adjacency(np.ones((3, 3)) - np.eye(3))),
    "gini": gini_cart(CLIQUES),
    "volume": volume_cart(CLIQUES),
    "inner share": replace(
        spex(CLIQUES), score=inner_share, trend=Side(inner=1, volume=-1, size=0)
    ),
    "imm": imm(STARS),
    "emn": emn(STARS),
    "emn product": emn(STARS, "product"),
}


@pytest.fixture(params=list(OBJECTIVES))
def objective(request):
    return OBJECTIVES[request.param]


@pytest.fixture(params=["compiled", "python"])
def both(request, objective):
    """The compiled scores, perhaps by the plain bodies of their kernels, and those by arrays."""
    ledger = ledger_of(objective.graph, objective.trend)
    fast = scores_of(objective, ledger)
    assert isinstance(fast, CompiledScores)
    if request.param == "python":
        plain = (np.errstate(all="ignore")(kernel.py_func) for kernel in fast.kernels)
        fast = fast._replace(kernels=ScoreKernels(*plain))
    return fast, ArrayScores(objective, ledger)


def sums_at_borders(objective, n_borders):
    """Fields of nested left sides, as rows of the labels move to the left in a random order; ties too."""
    rng = np.random.default_rng(5)
    order = rng.permutation(len(LABELS))
    stops = np.sort(rng.integers(0, len(LABELS) + 1, size=n_borders))
    stops[0], stops[-1] = 0, len(LABELS)
    n_left = np.array([np.bincount(LABELS[order[:stop]], minlength=3) for stop in stops])
    sizes = np.bincount(LABELS)
    n_right = sizes - n_left
    inner = [np.sum(n * (n - 1), axis=1) for n in (n_left, n_right)]
    volume = n_left @ (sizes - 1)
    fields = np.stack([*inner, volume, n_left.sum(axis=1), stops, stops]).astype(np.int64)
    node = Side(
        np.int64(np.sum(sizes * (sizes - 1))),
        np.int64(np.sum(sizes * (sizes - 1))),
        np.int64(len(LABELS)),
    )
    return fields, node


@pytest.mark.parametrize("min_samples", [0, 1, 4])
def test_best_gap(both, objective, min_samples):
    fields, node = sums_at_borders(objective, 12)
    asked = SearchedNode(None, node, len(LABELS), len(LABELS), min_samples)
    for first in (False, True):
        fast, slow = (each.best(asked, fields, first=first) for each in both)
        assert fast == slow or fast[0] == slow[0] == np.inf


@pytest.mark.parametrize("min_samples", [0, 1, 4])
def test_bounds(both, objective, min_samples):
    fields, node = sums_at_borders(objective, 8)
    asked = SearchedNode(None, node, len(LABELS), len(LABELS), min_samples)
    several = np.stack(
        [fields, fields[:, np.r_[0, 0, 2:8]], fields[:, np.r_[0, 1, 2, 7, 7, 7, 7, 7]]]
    )
    caps = np.random.default_rng(0).uniform(0.1, 0.9, size=(3, 2, 8))
    fast, slow = np.empty((2, 3, 7))
    found = [
        each.bound(asked, several, caps, bounds)
        for each, bounds in zip(both, (fast, slow), strict=True)
    ]
    assert found[0] == found[1] or found[0][0] == found[1][0] == np.inf
    assert np.array_equal(np.isinf(fast), np.isinf(slow))
    np.testing.assert_allclose(fast, slow, rtol=1e-14)


def random_sums(rng, n_parts, n_borders):
    """Fields of nested sides, small enough for empty sides, few samples and ties; and their question."""
    steps = rng.integers(0, 3, size=(n_parts, 6, n_borders))
    steps[:, 1] = -steps[:, 1]
    # Inner weight is part of the volume, and samples are members.
    steps[:, 2] = np.abs(steps[:, :2]).max(axis=1) + steps[:, 2] * rng.integers(0, 3)
    steps[:, 5] = np.minimum(steps[:, 4], steps[:, 5])
    steps[: n_parts // 2, :, 0] = 0  # nothing lies left of the first border
    fields = np.cumsum(steps, axis=2)
    fields[:, 1] -= fields[:, 1].min()
    most = fields.max(axis=(0, 2))
    volume = np.max(fields[:, 2, -1] + fields[:, 1, -1])
    node = Side(*map(np.int64, (most[0] + most[1] + rng.integers(2, 9), volume, most[3] + 1)))
    asked = SearchedNode(None, node, int(most[4]), int(most[5]), int(rng.integers(0, 4)))
    return fields, asked


@pytest.mark.parametrize("seed", range(30))
def test_random_sums(both, seed):
    rng = np.random.default_rng(seed)
    fields, asked = random_sums(rng, 3, 7)
    for first in (False, True):
        fast, slow = (each.best(asked, fields[0], first=first) for each in both)
        assert fast == slow
    caps = rng.uniform(0.1, 1.0, size=(3, 2, 7))
    fast, slow = np.empty((2, 3, 6))
    found = [
        each.bound(asked, fields, caps, bounds)
        for each, bounds in zip(both, (fast, slow), strict=True)
    ]
    assert found[0] == found[1]
    np.testing.assert_allclose(fast, slow, rtol=1e-14)


@pytest.mark.parametrize("objective", ["spex", "gini", "volume", "inner share"], indirect=True)
@pytest.mark.parametrize("seed", range(10))
def test_corners(both, objective, seed):
    rng = np.random.default_rng(seed)
    wanted = rng.random((2, 4)) < 0.6
    wanted[0, 1] = wanted[1, 2] = True
    ends, asked = random_sums(rng, int(wanted.sum()) * 8, 2)
    # Shape (n_wanted, 2, 4, 8): eight corners, each without and with what else the bin holds.
    corners = ends[:, :4].reshape(-1, 8, 4, 2).transpose(0, 3, 2, 1)
    caps = rng.uniform(0.4, 1.0, size=(2, 2, 5))
    before = np.where(rng.random((2, 4)) < 0.5, -9.0, 0.2)
    fast, slow = before.copy(), before.copy()
    for each, bounds in zip(both, (fast, slow), strict=True):
        each.tighten(asked, np.ascontiguousarray(corners), wanted, caps, bounds)
    np.testing.assert_allclose(fast, slow, rtol=1e-14)
    assert np.array_equal(fast[~wanted], before[~wanted])
    assert np.all(fast >= before)
    assert np.any(fast[wanted] > before[wanted])
