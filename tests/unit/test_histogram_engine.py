"""The histogram engine grows the tree of the exhaustive engine, bit for bit, however it bins and shares work."""

import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spexplain.engines import NumpyEngine, resolve_engine
from spexplain.engines.histogram import HistogramEngine, binning, compiled, counts_of, node, tally
from spexplain.engines.histogram import engine as histogram
from spexplain.engines.threads import Threads
from spexplain.graphs import (
    CenterCosts,
    CliqueGraph,
    PairGraph,
    ProductGraph,
    SparseGraph,
    StarGraph,
)
from spexplain.grow import grow
from spexplain.objectives import (
    Objective,
    emn,
    exkmc,
    gini_cart,
    imm,
    non_uniform_cut,
    spex,
    volume_cart,
)
from strategies import adjacencies_for, columns, graph_tables, labelled_tables, labels_for, tables

ON_LABELS = {
    "unit": lambda labels: spex(CliqueGraph.from_labels(labels)),
    "inverse_size": lambda labels: spex(CliqueGraph.from_labels(labels, "inverse_size")),
    "gini": lambda labels: gini_cart(CliqueGraph.from_labels(labels)),
    "gini_by_size": lambda labels: gini_cart(CliqueGraph.from_labels(labels), "size"),
    "volume": lambda labels: volume_cart(CliqueGraph.from_labels(labels)),
}
ON_STARS = {
    "imm": imm,
    "emn": emn,
    "emn_product": lambda graph: emn(graph, "product"),
}
LIMITS = st.fixed_dictionaries(
    {"max_leaves": st.integers(2, 8), "min_samples_leaf": st.integers(1, 3)}
)


@pytest.fixture(params=[2, 3, 7, 255], scope="module")
def max_bins(request):
    return request.param


@pytest.fixture(params=["bounds", "zoom", "sweep"], autouse=True, scope="module")
def path(request):
    """Search by bounds, by bounds in two steps, or sweep small nodes whole, which all of small tables are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node, "_N_SHARED", 0)
        if request.param != "sweep":
            patch.setattr(histogram, "_N_SMALL", 1)
            patch.setattr(tally.Tallies, "rows_per_bin", 1)
            patch.setattr(node, "_MUCH", 0.0)
        if request.param == "zoom":
            patch.setattr(tally, "_ROWS_PER_KEPT_CELL", 0.0)
            patch.setattr(tally.Tallies, "most_bins", 2)
            patch.setattr(node, "_N_ZOOMED", 0)
            patch.setattr(node, "_SHARE_ZOOMED", 0.0)
        yield request.param


def grown(engine, X, objective, *, max_leaves=8, min_samples_leaf=1):
    return grow(engine.bind(X, objective, min_samples_leaf=min_samples_leaf), max_leaves=max_leaves)


def check(X, objective, max_bins, **limits):
    expected = grown(NumpyEngine(), X, objective, **limits)
    assert grown(HistogramEngine(max_bins=max_bins), X, objective, **limits) == expected


def star(X, labels, pairs="any"):
    centers = [X[labels == c].astype(np.float64).mean(axis=0) for c in range(labels.max() + 1)]
    return StarGraph(labels, np.array(centers), pairs)


def heavy_tailed(n_rows=700, n_features=6, seed=0, dtype=np.float64):
    """A cluster structure under noise, in columns with ties, gaps, huge tails and constants."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, size=n_rows)
    X = rng.normal(size=(5, n_features))[labels] + rng.normal(size=(n_rows, n_features))
    X[:, 0] = np.exp(4 * X[:, 0])
    X[:, 1] = rng.standard_cauchy(n_rows)
    X[:, 2] = np.round(X[:, 2])
    X[:, 3] = np.where(rng.random(n_rows) < 0.6, 0.0, X[:, 3])
    X[:, 4] = 1.5
    labels[rng.random(n_rows) < 0.1] = -1
    labels[:5] = np.arange(5)
    return X.astype(dtype), labels


@pytest.mark.parametrize("objective", ON_LABELS.values(), ids=ON_LABELS.keys())
@given(case=labelled_tables(), limits=LIMITS)
def test_labels(objective, max_bins, case, limits):
    X, labels = case
    check(X, objective(labels), max_bins, **limits)


@given(case=graph_tables(any_weight=True), limits=LIMITS)
def test_weighted_edges(max_bins, case, limits):
    X, adjacency = case
    check(X, spex(SparseGraph.from_adjacency(adjacency)), max_bins, **limits)


@given(case=graph_tables(), limits=LIMITS)
def test_edges_of_small_weights(max_bins, case, limits):
    X, adjacency = case
    check(X, spex(SparseGraph.from_adjacency(np.ceil(adjacency))), max_bins, **limits)


@pytest.mark.parametrize("objective", ON_STARS.values(), ids=ON_STARS.keys())
@given(data=st.data(), limits=LIMITS)
def test_stars(objective, max_bins, data, limits):
    X = data.draw(tables())
    labels = data.draw(labels_for(len(X)))
    n_centers = int(labels.max()) + 1
    drawn = [data.draw(columns(n_centers)) for _ in range(X.shape[1])]
    centers = np.array(drawn).T * 0.25
    pairs = data.draw(st.sampled_from(["any", "furthest_l1", "furthest_l2"]))
    check(X, objective(StarGraph(labels, centers, pairs)), max_bins, **limits)


@given(data=st.data(), limits=LIMITS)
def test_costs(max_bins, data, limits):
    X = data.draw(tables())
    n_centers = data.draw(st.integers(1, 4))
    drawn = [data.draw(columns(n_centers)) for _ in range(X.shape[1])]
    centers = np.array(drawn).T * data.draw(st.sampled_from([0.25, 0.3]))
    check(X, exkmc(CenterCosts.from_centers(X, centers)), max_bins, **limits)


@given(data=st.data(), limits=LIMITS)
def test_pairs(max_bins, data, limits):
    X = data.draw(tables())
    kinds = st.sampled_from(["edges", "labels", "product", "star"])
    centers = np.array([data.draw(columns(5)) for _ in range(X.shape[1])]).T * 0.25
    labels = data.draw(labels_for(len(X)))

    def graph(kind):
        if kind == "edges":
            drawn = adjacencies_for(len(X), any_weight=data.draw(st.booleans()))
            return SparseGraph.from_adjacency(data.draw(drawn))
        if kind == "labels":
            return CliqueGraph.from_labels(labels)
        return ProductGraph.from_masses(
            data.draw(st.lists(st.integers(0, 9), min_size=len(X), max_size=len(X)))
        )

    kind = data.draw(kinds)
    if kind == "star":
        pair = PairGraph(StarGraph(labels, centers), StarGraph(labels[::-1].copy(), centers))
    else:
        pair = PairGraph(graph(kind), graph(data.draw(kinds.filter(lambda kind: kind != "star"))))
    assume(pair.graph.degrees.sum() > 0)
    check(X, non_uniform_cut(pair), max_bins, **limits)


@pytest.mark.parametrize(
    ("n_jobs", "order", "dtype"),
    [(1, "C", np.float32), (2, "F", np.float64), (3, "neither", np.float32), (2, "C", np.float64)],
)
def test_heavy_tails_and_ties(max_bins, n_jobs, order, dtype):
    X, labels = heavy_tailed(dtype=dtype)
    X = np.repeat(X, 2, axis=1)[:, ::2] if order == "neither" else np.asarray(X, order=order)
    rng = np.random.default_rng(1)
    weights = rng.choice([0.0, 1.0, 2.0], p=[0.99, 0.005, 0.005], size=(len(X), len(X)))
    engine = HistogramEngine(n_jobs=n_jobs, max_bins=max_bins)
    edges = SparseGraph.from_adjacency(np.maximum(weights, weights.T))
    others = SparseGraph.from_adjacency(0.3 * np.maximum(weights, weights.T)[::-1, ::-1])
    for objective in [
        *(make(labels) for make in ON_LABELS.values()),
        spex(edges),
        spex(others),
        exkmc(CenterCosts.from_centers(X, star(X, labels).centers)),
        *(
            non_uniform_cut(PairGraph(*pair))
            for pair in [
                (edges, others),
                (edges, ProductGraph.from_masses(edges.degrees)),
                (CliqueGraph.from_labels(labels), others),
                (CliqueGraph.from_labels(labels), ProductGraph.from_masses(np.ones(len(X)))),
            ]
        ),
        *(make(star(X, labels, "furthest_l2")) for make in ON_STARS.values()),
    ]:
        expected = grown(NumpyEngine(), X, objective, min_samples_leaf=2)
        assert grown(engine, X, objective, min_samples_leaf=2) == expected


def test_every_way_to_count(path, monkeypatch):
    X, labels = heavy_tailed(n_rows=3000)
    objective = spex(CliqueGraph.from_labels(labels))
    expected = grown(NumpyEngine(), X, objective, max_leaves=12)
    for rows_per_kept_cell in (0.1, 1.0, 9e9):
        monkeypatch.setattr(tally, "_ROWS_PER_KEPT_CELL", rows_per_kept_cell)
        for max_bins in (16, 255):
            assert (
                grown(HistogramEngine(max_bins=max_bins), X, objective, max_leaves=12) == expected
            )


def test_formula_without_a_trend_is_searched_exhaustively(max_bins):
    X, labels = heavy_tailed(n_rows=200)

    def score(left, right, node):
        return np.abs(np.sin(left.inner) + np.cos(right.volume))

    for graph in (CliqueGraph.from_labels(labels), star(X, labels)):
        check(X, Objective("wild", graph, score, lambda node: 0.0), max_bins)


def test_a_formula_of_somebody_else_is_scored_by_arrays(max_bins):
    X, labels = heavy_tailed(n_rows=200)
    objectives = [make(labels) for make in ON_LABELS.values()]
    objectives += [make(star(X, labels)) for make in ON_STARS.values()]
    for objective in objectives:
        strange = replace(objective, score=lambda *sides, known=objective.score: known(*sides))
        check(X, strange, max_bins, min_samples_leaf=2)


def test_nodes_may_be_asked_for_one_by_one_and_again():
    X, labels = heavy_tailed()
    objective = spex(CliqueGraph.from_labels(labels))
    search, twin = (
        engine.bind(X, objective) for engine in (HistogramEngine(max_bins=7), NumpyEngine())
    )
    node, other = search.root(), twin.root()
    for _ in range(4):
        (cut,), (expected,) = search.best_cuts([node]), twin.best_cuts([other])
        assert search.best_cuts([node]) == [cut] == [expected]
        parts, others = search.split(node, cut), twin.split(other, cut)
        assert [search.best_cuts([part]) for part in parts] == [
            twin.best_cuts([part]) for part in others
        ]
        node, other = max(zip(parts, others, strict=True), key=lambda pair: search.size(pair[0]))


@given(column=columns(30), extreme=st.booleans())
def test_bins_never_decrease_with_the_value(max_bins, column, extreme):
    values = np.array(column, dtype=np.float64)
    if extreme:
        values[:3] = [1e308, -1e308, 5e-324]
    extra = np.array([[0.5, values.max(), -2.5]])
    for row_major in (False, True):
        codes, solid = binning.bin_table(
            values[None], extra, max_bins, Threads(1), row_major=row_major
        )
        everything = np.r_[values, extra[0]]
        order = np.argsort(everything, kind="stable")
        assert np.all(np.diff(codes[0, order].astype(int)) >= 0)
        assert np.all(codes[0][everything == values.max()] == codes[0, np.argmax(values)])
        for b in np.flatnonzero(solid[0]):
            assert len(set(everything[codes[0] == b])) == 1


def test_bins_are_balanced_and_single_values_known():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=20_000), rng.standard_cauchy(20_000), rng.integers(0, 9, 20_000)]
    )
    codes, solid = binning.bin_table(
        np.ascontiguousarray(X.T), np.empty((3, 0)), 255, Threads(2), row_major=False
    )
    for f in range(2):
        counts = np.bincount(codes[f], minlength=255)
        assert np.count_nonzero(counts) > 240
        assert counts.max() < 4 * 20_000 / 255
    assert np.count_nonzero(solid[2]) == len(np.unique(codes[2])) == 9


def test_bins_are_counted(path):
    X, labels = heavy_tailed(n_rows=3000)
    search = HistogramEngine().bind(X, spex(CliqueGraph.from_labels(labels)))
    assert (search.n_bounded, search.n_refined) == (0, 0)
    grow(search, max_leaves=8)
    assert 0 < search.n_refined < search.n_bounded


@pytest.mark.parametrize("stage", ["bin", "bound", "helper"])
def test_interrupts_leave_no_threads(stage, monkeypatch):
    X, labels = heavy_tailed(n_rows=3000, n_features=70)
    before = set(threading.enumerate())
    has_waited = []

    def interrupted(*arguments):
        has_waited.append(True)
        in_main = threading.current_thread() is threading.main_thread()
        if in_main != (stage == "helper") and len(has_waited) > 1:
            raise KeyboardInterrupt

    where = "code_features" if stage == "bin" else "bound_bins"
    module = binning if stage == "bin" else compiled
    monkeypatch.setattr(node, "_BLOCK", 20)  # several blocks: threads have work to share
    real = getattr(module, where)
    monkeypatch.setattr(module, where, lambda *each: (interrupted(), real(*each))[1])

    def fit_again_and_again():
        for _ in range(99):
            grown(HistogramEngine(n_jobs=3), X, spex(CliqueGraph.from_labels(labels)))

    with pytest.raises(KeyboardInterrupt):
        fit_again_and_again()
    assert set(threading.enumerate()) <= before


def test_threads_share_work_and_pass_on_errors():
    threads = Threads(3)
    assert threads.map(lambda task: task * task, list(range(50))) == [i * i for i in range(50)]
    with pytest.raises(ZeroDivisionError), threads:
        threads.map(lambda task: 1 // task, [1, 2, 0, 3])
    assert threads.map(lambda task: -task, [1, 2]) == [-1, -2]


def test_names_and_refusals():
    assert isinstance(resolve_engine("histogram", n_jobs=2), HistogramEngine)
    for max_bins in (1, 256):
        with pytest.raises(ValueError, match="max_bins"):
            HistogramEngine(max_bins=max_bins).bind(np.zeros((2, 1)), None)


def test_graphs_without_counts_are_left_to_the_exhaustive_engine():
    class Other(CliqueGraph):
        """A graph type that the engine has not met: it knows its base class."""

    _, labels = heavy_tailed(n_rows=50)
    other = Other.from_labels(labels)
    assert counts_of(other, None) is not None
    assert counts_of(object(), None) is None


def test_small_fits_import_no_compiler():
    program = (
        "import sys, numpy as np; from spexplain import SpexClique; "
        "X = np.arange(40.0).reshape(20, 2); SpexClique(2).fit(X, np.arange(20) // 10); "
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
