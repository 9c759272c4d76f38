"""Compiled scores and bounds equal those by arrays, compiled and as plain Python."""

import numpy as np
import pytest

from spexplain.engines.histogram import compiled, counts_of
from spexplain.engines.histogram.scoring import (
    ArrayScoring,
    CompiledScoring,
    Question,
    scoring_of,
)
from spexplain.graphs import CliqueGraph, StarGraph
from spexplain.objectives import emn, gini_cart, imm, spex, volume_cart
from spexplain.records import Side

LABELS = np.repeat([0, 1, 2], [9, 7, 5])
CLIQUES = CliqueGraph.from_labels(LABELS)
STARS = StarGraph(LABELS, np.zeros((3, 1)))
OBJECTIVES = {
    "spex": spex(CLIQUES),
    "gini": gini_cart(CLIQUES),
    "volume": volume_cart(CLIQUES),
    "imm": imm(STARS),
    "emn": emn(STARS),
    "emn product": emn(STARS, "product"),
}


@pytest.fixture(params=list(OBJECTIVES))
def objective(request):
    return OBJECTIVES[request.param]


@pytest.fixture(params=["compiled", "python"])
def both(request, objective, monkeypatch):
    """The compiled scoring, perhaps by the plain bodies of its kernels, and the one by arrays."""
    if request.param == "python":
        for name in dir(compiled):
            if hasattr(kernel := getattr(compiled, name), "py_func"):
                monkeypatch.setattr(compiled, name, np.errstate(all="ignore")(kernel.py_func))
    counts = counts_of(objective.graph, objective.trend)
    fast = scoring_of(objective, counts)
    assert isinstance(fast, CompiledScoring)
    return fast, ArrayScoring(objective, counts)


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
    asked = Question(None, node, len(LABELS), len(LABELS), min_samples)
    for first in (False, True):
        fast, slow = (each.best(asked, fields, first=first) for each in both)
        assert fast == slow or fast[0] == slow[0] == np.inf


@pytest.mark.parametrize("min_samples", [0, 1, 4])
def test_bounds(both, objective, min_samples):
    fields, node = sums_at_borders(objective, 8)
    asked = Question(None, node, len(LABELS), len(LABELS), min_samples)
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
    assert np.allclose(fast, slow, rtol=1e-14)


@pytest.mark.parametrize("name", ["spex", "gini"])
def test_corners(name):
    objective = OBJECTIVES[name]
    counts = counts_of(objective.graph, objective.trend)
    fields, node = sums_at_borders(objective, 9)
    asked = Question(None, node, len(LABELS), len(LABELS), 1)
    rng = np.random.default_rng(2)
    wanted = rng.random((2, 4)) < 0.6
    corners = np.stack([fields[:4, :4], fields[:4, 4:8]])[None].repeat(wanted.sum(), axis=0)
    caps = rng.uniform(0.1, 0.9, size=(2, 2, 5))
    fast, slow = np.full((2, 2, 4), -0.5)
    scoring_of(objective, counts).tighten(asked, corners, wanted, caps, fast)
    ArrayScoring(objective, counts).tighten(asked, corners, wanted, caps, slow)
    assert np.allclose(fast, slow, rtol=1e-14)
    assert np.all(fast[~wanted] == -0.5)
    assert np.any(fast[wanted] > -0.5)
