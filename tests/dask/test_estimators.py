"""Estimators on Dask collections: same trees, lazy results, one clear sentence where something is missing."""

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from partitioned import centers_of
from spexplain import CART, EMN, IMM, ExKMC, SpexClique, SpexGraph, SpexKNN
from spexplain.engines.dask import DaskEngine
from spexplain.exceptions import NoiseWarning

pytestmark = pytest.mark.usefixtures("synchronous")
NAMES = np.array(["ash", "birch", "cedar", "douglas"])


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 300)
    X = np.round(rng.normal(size=(300, 5)) + 2 * rng.normal(size=(4, 5))[labels], 2)
    return X, labels


def frame(X, n_partitions=3):
    return dd.from_pandas(pd.DataFrame(X, columns=list("pqrst")), npartitions=n_partitions)


METHODS = {
    "SpexClique": lambda centers: (SpexClique(), {}),
    "inverse_size": lambda centers: (SpexClique(clique_weights="inverse_size"), {}),
    "auto": lambda centers: (SpexClique(n_leaves="auto"), {}),
    "CART": lambda centers: (CART(features=[1, 3]), {}),
    "IMM": lambda centers: (IMM(), {"centers": centers}),
    "EMN": lambda centers: (EMN(), {"centers": centers}),
    "ExKMC": lambda centers: (ExKMC(n_leaves=6), {"centers": centers}),
}


@pytest.mark.parametrize("method", METHODS)
def test_collections_give_the_tree_of_the_table(case, method):
    X, labels = case
    made = METHODS[method]
    estimator, given = made(centers_of(X, labels))
    expected = estimator.fit(X, labels, **given)
    purity = [rule["purity"] for rule in expected.rules(output="records")]
    text = dd.from_pandas(pd.Series(NAMES[labels]), npartitions=2)
    for rows in (da.from_array(X, chunks=(110, 2)), frame(X)):
        for y in (labels, da.from_array(labels, chunks=77), text):
            found = made(centers_of(X, labels))[0].fit(rows, y, **given)
            assert found.tree_ == expected.tree_
            assert isinstance(found.labels_, da.Array)
            leaves, named = found.predict(rows), found.predict_reference(rows)
            assert isinstance(leaves, da.Array)
            assert isinstance(named, da.Array)
            assert np.array_equal(found.labels_.compute(), expected.labels_)
            assert np.array_equal(leaves.compute(), expected.labels_)
            own = expected.predict_reference(X)
            assert np.array_equal(named.compute(), NAMES[own] if y is text else own)
            assert [rule["purity"] for rule in found.rules(output="records")] == purity
            given_back = found.predict(X if isinstance(rows, da.Array) else rows.compute())
            assert isinstance(given_back, np.ndarray)
    assert found.path_[-1].agreement == pytest.approx(expected.path_[-1].agreement)
    assert found.path_[-1].price == pytest.approx(expected.path_[-1].price)


def test_own_centres_do_not_depend_on_partitions(case):
    X, labels = case
    fits = [
        IMM().fit(da.from_array(X, chunks=(size, 5)), da.from_array(labels, chunks=300))
        for size in (300, 41)
    ]
    assert fits[0].tree_ == fits[1].tree_
    exact = centers_of(X, labels)
    np.testing.assert_allclose(fits[1].explanation_.reference.centers, exact, rtol=1e-14)


def test_rows_belong_to_the_nearest_centre_without_labels(case):
    X, labels = case
    centers = centers_of(X, labels)
    found = IMM().fit(da.from_array(X, chunks=(70, 5)), centers=centers)
    assert found.tree_ == IMM().fit(X, centers=centers).tree_


def test_sparse_graph(case):
    X, _ = case
    weights = np.random.default_rng(0).random((300, 300))
    graph = sparse.coo_array(np.where(weights < 0.02, weights, 0.0))
    graph = graph + graph.T
    found = SpexGraph(5, graph=graph).fit(da.from_array(X, chunks=(90, 5)))
    assert found.tree_ == SpexGraph(5, graph=graph).fit(X).tree_


def test_tables_in_memory_and_noise(case):
    X, labels = case
    labels = np.where(np.arange(300) % 7 == 0, -1, labels)
    expected = SpexClique().fit(X, labels)
    assert SpexClique(engine="dask").fit(X, labels).tree_ == expected.tree_
    lazy = SpexClique(engine=DaskEngine(max_bins=9)).fit(
        da.from_array(X, chunks=(99, 5)), da.from_array(labels, chunks=150)
    )
    assert lazy.tree_ == expected.tree_
    assert np.array_equal(lazy.leaf_reference_, expected.leaf_reference_)


def test_pickles_predict(case):
    X, labels = case
    found = SpexClique().fit(da.from_array(X, chunks=(99, 5)), da.from_array(labels, chunks=99))
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.predict(X), found.predict(X))
    assert again.to_text() == found.to_text()


def test_what_is_missing_is_said(case):
    X, labels = case
    rows, y = da.from_array(X, chunks=(99, 5)), da.from_array(labels, chunks=99)
    flawed = da.from_array(np.where(np.arange(300)[:, None] == 250, np.nan, X), chunks=(99, 5))
    for message, fit in {
        "pass reference labels as y": lambda: SpexClique().fit(rows),
        "SpexKNN needs the whole table": lambda: SpexKNN().fit(rows),
        "engine='numpy'": lambda: IMM(engine="numpy").fit(rows, y),
        "y has 299 labels": lambda: SpexClique().fit(rows, y[:-1]),
        "graph=None": lambda: SpexGraph(3).fit(rows),
        "refine='objective'": lambda: CART(refine="objective").fit(rows, y),
        "round_to=0.01": lambda: CART(round_to=0.01).fit(rows, y),
        "row 250, column 0": lambda: SpexClique(missing="error").fit(flawed, y),
        "infinity, first in row 3": lambda: SpexClique().fit(
            da.where(rows == X[3, 0], np.inf, rows), y
        ),
        "medians": lambda: IMM(objective="kmedians").fit(rows, y),
        "constant": lambda: SpexClique().fit(da.zeros((300, 2), chunks=99), y),
        "real numbers": lambda: SpexClique().fit(rows.astype(complex), y),
        "two dimensions": lambda: SpexClique().fit(rows[:, 0], y),
        "missing labels": lambda: SpexClique(noise="cluster").fit(
            rows, da.where(y == 0, np.nan, y)
        ),
        "whole table in memory": lambda: SpexClique().fit(rows, y).summary(),
        "expecting 5 features": lambda: SpexClique().fit(rows, y).predict(rows[:, :3]),
        "NaN or infinity": lambda: (
            SpexClique(missing="error").fit(rows, y).predict(flawed).compute()
        ),
        "infinity, first in row": lambda: (
            SpexClique().fit(rows, y).predict(rows * np.inf).compute()
        ),
    }.items():
        with pytest.raises(ValueError, match=message):
            fit()


WEIGHTED = {
    "SpexClique": lambda: SpexClique(n_leaves=6),
    "inverse_size": lambda: SpexClique(clique_weights="inverse_size"),
    "balanced": lambda: SpexClique(cluster_weight="balanced"),
    "CART": lambda: CART(n_leaves=6),
}


@pytest.mark.parametrize("scale", [1, 0.3])
@pytest.mark.parametrize("method", WEIGHTED)
def test_weights_give_the_tree_of_the_table(case, method, scale):
    X, labels = case
    weights = scale * (1 + np.arange(len(X)) % 3)
    expected = WEIGHTED[method]().fit(X, labels, sample_weight=weights)
    lazy = da.from_array(weights, chunks=77)
    for rows, y, own in ((frame(X), labels, weights), (frame(X), da.from_array(labels), lazy)):
        found = WEIGHTED[method]().fit(rows, y, sample_weight=own)
        assert found.tree_ == expected.tree_
        assert found.agreement_ == expected.agreement_
        records = expected.rules(list("pqrst"), output="records")
        assert found.rules(output="records") == records


def test_noise_that_went_through_a_join(case):
    X, labels = case
    noisy = np.where(labels == 0, -1, labels)
    expected = SpexClique().fit(X, noisy)
    for y, told in (
        (da.from_array(noisy.astype(float), chunks=77), "y: rows with the label -1.0 count as"),
        (da.from_array(np.where(labels == 0, np.nan, labels), chunks=77), "without a label"),
    ):
        with pytest.warns(NoiseWarning, match=told):
            found = SpexClique().fit(frame(X), y)
        assert found.tree_ == expected.tree_
        assert found.agreement_ == expected.agreement_
    named = SpexClique(noise="ash").fit(frame(X), da.from_array(NAMES[labels], chunks=77))
    assert named.tree_ == expected.tree_


def test_memberships_and_loops_of_collections(case):
    X, labels = case
    weights = 1 + np.arange(len(X)) % 3
    shared = np.full((len(X), 4), 0.1) + 0.6 * np.eye(4)[labels]
    expected = SpexClique().fit(X, shared, sample_weight=weights)
    assert SpexClique().fit(frame(X), shared, sample_weight=weights).tree_ == expected.tree_
    near = sparse.csr_array((np.abs(X[:, :1] - X[:, 0]) < 0.2).astype(float))
    joined = SpexGraph(4, graph=near).fit(X, sample_weight=weights)
    assert SpexGraph(4, graph=near).fit(frame(X), sample_weight=weights).tree_ == joined.tree_


@pytest.mark.parametrize("method", sorted(WEIGHTED))
def test_rows_of_weight_0_are_only_routed(case, method):
    X, labels = case
    rng = np.random.default_rng(0)
    weights = np.where(rng.random(len(X)) < 0.4, 0, 1 + np.arange(len(X)) % 3)
    weights[:90] = 0  # all of the first partition
    expected = WEIGHTED[method]().fit(X, labels, sample_weight=weights)
    for rows in (frame(X), da.from_array(X, chunks=(70, -1))):
        found = WEIGHTED[method]().fit(rows, labels, sample_weight=weights)
        assert found.tree_ == expected.tree_
        assert found.agreement_ == expected.agreement_
        assert np.asarray(found.labels_).tolist() == expected.labels_.tolist()


def test_what_partitions_do_not_weigh_is_said(case):
    X, labels = case
    weights, centers = 1.0 + np.arange(len(X)) % 3, centers_of(X, labels)
    with pytest.raises(ValueError, match="pass a table in memory"):
        IMM().fit(frame(X), labels, centers=centers, sample_weight=weights)
    with pytest.raises(ValueError, match="pass the centres as centers"):
        EMN().fit(frame(X), labels, sample_weight=weights)
    with pytest.raises(ValueError, match="pass a table in memory"):
        ExKMC().fit(frame(X), labels, centers=centers, sample_weight=weights)
