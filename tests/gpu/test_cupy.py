"""The CuPy engine on a GPU: the same trees as all engines, and each kernel the same as its twin."""

import warnings
from itertools import pairwise

import numpy as np
import pytest

from gpu import cases
from gpu.twins import TwinKernels
from spexplain.engines import NumpyEngine
from spexplain.engines.cupy import CupyEngine
from spexplain.graphs import CliqueGraph, SparseGraph, StarGraph
from spexplain.grow import grow
from spexplain.objectives import gini_cart, imm, spex
from spexplain.tree import Tree


def _device():
    try:
        import cupy
    except ImportError:
        return None, "CuPy is not installed"
    try:
        n_devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return None, f"no GPU: {error}"
    return (cupy, "") if n_devices else (None, "no GPU")


cupy, reason = _device()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(cupy is None, reason=reason)]


def check(rng, X, objective, *, least=1, leaves=8, **engine):
    search = CupyEngine(**engine).bind(cupy.asarray(X), objective, min_samples_leaf=least)
    expected = NumpyEngine().bind(X, objective, min_samples_leaf=least)
    assert grow(search, max_leaves=leaves) == grow(expected, max_leaves=leaves)


def drawn(seed, n_most=400, d_most=40):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, n_most)), int(rng.integers(1, d_most))
    dtype, order = rng.choice([np.float32, np.float64]), str(rng.choice(["C", "F"]))
    return rng, cases.table(rng, n, d, dtype, order)


@pytest.mark.parametrize("n_bins", [2, 3, 7, 255])
@pytest.mark.parametrize("name", cases.NAMES)
def test_tree_is_that_of_the_exhaustive_engine(name, n_bins):
    for seed in range(10):
        rng, X = drawn(seed)
        objective = cases.objective(rng, name, X, int(rng.integers(2, 9)))
        check(rng, X, objective, least=int(rng.integers(1, 4)), max_bins=n_bins)


@pytest.mark.parametrize("name", ["spex", "gini", "sparse", "imm"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_larger_tables(name, dtype, order):
    rng = np.random.default_rng(1)
    X = cases.table(rng, 3000, 37, dtype, order)
    check(rng, X, cases.objective(rng, name, X, 12), leaves=12)


@pytest.mark.parametrize("k", [13, 30, 60, 120, 300])
@pytest.mark.parametrize("formula", [spex, gini_cart, imm])
def test_many_clusters(k, formula):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(6000, 19)).astype(np.float32)
    labels = cases.labels(rng, X, k, noise=False)
    if formula is imm:
        centers = np.array([X[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
        check(rng, X, imm(StarGraph(labels, centers)), leaves=20)
    else:
        check(rng, X, formula(CliqueGraph.from_labels(labels)), leaves=20)


@pytest.mark.parametrize("name", cases.NAMES)
def test_streaming(name):
    for seed in range(3):
        rng, X = drawn(seed)
        objective = cases.objective(rng, name, X, 5)
        expected = grow(NumpyEngine().bind(X, objective), max_leaves=6)
        for table in (cupy.asarray(X), X):  # on the device without its bins, and on the host
            engine = CupyEngine(memory_limit=1)
            if X.shape[1] > 16 or table is X:
                with pytest.warns(UserWarning, match="features are streamed"):
                    search = engine.bind(table, objective)
            else:
                search = engine.bind(table, objective)
            assert grow(search, max_leaves=6) == expected


def test_small_portions():
    for seed in range(10):
        rng, X = drawn(seed)
        for name in ("spex", "sparse", "imm", "plain"):
            objective = cases.objective(rng, name, X, 5)
            search = CupyEngine(max_bins=9).bind(cupy.asarray(X), objective)
            search.n_places, search.work = 50, 20_000
            expected = NumpyEngine().bind(X, objective)
            assert grow(search, max_leaves=6) == grow(expected, max_leaves=6)


def test_large_bins_are_sorted_outside_blocks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 3)).astype(np.float32)
    labels = cases.labels(rng, X, 5)
    check(rng, X, spex(CliqueGraph.from_labels(labels)), max_bins=2)


def test_tree_grown_from_a_start():
    rng, X = drawn(3)
    for name in ("spex", "sparse", "imm"):
        objective = cases.objective(rng, name, X, 5)
        start = grow(NumpyEngine().bind(X, objective), max_leaves=3)
        grown = [
            grow(engine.bind(table, objective), max_leaves=6, start=start)
            for engine, table in ((CupyEngine(), cupy.asarray(X)), (NumpyEngine(), X))
        ]
        assert grown[0] == grown[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_equal_their_twins(dtype):
    from spexplain.kernels.cuda.kernels import CudaKernels

    kernels, twins = CudaKernels(dtype), TwinKernels()
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = cases.table(rng, 700, 21, dtype, "C")
        sample = np.arange(0, 700, 3, dtype=np.int32)
        for order in ("C", "F"):
            table = cupy.asarray(np.asarray(X, order=order), order=order)
            bins = kernels.choose_edges(table, cupy.asarray(sample), 20)
            expected = twins.choose_edges(X, sample, 20)
            for field, twin in zip(bins, expected, strict=True):
                np.testing.assert_array_equal(field.get(), twin)
            codes, twin_codes = cupy.empty((2, 700, 16), np.uint8), np.empty((2, 700, 16), np.uint8)
            kernels.code_table(table, bins, codes)
            twins.code_table(X, expected, twin_codes)
            np.testing.assert_array_equal(codes.get(), twin_codes)
            solid = kernels.spread_bins(table, codes, bins.is_discrete).get()
            twin_solid = twins.spread_bins(X, twin_codes, expected.is_discrete)
            assert np.all(solid <= twin_solid)  # zeros of both signs count as two values
            assert kernels.sum_bits(table) == twins.sum_bits(np.asarray(X, order=order))
            columns = np.arange(21)
            found, known = (
                each.deviations(rows, columns) for each, rows in ((kernels, table), (twins, X))
            )
            np.testing.assert_allclose(found, known, rtol=1e-9)
            assert np.array_equal(found == 0, known == 0)


def test_formulas_in_c_score_as_arrays_do():
    from spexplain.engines.cupy.search import BlockSearch

    for seed in range(4):
        for name in ("spex", "gini", "volume", "sparse", "imm", "emn", "spex of weights"):
            rng, X = drawn(seed)
            objective = cases.objective(rng, name, X, int(rng.integers(2, 9)))
            found = []
            for each in (objective, cases.own_formula(objective)):
                search = CupyEngine(max_bins=31).bind(cupy.asarray(X), each)
                root = BlockSearch(search, next(iter(search.table.blocks())), [search.root()], 1)
                found.append(root._score(objective.trend))
            np.testing.assert_array_equal(*(each.bounds.get() for each in found))
            best = []
            for each in found:
                parts = each.parts[0].get()
                scores = parts[:, 0].copy().view(np.float64)
                best.append(min(zip(scores.tolist(), parts[:, 1].tolist(), strict=True)))
            assert best[0] == best[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("longest", [2, 3, 100, 129, 1000, 4096, 4097, 8192, 16_384, 20_000])
def test_jobs_of_any_length_are_sorted(dtype, longest):
    from spexplain.kernels.cuda.kernels import CudaKernels
    from spexplain.kernels.cuda.records import JOB, BinJobs, JobRows

    rng = np.random.default_rng(longest)
    lengths = np.append(longest, rng.integers(2, longest + 1, size=9))
    starts = np.append(0, np.cumsum(lengths))
    entries = np.zeros((10, JOB), dtype=np.int32)
    entries[:, 3], entries[:, 4] = starts[:-1], lengths
    n = int(starts[-1])
    values = rng.normal(size=n).astype(dtype).astype(np.float64)
    values[rng.random(n) < 0.3] = -0.5
    members = np.arange(n, dtype=np.int32)
    job_of = np.repeat(np.arange(10, dtype=np.int32), lengths)
    places = JobRows(*map(cupy.asarray, (values, members, job_of)))
    jobs = BinJobs(None, cupy.asarray(entries), everything=False)
    CudaKernels(dtype).sort_jobs(jobs, 0, longest, places)
    found, rows = places.values.get(), places.members.get()
    np.testing.assert_array_equal(values[rows], found)
    for start, stop in pairwise(starts):
        np.testing.assert_array_equal(found[start:stop], np.sort(values[start:stop]))
        assert np.array_equal(np.sort(rows[start:stop]), members[start:stop])


def test_weights_that_need_64_bits():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 5))
    heads, tails = rng.integers(0, 200, size=(2, 600))
    adjacency = np.zeros((200, 200))
    adjacency[heads, tails] = rng.random(600)
    np.fill_diagonal(adjacency, 0)
    check(rng, X, spex(SparseGraph.from_adjacency(adjacency + adjacency.T)))


# --- neighbours -----------------------------------------------------------------------------------


def points(rng, n, d, kind):
    if kind == "grid":  # many equal distances
        return rng.integers(0, 3, size=(n, d)).astype(np.float32)
    if kind == "duplicates":
        return rng.normal(size=(n // 4 + 2, d))[rng.integers(0, n // 4 + 2, size=n)]
    if kind == "tails":
        return rng.standard_cauchy(size=(n, d)) * 1e6
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[:, 0] = 0.25
    return X


@pytest.mark.parametrize("kind", ["grid", "duplicates", "tails", "normal"])
@pytest.mark.parametrize("standardize", [True, False])
def test_neighbors(kind, standardize):
    from spexplain.graphs import Neighbors

    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, d = [(5, 1), (30, 3), (1500, 7), (3000, 40)][seed]
        X, k = points(rng, n, d, kind), min(n - 1, 12)
        expected = Neighbors.of(X, k, standardize=standardize)
        for order in ("C", "F"):
            table = cupy.asarray(np.asarray(X, order=order), order=order)
            found = Neighbors.of(table, k, standardize=standardize)
            np.testing.assert_array_equal(found.indices.get(), expected.indices)
        for symmetrize in ("sum", "union", "mutual"):
            graph, twin = (each.graph(symmetrize=symmetrize) for each in (found, expected))
            for name in ("heads", "tails", "weights"):
                np.testing.assert_array_equal(getattr(graph, name), getattr(twin, name))


# --- estimators -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_estimators(dtype):
    import spexplain

    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 6)) * 40).astype(dtype)
    y = np.array(["a", "b", "c"])[cases.labels(rng, X, 3, noise=False)]
    table = cupy.asarray(X)
    for estimator in (
        spexplain.SpexClique(n_leaves=5),
        spexplain.CART(n_leaves=5, features=[1, 3, 4]),
        spexplain.CART(criterion="volume"),
        spexplain.SpexKNN(4, n_neighbors=5),
        spexplain.SpexGraph(4),
        spexplain.IMM(),
        spexplain.EMN(),
        spexplain.ExKMC(n_leaves=5),
    ):
        expected = estimator.fit(X, y)
        tree, labels, leaves = expected.tree_, expected.labels_, expected.leaf_reference_
        price = expected.path_[-1].price
        fitted = estimator.fit(table, y)
        assert fitted.tree_ == tree
        assert fitted.labels_.tolist() == labels.tolist()
        assert fitted.leaf_reference_.tolist() == leaves.tolist()
        assert fitted.path_[-1].price == pytest.approx(price, rel=1e-9)
        predicted = fitted.predict(table)
        assert isinstance(predicted, cupy.ndarray)
        assert predicted.get().tolist() == labels.tolist()
        assert fitted.predict(X).tolist() == labels.tolist()
        assert fitted.predict_reference(table).tolist() == leaves[labels].tolist()
        assert fitted.summary()["leaves"]
        if not isinstance(estimator, spexplain.ExKMC):
            fitted = estimator.set_params(engine="cupy").fit(X, cupy.asarray(labels))
            assert fitted.predict(X).shape == (500,)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_estimators_with_missing_values(dtype):
    import spexplain

    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, _ = cases.with_gaps(rng, cases.table(rng, 300, 6, dtype, "C"))
        X[0, 0], X[1, 0] = 0, 1
        y = cases.labels(rng, np.nan_to_num(X), 3, noise=False)
        table = cupy.asarray(X)
        for estimator in (
            spexplain.SpexClique(n_leaves=8),
            spexplain.CART(n_leaves=8, min_samples_leaf=3),
            spexplain.CART(n_leaves=6, features=[0, 2]),
            spexplain.SpexKNN(4, n_neighbors=5),
            spexplain.IMM(),
            spexplain.EMN(),
        ):
            expected = estimator.fit(X, y)
            tree, labels, text = expected.tree_, expected.labels_, expected.to_text()
            price = expected.path_[-1].price
            fitted = estimator.fit(table, y)
            assert fitted.tree_ == tree
            assert fitted.to_text() == text
            assert fitted.labels_.tolist() == labels.tolist()
            assert fitted.path_[-1].price == pytest.approx(price, rel=1e-9, nan_ok=True)
            assert fitted.predict(table).get().tolist() == labels.tolist()
            elsewhere = X[rng.permutation(len(X))]
            elsewhere[::3] = np.nan
            leaves = fitted.predict(cupy.asarray(elsewhere)).get()
            assert leaves.tolist() == fitted.predict(elsewhere).tolist()
        found = spexplain.CART(n_leaves=8, engine="cupy").fit(X, y)
        assert found.tree_ == spexplain.CART(n_leaves=8).fit(X, y).tree_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_estimators_with_weights(dtype):
    import spexplain

    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = (rng.normal(size=(400, 5)) * 20).astype(dtype)
        if seed % 2:
            X[rng.random(X.shape) < 0.1] = np.nan
        y = np.array(["a", "b", "c"])[cases.labels(rng, np.nan_to_num(X), 3, noise=False)]
        weights = rng.integers(0, 4, size=400) if seed < 2 else rng.random(400)
        for estimator in (
            spexplain.SpexClique(n_leaves=6),
            spexplain.SpexClique(n_leaves=6, cluster_weight="balanced"),
            spexplain.CART(n_leaves=6),
            spexplain.IMM(),
        ):
            expected = estimator.fit(X, y, sample_weight=weights)
            tree, labels = expected.tree_, expected.labels_
            fitted = estimator.fit(cupy.asarray(X), y, sample_weight=cupy.asarray(weights))
            assert fitted.tree_ == tree
            assert fitted.labels_.tolist() == labels.tolist()
            if not isinstance(estimator, spexplain.IMM):
                assert isinstance(fitted.explanation_.training.table.values, cupy.ndarray)


def test_routes_of_missing_values():
    from spexplain.kernels.cuda.kernels import CudaKernels

    rng = np.random.default_rng(0)
    X = np.where(rng.random((500, 2)) < 0.3, np.nan, rng.normal(size=(500, 2)))
    tree = Tree.root(n_features=2, size=500)
    tree = tree.split(0, feature=0, threshold=0.25, missing=True)
    tree = tree.split(1, feature=1, threshold=-np.inf, missing=True)
    tree = tree.split(2, feature=1, threshold=0.5, lower=-0.5)
    leaf_id = np.full(tree.n_nodes, -1)
    leaf_id[tree.leaves] = np.arange(tree.n_leaves)
    for dtype in (np.float32, np.float64):
        rows = X.astype(dtype)
        found = CudaKernels(dtype).route_rows(cupy.asarray(rows), tree, leaf_id)
        assert found.get().tolist() == tree.apply(rows).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_leaves", [5, 900])
def test_values_at_tests(dtype, n_leaves):
    from spexplain.table.device import DeviceTable
    from spexplain.table.host import node_values

    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(3000, 4)) * 20
        X = np.round(X) * rng.choice([1.0, 0.5], size=4)
        X[rng.random(X.shape) < 0.05] = np.nan
        X[rng.random(X.shape) < 0.02] = -0.0
        X = np.asarray(X.astype(dtype), order="CF"[seed % 2])
        tree = Tree.root(n_features=4, size=3000)
        for _ in range(n_leaves - 1):
            limits = np.sort(rng.normal(size=2) * 20)
            lower = limits[0] if rng.random() < 0.3 else -np.inf
            leaf = int(rng.choice(tree.leaves))
            missing = bool(rng.random() < 0.5)
            tree = tree.split(
                leaf,
                feature=int(rng.integers(4)),
                threshold=limits[1],
                lower=lower,
                missing=missing,
            )
        found = DeviceTable(cupy.asarray(X)).node_values(tree)
        expected = node_values(X, tree)
        for one, other in zip(found[:5], expected[:5], strict=True):
            np.testing.assert_array_equal(one, other)
        assert found.leaves.tolist() == expected.leaves.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_groups_and_deviations(dtype):
    from spexplain.table.device import DeviceTable
    from spexplain.table.host import HostTable

    rng = np.random.default_rng(0)
    for n, n_groups in ((7, 3), (5000, 2), (40_000, 5), (3000, 400)):
        X = (rng.normal(size=(n, 37)) * 5 + 1000).astype(dtype)
        X[:, 2] = 1.1
        X[:, 3] = rng.integers(0, 2, size=n)
        groups = rng.integers(-1, n_groups, size=n)
        groups[groups == 1] = 0  # one is empty
        host, device = HostTable(X), DeviceTable(cupy.asarray(X))
        for one, other in zip(
            host.sums(groups, n_groups), device.sums(groups, n_groups), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-6)
        features = np.array([5, 2, 3, 2, 36])
        np.testing.assert_allclose(host.scales(features), device.scales(features), rtol=1e-5)
        assert device.scales(features)[2] == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_checksums_notice_changes(dtype):
    from spexplain.table.device import _checksum

    rng = np.random.default_rng(0)
    for order in "CF":
        X = cupy.asarray(rng.normal(size=(300, 41)).astype(dtype), order=order)
        known = _checksum(X)
        assert known == _checksum(X)
        changed = X.copy()
        changed[rng.integers(300), rng.integers(41)] += 1
        assert _checksum(changed) != known
        assert _checksum(X[::-1]) != known
        assert _checksum(X[:, ::-1]) != known


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float64])
@pytest.mark.parametrize("noise", ["ignore", "cluster", 3])
def test_labels_are_coded_where_they_lie(dtype, noise):
    from spexplain.table.device import DeviceTable
    from spexplain.table.reference import Reference
    from spexplain.table.storage import known_copy

    rng = np.random.default_rng(0)
    table = DeviceTable(cupy.asarray(rng.normal(size=(500, 2))))
    for values in ([0, 1, 2, 3], [3, 5, 90, 100], [-1, 0, 3], [-100, 3, 100]):
        y = rng.choice(np.array(values).astype(dtype), size=500)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = Reference.from_labels(y.astype(object), n_samples=500, noise=noise)
            for given in (y, cupy.asarray(y)):
                found = table.reference(given, noise)
                assert isinstance(found.codes, np.ndarray)
                assert found.codes.tolist() == expected.codes.tolist()
                assert found.classes.tolist() == expected.classes.tolist()
                assert found.labels.tolist() == y.tolist()
                assert found.has_noise == expected.has_noise
                if y.dtype.kind in "iu" and np.ptp(y.astype(np.int64)) < 2000:
                    assert isinstance(known_copy(found.codes), cupy.ndarray)
                    assert known_copy(found.codes).tolist() == found.codes.tolist()


def test_reference_labels_stay_on_the_device_if_they_are_numbers():
    import spexplain

    X = np.random.default_rng(0).normal(size=(100, 3))
    y = np.where(X[:, 1] > 0, 7, 4)
    for labels, kind in ((y, cupy.ndarray), (y / 2, cupy.ndarray), (y.astype(str), np.ndarray)):
        fitted = spexplain.SpexClique().fit(cupy.asarray(X), labels)
        found = fitted.predict_reference(cupy.asarray(X))
        assert isinstance(found, kind)
        assert found.dtype.kind == labels.dtype.kind
        assert found.tolist() == fitted.predict_reference(X).tolist() == labels.tolist()


def test_edges_are_listed_once():
    from spexplain.graphs import device, knn_graph

    X = np.random.default_rng(0).normal(size=(200, 3))
    graph = knn_graph(cupy.asarray(X), 5)
    assert graph in device._EDGES
    first = grow(CupyEngine().bind(cupy.asarray(X), spex(graph)), max_leaves=6)
    assert graph not in device._EDGES
    assert graph in device._LISTS
    again = grow(CupyEngine().bind(cupy.asarray(X), spex(graph)), max_leaves=6)
    assert first == again == grow(NumpyEngine().bind(X, spex(graph)), max_leaves=6)


def test_references_are_computed_on_the_host(caplog):
    import spexplain

    X = np.random.default_rng(0).normal(size=(200, 3))
    estimator = spexplain.SpexClique(3, reference="kmeans", random_state=0)
    tree = estimator.fit(X).tree_
    caplog.set_level("INFO", logger="spexplain")
    assert estimator.fit(cupy.asarray(X)).tree_ == tree
    assert "copy of X on the host" in caplog.text


def test_bad_tables():
    import spexplain

    X = cupy.ones((10, 2))
    y = np.arange(10) % 2
    with pytest.raises(ValueError, match="constant"):
        spexplain.SpexClique().fit(X, y)
    X[3, 1] = cupy.nan
    with pytest.raises(ValueError, match="row 3, column 1"):
        spexplain.SpexClique(missing="error").fit(X, y)
    X[3, 1] = cupy.inf
    with pytest.raises(ValueError, match="infinity, first in row 3, column 1"):
        spexplain.SpexClique().fit(X, y)
    with pytest.raises(ValueError, match="two dimensions"):
        spexplain.SpexClique().fit(X[0], y)
    X = cupy.arange(20.0).reshape(10, 2)
    fitted = spexplain.SpexClique().fit(X, y)
    with pytest.raises(ValueError, match="expecting 2 features"):
        fitted.predict(X[:, :1])
    with pytest.raises(NotImplementedError, match="searches cliques, sparse graphs and stars"):
        spexplain.ExKMC(engine="cupy").fit(X, y)
