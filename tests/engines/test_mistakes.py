"""The search of IMM among many centres grows the tree of the exhaustive engine, to the last tie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from growing import grown
from spexplain import IMM
from spexplain.engines import NumpyEngine
from spexplain.engines import mistakes as engine
from spexplain.engines.histogram import HistogramEngine, HistogramSearch
from spexplain.engines.mistakes import MistakeSearch
from spexplain.graphs import StarGraph, WeightedStar
from spexplain.grow import grow
from spexplain.objectives import emn, imm
from spexplain.records import Cut
from spexplain.table.views import SearchedMatrix
from spexplain.threads import Threads
from strategies import columns, labels_for, tables


def searched(X, objective, min_samples_leaf=1, n_threads=1):
    extra = np.ascontiguousarray(objective.graph.extra.T, dtype=np.float64)
    matrix = SearchedMatrix.of(X)
    return MistakeSearch(matrix, extra, objective, Threads(n_threads), min_samples_leaf)


def check(X, objective, *, max_leaves, min_samples_leaf=1, **how):
    expected = grown(
        NumpyEngine(), X, objective, max_leaves=max_leaves, min_samples_leaf=min_samples_leaf
    )
    search = searched(X, objective, min_samples_leaf, **how)
    assert grow(search, max_leaves=max_leaves) == expected


def many_centers(n_rows=900, n_features=4, n_centers=120, seed=0, *, digits=1):
    """A table in which many samples lie nearer to other centres, with ties."""
    rng = np.random.default_rng(seed)
    centers = np.round(2 * rng.standard_cauchy((n_centers, n_features)), digits)
    labels = rng.integers(-1, n_centers, size=n_rows)
    X = np.round(centers[labels] + rng.normal(size=(n_rows, n_features)), digits)
    return X, labels, centers


@given(
    data=st.data(),
    pairs=st.sampled_from(["any", "furthest_l1", "furthest_l2"]),
    max_leaves=st.integers(2, 8),
    min_samples_leaf=st.integers(1, 3),
)
def test_small_tables(data, pairs, max_leaves, min_samples_leaf):
    X = data.draw(tables(max_rows=40))
    labels = data.draw(labels_for(len(X)))
    drawn = [data.draw(columns(int(labels.max()) + 1)) for _ in range(X.shape[1])]
    star = StarGraph(labels, np.array(drawn).T * 0.25, pairs)
    check(X, imm(star), max_leaves=max_leaves, min_samples_leaf=min_samples_leaf)


@given(data=st.data(), max_leaves=st.integers(2, 6))
def test_weighted_samples_of_several_centres(data, max_leaves):
    X = data.draw(tables())
    n_centers = data.draw(st.integers(2, 5))
    drawn = [data.draw(columns(n_centers)) for _ in range(X.shape[1])]
    amounts = st.sampled_from([0.0, 0.0, 0.25, 1.0, 3.0, 0.1])
    shares = [[data.draw(amounts) for _ in range(n_centers)] for _ in range(len(X))]
    star = WeightedStar.from_amounts(np.array(shares), np.array(drawn).T * 0.25)
    check(X, imm(star), max_leaves=max_leaves)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("min_samples_leaf", [1, 5])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_many_centres_that_are_cut_off_one_by_one(seed, min_samples_leaf, n_threads, monkeypatch):
    monkeypatch.setattr(engine, "_N_SHARED", 1)
    X, labels, centers = many_centers(seed=seed, digits=seed % 3)
    objective = imm(StarGraph(labels, centers))
    check(
        X.astype(np.float32 if seed % 2 else np.float64),
        objective,
        max_leaves=200,
        min_samples_leaf=min_samples_leaf,
        n_threads=n_threads,
    )


def test_furthest_pairs_of_many_centres():
    X, labels, centers = many_centers(n_rows=300, n_centers=40)
    check(X, imm(StarGraph(labels, centers, "furthest_l2")), max_leaves=60)


def test_centres_without_samples_are_parted_too():
    rng = np.random.default_rng(0)
    centers = rng.integers(0, 50, size=(80, 2)).astype(np.float64)
    X = rng.integers(0, 50, size=(3, 2)).astype(np.float64)
    check(X, imm(StarGraph(np.array([0, -1, 70]), centers)), max_leaves=100)


def test_a_node_can_be_split_in_several_ways():
    X, labels, centers = many_centers(n_rows=200, n_centers=20)
    objective = imm(StarGraph(labels, centers))
    search, plain = searched(X, objective), NumpyEngine().bind(X, objective)
    root, expected = search.root(), plain.root()
    cuts = [plain.best_cuts([expected])[0], Cut(1, 0.5, 0.0, 0.0), Cut(2, 3.0, 0.0, 0.0, -1.0)]
    for cut in [*cuts, cuts[0]]:
        for part, twin in zip(search.split(root, cut), plain.split(expected, cut), strict=True):
            np.testing.assert_array_equal(part.members(), np.sort(twin.members))
            assert search.size(part) == plain.size(twin)
            assert search.value(part) == plain.value(twin)
            assert search.best_cuts([part]) == plain.best_cuts([twin])
        assert search.best_cuts([root]) == plain.best_cuts([expected])


def test_an_earlier_tree_is_grown_further():
    X, labels, centers = many_centers(n_rows=300, n_centers=30)
    objective = imm(StarGraph(labels, centers))
    plain = NumpyEngine().bind(X, objective)
    first = grow(plain, max_leaves=9)
    assert grow(searched(X, objective), max_leaves=40, start=first) == grow(
        NumpyEngine().bind(X, objective), max_leaves=40, start=first
    )


def test_the_compiled_engine_takes_it_where_it_pays(monkeypatch):
    monkeypatch.setattr(engine, "_MANY_CENTERS", 50)
    X, labels, centers = many_centers()
    bind = HistogramEngine().bind
    assert isinstance(bind(X, imm(StarGraph(labels, centers))), MistakeSearch)
    assert isinstance(bind(X, emn(StarGraph(labels, centers))), HistogramSearch)
    few = imm(StarGraph(labels % 40, centers[:40]))
    assert isinstance(bind(X, few), HistogramSearch)
    gaps = SearchedMatrix(X, np.array([0, 0, 1]), np.array([-1e9, 1e9, np.nan]))
    graph = StarGraph(labels, centers[:, [0, 0, 1]])
    assert isinstance(bind(gaps, imm(graph)), HistogramSearch)


def test_fits_are_the_same(monkeypatch):
    monkeypatch.setattr(engine, "_MANY_CENTERS", 50)
    X, labels, _ = many_centers()
    fitted = [IMM(engine=name).fit(X, labels) for name in ("numpy", "histogram")]
    assert fitted[0].tree_ == fitted[1].tree_
    np.testing.assert_array_equal(fitted[0].leaf_reference_, fitted[1].leaf_reference_)


@pytest.mark.parametrize("kind", ["categories", "missing", "weights"])
def test_fits_of_other_tables_are_the_same(kind, monkeypatch):
    monkeypatch.setattr(engine, "_MANY_CENTERS", 50)
    pandas = pytest.importorskip("pandas")
    X, labels, _ = many_centers(n_rows=400, n_centers=60)
    rng = np.random.default_rng(0)
    frame, weights = pandas.DataFrame(X, columns=list("abcd")), None
    if kind == "categories":
        frame["e"] = rng.choice(["u", "v", "w"], len(X))
    elif kind == "missing":
        frame.loc[::9, "a"] = np.nan
    else:
        weights = rng.integers(1, 4, len(X))
    trees = [
        IMM(engine=name).fit(frame, labels, sample_weight=weights).tree_
        for name in ("numpy", "histogram")
    ]
    assert trees[0] == trees[1]
