"""The engine contract: thresholds between values, order among ties, and engines by name."""

from sys import float_info

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spexplain.engines import Engine, NumpyEngine, resolve_engine
from spexplain.engines.exhaustive import midpoint
from spexplain.graphs import CliqueGraph, SparseGraph
from spexplain.objectives import Objective, spex
from spexplain.threads import count_threads

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE)
def test_midpoint_parts_any_two_values(a, b):
    low, high = sorted((a, b))
    if low < high:
        assert low <= midpoint(low, high) < high


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.0, 2.0, 1.5),
        (-float_info.max, float_info.max, 0.0),
        (float_info.max / 2, float_info.max, float_info.max * 0.75),
        (1.0, np.nextafter(1.0, 2.0), 1.0),
        (np.nextafter(1.0, 0.0), 1.0, np.nextafter(1.0, 0.0)),
        (0.0, 5e-324, 0.0),
        (-5e-324, 0.0, -5e-324),
    ],
)
def test_midpoint_at_the_limits(low, high, expected):
    assert midpoint(low, high) == expected


def best(engine: Engine, X, labels, **options):
    search = engine.bind(np.asarray(X, float), spex(CliqueGraph.from_labels(labels)), **options)
    return search.best_cuts([search.root()])[0]


def test_equal_scores_go_to_the_lowest_feature(engine):
    column = [0.0, 0.0, 1.0, 1.0]
    cut = best(engine, np.c_[np.zeros(4), column, column], [0, 0, 1, 1])
    assert (cut.feature, cut.threshold) == (1, 0.5)


def test_equal_scores_go_to_the_lowest_threshold(engine):
    cut = best(engine, [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 0])
    assert cut.threshold == 0.5  # as good as 2.5


def test_pure_node_takes_the_first_cut_although_rounding_prefers_another(engine):
    # All cuts of a whole cluster score N/(N-1) on paper, but not in floats.
    for n in range(3, 40):
        cut = best(engine, np.c_[np.zeros(n), np.arange(n)], np.zeros(n, dtype=int))
        assert (cut.feature, cut.threshold) == (1, 0.5)


def test_equal_values_are_never_parted(engine):
    cut = best(engine, [[0.0], [1.0], [1.0], [1.0]], [0, 0, 1, 1])
    assert cut.threshold == 0.5


def test_fewest_samples_of_a_leaf(engine):
    X, labels = np.arange(6.0)[:, None], [0, 1, 1, 1, 1, 1]
    assert best(engine, X, labels, min_samples_leaf=2).threshold == 1.5
    assert best(engine, X, labels, min_samples_leaf=4) is None


@pytest.mark.parametrize(
    ("X", "labels"),
    [([[1.0], [1.0]], [0, 0]), ([[0.0], [1.0]], [0, 1]), ([[0.0], [1.0]], [-1, -1])],
    ids=["duplicates", "singletons", "noise"],
)
def test_no_valid_cut(engine, X, labels):
    assert best(engine, X, labels) is None


def test_isolated_samples_are_not_peeled_off(engine):
    adjacency = np.zeros((5, 5))
    for x, y in [(1, 2), (3, 4), (2, 3)]:
        adjacency[x, y] = adjacency[y, x] = 1
    search = engine.bind(np.arange(5.0)[:, None], spex(SparseGraph.from_adjacency(adjacency)))
    root = search.root()
    cut = search.best_cuts([root])[0]
    assert cut.threshold == 2.5
    left, right = search.split(root, cut)
    assert (search.size(root), search.size(left), search.size(right)) == (5, 3, 2)
    assert search.value(root) == 0


def test_neighbouring_floats(engine):
    low, high = 1.0, np.nextafter(1.0, 2.0)
    cut = best(engine, [[low], [low], [high], [high]], [0, 0, 1, 1])
    assert cut.threshold == low


def test_values_at_the_limits_of_floats(engine):
    cut = best(engine, [[-float_info.max]] * 2 + [[float_info.max]] * 2, [0, 0, 1, 1])
    assert cut.threshold == 0


def test_formula_may_refuse_cuts_by_nan_or_infinity(engine):
    graph = CliqueGraph.from_labels([0, 0, 1, 1])

    def refuse_all_but_the_third_gap(left, right, node):
        return np.where(left.size == 3, 7.0, np.where(left.size == 1, np.nan, np.inf))

    picky = Objective("picky", graph, refuse_all_but_the_third_gap, value=lambda node: 0.0)
    search = engine.bind(np.arange(4.0)[:, None], picky)
    cut = search.best_cuts([search.root()])[0]
    assert (cut.threshold, cut.score, cut.priority) == (2.5, 7.0, 7.0)


def test_graph_of_an_unknown_kind():
    class Unknown:
        extra = None

    with pytest.raises(TypeError, match="No ledger is known for graphs of type Unknown"):
        NumpyEngine().bind(np.zeros((2, 1)), spex(Unknown()))


def test_engine_by_name():
    assert resolve_engine("numpy", n_jobs=3) == NumpyEngine(n_jobs=3)
    assert isinstance(resolve_engine("auto"), Engine)
    own = NumpyEngine(n_jobs=2)
    assert resolve_engine(own, n_jobs=7) is own


@pytest.mark.parametrize("name", ["nope", None, 1, NumpyEngine], ids=str)
def test_unknown_engine(name):
    with pytest.raises(ValueError, match=r"^engine=.* is not known; use .*\.$"):
        resolve_engine(name)


def test_number_of_threads(monkeypatch):
    monkeypatch.setattr("spexplain.threads.cpu_count", lambda: 8)
    assert [count_threads(n) for n in (None, 1, 5, -1, -2, -99)] == [1, 1, 5, 8, 7, 1]
    for wrong in (0, 1.5, "2"):
        with pytest.raises(ValueError, match="n_jobs="):
            count_threads(wrong)
