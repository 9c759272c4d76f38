"""Weights of rows and clusters, and rows that are shared between clusters: as if rows stood several times."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import spexplain
from spexplain import (
    CART,
    EMN,
    IMM,
    BestTree,
    ExGreedy,
    ExKMC,
    ExShallow,
    KernelIMM,
    NonUniformCut,
    RandomCuts,
    SpexClique,
    SpexGraph,
    SpexKNN,
    datasets,
    from_json,
    metrics,
)
from spexplain.exceptions import WeightWarning
from spexplain.graphs import Neighbors, knn_graph
from spexplain.graphs.neighbors import weighted_knn_graph
from spexplain.references.kernel_kmeans import KernelKMeans
from spexplain.references.kmedians import KMedians
from strategies import labels_for, tables

IRIS = datasets.load("iris")
X, Y = IRIS.data, IRIS.target
WEIGHTS = 0.5 + np.arange(len(X)) % 3

CASES = {
    "clique": (SpexClique, {"n_leaves": 4}),
    "clique, inverse sizes": (SpexClique, {"clique_weights": "inverse_size", "n_leaves": 4}),
    "clique, refined": (SpexClique, {"n_leaves": 4, "refine": "objective"}),
    "clique, refined by agreement": (SpexClique, {"n_leaves": 4, "refine": "agreement"}),
    "gini": (CART, {"n_leaves": 4}),
    "gini, refined": (CART, {"n_leaves": 4, "refine": "objective"}),
    "volume": (CART, {"criterion": "volume", "n_leaves": 4}),
    "neighbours": (SpexKNN, {"n_clusters": 3, "n_neighbors": 3}),
    "neighbours, union": (SpexKNN, {"n_clusters": 3, "n_neighbors": 4, "symmetrize": "union"}),
    "neighbours, mutual": (SpexKNN, {"n_clusters": 3, "n_neighbors": 5, "symmetrize": "mutual"}),
    "neighbours, refined": (SpexKNN, {"n_clusters": 3, "n_neighbors": 3, "refine": "objective"}),
    "graph": (SpexGraph, {"n_clusters": 3}),
    "imm": (IMM, {}),
    "imm, furthest medians": (IMM, {"pairs": "furthest", "objective": "kmedians"}),
    "imm, refined": (IMM, {"refine": "objective"}),
    "emn": (EMN, {}),
    "exkmc": (ExKMC, {"n_leaves": 5}),
    "exkmc, refined": (ExKMC, {"n_leaves": 5, "refine": "objective"}),
    "random": (RandomCuts, {"random_state": 0, "n_init": 2}),
    "greedy": (ExGreedy, {}),
    "shallow": (ExShallow, {}),
    "kernel": (KernelIMM, {}),
    "kernel, expanded": (KernelIMM, {"n_leaves": 5}),
    "kernel, by mistakes": (KernelIMM, {"n_leaves": 5, "expand": "mistakes"}),
    "best": (BestTree, {"n_leaves": 4}),
}
OF_A_GRAPH = {"given graph": SpexGraph, "cut of a given graph": NonUniformCut}
pytestmark = [
    pytest.mark.filterwarnings("ignore::spexplain.exceptions.LeafCountWarning"),
    pytest.mark.filterwarnings("ignore::spexplain.exceptions.LostClusterWarning"),
]
few = settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow], deadline=None)


@st.composite
def weighted_tables(draw, *, noise=True):
    """A table, its clusters, whole weights with zeros among them, and the rows as often as they weigh.

    Some cluster keeps two rows or more, and all means are sums of short binary fractions.
    """
    table = draw(tables(min_rows=4))
    labels = draw(labels_for(len(table), noise=noise))
    weights = np.array(draw(st.lists(st.integers(0, 3), min_size=len(table), max_size=len(table))))
    repeated = np.repeat(np.arange(len(table)), weights)
    assume(len(set(labels[repeated]) - {-1}) >= 2)
    assume(np.any(table[repeated[0]] != table[repeated]))
    return table, labels, weights, repeated


def same_tests(one, other):
    return all(
        np.array_equal(getattr(one.tree_, name), getattr(other.tree_, name), equal_nan=True)
        for name in ("feature", "threshold", "lower", "left", "right")
    )


def check_equal(weighted, repeated, table, rows):
    """Both fits say the same: tests, values, leaves of all rows, and every measure of the path."""
    assert same_tests(weighted, repeated)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    assert weighted.labels_.tolist() == repeated.predict(table).tolist()
    assert weighted.leaf_reference_.tolist() == repeated.leaf_reference_.tolist()
    steps = zip(weighted.path_, repeated.path_, strict=True)
    for one, other in steps:
        assert one == pytest.approx(other, rel=1e-9, nan_ok=True)
    explanation, expected = weighted.explanation_, repeated.explanation_
    assert explanation.leaf_counts.tolist() == expected.leaf_counts.tolist()
    assert explanation.node_noise.tolist() == expected.node_noise.tolist()
    if explanation.node_weights is not None:
        assert explanation.node_weights.tolist() == expected.node_sizes.tolist()
    assert explanation.leaf_purity.tolist() == expected.leaf_purity.tolist()
    assert weighted.feature_importances_ == pytest.approx(repeated.feature_importances_)
    assert np.nan_to_num(explanation.scales) == pytest.approx(np.nan_to_num(expected.scales))
    assert explanation.node_sizes[0] == len(table)
    assert len(rows) == expected.node_sizes[0]


@pytest.mark.parametrize("engine", ["numpy", "histogram"])
@pytest.mark.parametrize("case", CASES)
@few
@given(drawn=weighted_tables())
@example(  # KernelIMM parts centres with no rows between them, at a level that is a sum of floats
    drawn=(
        np.array([[0.0], [0.75], [0.0], [0.5], [0.0], [0.0]], dtype=np.float32),
        np.array([2, 2, 0, 0, 0, 1]),
        np.array([2, 3, 0, 2, 1, 1]),
        np.array([0, 0, 1, 1, 1, 3, 3, 4, 5]),
    )
)
def test_whole_weights_are_repeated_rows(case, engine, drawn):
    table, labels, weights, rows = drawn
    cls, parameters = CASES[case]
    weighted = cls(engine=engine, **parameters).fit(table, labels, sample_weight=weights)
    repeated = cls(engine=engine, **parameters).fit(table[rows], labels[rows])
    check_equal(weighted, repeated, table, rows)


@pytest.mark.parametrize("engine", ["numpy", "histogram"])
@pytest.mark.parametrize("case", OF_A_GRAPH)
@few
@given(drawn=weighted_tables(), data=st.data())
def test_whole_weights_repeat_the_vertices_of_a_given_graph(case, engine, drawn, data):
    table, labels, weights, rows = drawn
    gaps = np.abs(table[:, None] - table[None]).sum(axis=2)
    adjacency = np.where(gaps <= data.draw(st.sampled_from([0.5, 2.0, 9.0])), 1.0, 0.0)
    assume(np.any(adjacency[np.ix_(rows, rows)] * (1 - np.eye(len(rows)))))
    cls = OF_A_GRAPH[case]
    weighted = cls(3, graph=adjacency, engine=engine).fit(table, labels, sample_weight=weights)
    copies = adjacency[np.ix_(rows, rows)]
    repeated = cls(3, graph=copies, engine=engine).fit(table[rows], labels[rows])
    check_equal(weighted, repeated, table, rows)


@few
@given(
    drawn=weighted_tables(),
    n_neighbors=st.integers(1, 9),
    symmetrize=st.sampled_from(["sum", "union", "mutual"]),
)
def test_neighbours_of_weighted_rows_are_those_of_copies(drawn, n_neighbors, symmetrize):
    table, _, weights, rows = drawn
    kept = np.flatnonzero(weights)
    graph, recall = weighted_knn_graph(
        table[kept], weights[kept].astype(float), n_neighbors, symmetrize=symmetrize
    )
    assert recall == 1
    literal = knn_graph(table[rows], min(n_neighbors, len(rows) - 1), symmetrize=symmetrize)
    copies = literal.to_adjacency().toarray()
    of_row = (rows[:, None] == kept).astype(float)
    expected = of_row.T @ copies @ of_row
    found = graph.to_adjacency().toarray()
    loops = np.zeros(len(kept)) if graph.loops is None else graph.loops
    assert found.tolist() == (expected - np.diag(np.diag(expected))).tolist()
    assert loops.tolist() == np.diag(expected).tolist()
    assert graph.degrees.tolist() == expected.sum(axis=1).tolist()


@pytest.mark.parametrize("case", CASES)
@few
@given(drawn=weighted_tables(), scale=st.sampled_from([0.3, 1e-6, 7.7e8]))
def test_engines_agree_on_fractions(case, drawn, scale):
    table, labels, weights, rows = drawn
    cls, parameters = CASES[case]
    fits = [
        cls(engine=engine, **parameters).fit(table, labels, sample_weight=weights * scale)
        for engine in ("numpy", "histogram")
    ]
    assert fits[0].tree_ == fits[1].tree_
    total = fits[0].explanation_.leaf_counts.sum() + fits[0].explanation_.node_noise[0]
    assert total == pytest.approx(len(rows) * scale)


# --- What weights mean ----------------------------------------------------------------------------


def test_gini_of_fractions_is_that_of_scikit_learn():
    from sklearn.tree import DecisionTreeClassifier

    theirs = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(
        X, Y, sample_weight=WEIGHTS
    )
    ours = CART(n_leaves=4).fit(X, Y, sample_weight=WEIGHTS)
    assert ours.predict_reference(X).tolist() == theirs.predict(X).tolist()
    leaves = theirs.apply(X)
    assert metrics.agreement(ours.labels_, leaves).ari == 1


@pytest.mark.parametrize("cls", [SpexClique, CART, IMM, ExKMC, KernelIMM, SpexKNN])
def test_weights_of_one_are_none(cls):
    weighted = cls(3).fit(X, Y, sample_weight=np.ones(len(X), dtype=int))
    assert weighted.tree_ == cls(3).fit(X, Y).tree_
    assert weighted.explanation_.node_weights is None
    assert "weight" not in weighted.rules(output="records")[0]


def test_min_samples_leaf_counts_rows_of_positive_weight():
    weights = np.where(np.arange(len(X)) % 2, 100.0, 0.0)
    fitted = SpexClique(n_leaves=6, min_samples_leaf=9).fit(X, Y, sample_weight=weights)
    counted = np.bincount(fitted.labels_[weights > 0], minlength=fitted.n_leaves_)
    assert counted.min() >= 9
    assert fitted.n_leaves_ > 3


@pytest.mark.parametrize("cls", [IMM, EMN, ExKMC, ExGreedy, ExShallow, KernelIMM, RandomCuts])
def test_rows_of_no_weight_do_not_move_the_centres_of_dates(cls):
    # Deviations over all rows and over those that count differ a little, which is much for dates.
    days = np.arange(len(X)) * 11 % 400
    frame = pd.DataFrame({"day": pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D")})
    clusters = np.digitize(days, [140, 260])
    fixed = {"random_state": 0} if cls is RandomCuts else {}
    weights = np.where(np.arange(len(X)) % 3 == 0, 0.0, 1.0)
    fitted = cls(**fixed).fit(frame, clusters, sample_weight=weights)
    counted = weights > 0
    expected = cls(**fixed).fit(frame[counted], clusters[counted])
    assert fitted.predict(frame).tolist() == expected.predict(frame).tolist()
    assert sorted(set(fitted.labels_[counted].tolist())) == list(range(fitted.n_leaves_))


def test_a_cluster_of_weight_nothing_is_none():
    fitted = SpexClique().fit(X, Y, sample_weight=(Y < 2).astype(int))
    assert fitted.n_leaves_ == 2
    assert fitted.leaf_reference_.tolist() == [0, 1]
    assert fitted.explanation_.node_noise[0] == 0


def test_rules_texts_and_summaries_have_weights():
    fitted = SpexClique().fit(X, IRIS.target_names[Y], sample_weight=WEIGHTS)
    records = fitted.rules(output="records")
    for record, leaf in zip(records, fitted.summary()["leaves"], strict=True):
        inside = fitted.labels_ == record["leaf"]
        assert record["size"] == leaf["size"] == inside.sum()
        assert record["weight"] == leaf["weight"] == pytest.approx(WEIGHTS[inside].sum())
        assert (
            record["share"] == leaf["share"] == pytest.approx(WEIGHTS[inside].sum() / WEIGHTS.sum())
        )
        own = inside & (fitted.reference_labels_ == record["reference"])
        assert (
            record["purity"]
            == leaf["purity"]
            == pytest.approx(WEIGHTS[own].sum() / WEIGHTS[inside].sum())
        )
        mean = np.average(X[inside], axis=0, weights=WEIGHTS[inside])
        for profile in leaf["profile"]:
            assert profile["mean"] == pytest.approx(mean[profile["feature"]])
    found = metrics.agreement(fitted.labels_, Y, sample_weight=WEIGHTS)
    assert fitted.agreement_ == pytest.approx(found.ari)
    assert fitted.path_[-1].fidelity == pytest.approx(found.purity)


@few
@given(drawn=weighted_tables(noise=False))
def test_summaries_are_those_of_repeated_rows(drawn):
    table, labels, weights, rows = drawn
    weighted = SpexClique(n_leaves=2).fit(table, labels, sample_weight=weights).summary()
    repeated = SpexClique(n_leaves=2).fit(table[rows], labels[rows]).summary()
    for one, other in zip(weighted["leaves"], repeated["leaves"], strict=True):
        for name in ("rule", "share", "purity", "lift", "composition"):
            assert (
                one[name] == pytest.approx(other[name])
                if name in ("share", "purity", "lift")
                else (one[name] == other[name])
            )
        for mine, theirs in zip(
            sorted(one["profile"], key=lambda each: each["feature"]),
            sorted(other["profile"], key=lambda each: each["feature"]),
            strict=True,
        ):
            assert mine.pop("shares") == theirs.pop("shares")
            assert mine == pytest.approx(theirs, nan_ok=True)
    for name in ("agreement", "confusion", "reference"):
        assert str(weighted[name]) == str(repeated[name])


def test_weighted_models_are_pickled_and_written():
    fitted = SpexClique(n_leaves=4).fit(X, Y, sample_weight=WEIGHTS)
    revived = pickle.loads(pickle.dumps(fitted))
    assert revived.agreement_ == fitted.agreement_
    assert str(revived.summary(X)["leaves"]) == str(fitted.summary()["leaves"])
    assert str(revived.summary(X)["nodes"]) == str(fitted.summary()["nodes"])  # runner-ups, too
    loaded = from_json(fitted.to_json())
    assert loaded.tree_ == fitted.tree_
    assert loaded.to_text() == fitted.to_text()
    assert loaded.agreement_ == fitted.agreement_
    with pytest.raises(ValueError, match="Certificates are known for rows that all count once"):
        fitted.certificate()


SHARES = np.eye(3)[Y] * 0.7 + 0.1


@pytest.mark.parametrize("weights", [WEIGHTS, WEIGHTS + 0.5, WEIGHTS / 3, None])
@pytest.mark.parametrize("estimator", [CART(n_leaves=5), BestTree(n_leaves=4)])
def test_weighted_models_say_the_same_after_json(estimator, weights):
    labels = SHARES if weights is None else np.where(X[:, 1] > 3.8, -1, Y)
    fitted = sklearn.base.clone(estimator).fit(X, labels, sample_weight=weights)
    loaded = from_json(fitted.to_json())
    for mine, theirs in zip(
        loaded.segments(output="records"), fitted.segments(output="records"), strict=True
    ):
        for entry in mine.keys() - {"typical", "note"}:
            assert mine[entry] == theirs[entry]
    known, expected = loaded.outline(), fitted.outline()
    for entry in ("balanced", "fidelity", "confusion", "segments"):
        assert str(known[entry]) == str(expected[entry])
    assert loaded.verdict_.facts["fidelity"] == fitted.verdict_.facts["fidelity"]
    assert loaded.verdict_.sentences[0] == fitted.verdict_.sentences[0]
    assert loaded.rules() == fitted.rules(output="records")
    assert loaded.feature_importances_.tolist() == fitted.feature_importances_.tolist()
    smaller, wanted = loaded.truncated(2), fitted.truncated(2)
    assert smaller.predict_reference(X).tolist() == wanted.predict_reference(X).tolist()
    assert (
        smaller.segments(output="records")[0]["recall"]
        == wanted.segments(output="records")[0]["recall"]
    )
    assert loaded.to_json() == fitted.to_json() == from_json(loaded.to_json()).to_json()


def test_huge_weights_are_read_back():
    explainer = CART().fit(X, Y, sample_weight=np.full(len(X), 1e290))
    loaded = from_json(explainer.to_json())
    assert loaded.to_text() == explainer.to_text()
    rows = [each["rows"] for each in loaded.segments(output="records")]
    assert rows == [each["rows"] for each in explainer.segments(output="records")]


def test_files_without_weighted_counts_are_still_read():
    fitted = CART(n_leaves=4).fit(X, Y, sample_weight=WEIGHTS)
    document = json.loads(fitted.to_json())
    document["training"] |= {"clusters": None, "nodes": None}
    old = from_json(json.dumps(document))
    assert old.predict_reference(X).tolist() == fitted.predict_reference(X).tolist()
    assert old.segments(output="records")[0]["rows"] is None
    with pytest.raises(ValueError, match="its file does not hold those of smaller trees"):
        old.truncated(2).predict_reference(X)


@pytest.mark.parametrize(
    "change", [{"weights": [1.0]}, {"weights": [1, "2", 3, 4]}, {"counts": [[1.5, 0, 0]] * 4}]
)
def test_weighted_counts_that_cannot_be_are_refused(change):
    document = json.loads(CART(n_leaves=4).fit(X, Y, sample_weight=WEIGHTS).to_json())
    document["training"]["nodes"] |= change
    with pytest.raises(ValueError, match="of training must"):
        from_json(json.dumps(document))


def test_truncated_models_keep_their_weights():
    fitted = SpexClique(n_leaves=5).fit(X, Y, sample_weight=WEIGHTS).truncated(2)
    assert sum(record["weight"] for record in fitted.rules(output="records")) == WEIGHTS.sum()


# --- Metadata and refusals ------------------------------------------------------------------------


def test_metadata_is_routed():
    direct = SpexClique().fit(StandardScaler().fit_transform(X), Y, sample_weight=WEIGHTS)
    with sklearn.config_context(enable_metadata_routing=True):
        explainer = SpexClique().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, explainer).fit(X, Y, sample_weight=WEIGHTS)
        assert pipeline[-1].tree_ == direct.tree_
        labels = make_pipeline(scaler, explainer).fit_predict(X, Y, sample_weight=WEIGHTS)
    assert labels.tolist() == direct.labels_.tolist()


@pytest.mark.parametrize(
    "cls",
    [
        getattr(spexplain, name)
        for name in ("SpexClique", "SpexKNN", "CART", "IMM", "KernelIMM", "BestTree")
    ],
)
def test_fit_predict_takes_weights(cls):
    fitted = cls(3, random_state=0).fit(X, Y, sample_weight=pd.Series(WEIGHTS))
    again = cls(3, random_state=0).fit_predict(X, Y, sample_weight=WEIGHTS.tolist())
    assert again.tolist() == fitted.labels_.tolist()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(7), r"one number for each of the 150 rows of X, got shape \(7,\)"),
        (np.full(150, "a"), "one number per row of X"),
        (-WEIGHTS, "finite numbers of at least 0"),
        (np.where(Y == 0, np.nan, 1.0), "finite numbers of at least 0"),
        (np.zeros(150), "zero for all rows"),
        (np.ma.masked_equal(np.ones(150) + (Y == 0), 2), "masked values"),
        (np.full(150, 1e308), "adds up to more than a float can hold"),
    ],
)
def test_other_weights_are_refused_in_one_sentence(weights, message):
    with pytest.raises(ValueError, match=rf"^sample_weight .*{message}.*\.$"):
        SpexClique().fit(X, Y, sample_weight=weights)


def test_one_row_alone_is_refused():
    with pytest.raises(ValueError, match="sample_weight is above 0 for one row only"):
        SpexKNN(2).fit(X, sample_weight=np.arange(len(X)) == 3)


def test_given_graphs_that_cannot_be_weighted_are_refused():
    from spexplain.graphs import CliqueGraph

    with pytest.raises(ValueError, match="CliqueGraph cannot be weighted by sample_weight"):
        SpexGraph(2, graph=CliqueGraph.from_labels(Y)).fit(X, sample_weight=WEIGHTS)
    known = Neighbors.of(X, 5)
    fitted = SpexKNN(3, n_neighbors=known).fit(X, sample_weight=WEIGHTS)
    assert fitted.graph_.n_samples == len(X)
    with pytest.raises(ValueError, match="n_neighbors holds neighbours of all rows"):
        SpexKNN(3, n_neighbors=known).fit(X, sample_weight=Y)


# --- Weights of clusters --------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [SpexClique, CART, IMM, ExKMC, KernelIMM, BestTree])
def test_weights_of_clusters_are_weights_of_their_rows(cls):
    factors = {0: 0.5, 2: 3.0}
    own = np.array([0.5, 1.0, 3.0])[Y]
    by_cluster = cls(n_leaves=5, cluster_weight=factors).fit(X, Y, sample_weight=WEIGHTS)
    by_row = cls(n_leaves=5).fit(X, Y, sample_weight=WEIGHTS * own)
    if cls is not IMM and cls is not ExKMC:  # their centres are those of the rows as they are
        assert same_tests(by_cluster, by_row)
    counts = by_cluster.explanation_.leaf_counts
    assert counts.sum() == pytest.approx(WEIGHTS.sum())  # measures do not use them


def test_balanced_clusters_have_the_same_total():
    rare = np.flatnonzero((Y != 2) | (np.arange(len(Y)) % 10 == 0))
    sizes = np.bincount(Y[rare])
    balanced = SpexClique(cluster_weight="balanced").fit(X[rare], Y[rare])
    factors = dict(enumerate(len(rare) / (3 * sizes)))
    given_ = SpexClique(cluster_weight=factors).fit(X[rare], Y[rare])
    assert same_tests(balanced, given_)
    assert 2 in balanced.leaf_reference_


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("heavy", r"cluster_weight='heavy' must be None, \"balanced\" or a dict"),
        (2.0, "cluster_weight=2.0 must be None"),
        ({7: 1.0}, "cluster_weight names 7, but y has no such clusters"),
        ({0: 0.0}, "cluster_weight must be above 0 for every cluster"),
        ({0: -1.0}, "cluster_weight=-1.0 must be a finite number of at least 0"),
    ],
)
def test_other_weights_of_clusters_are_refused(value, message):
    with pytest.raises(ValueError, match=message):
        SpexClique(cluster_weight=value).fit(X, Y)


# --- Memberships ----------------------------------------------------------------------------------

SOFT = GaussianMixture(3, random_state=0).fit(X).predict_proba(X)
WITH_LABELS = {name: case for name, case in CASES.items() if case[0] not in (SpexKNN, SpexGraph)}


@pytest.mark.parametrize("case", WITH_LABELS)
def test_memberships_of_ones_give_the_tree_of_the_labels(case):
    cls, parameters = WITH_LABELS[case]
    by_labels = cls(**parameters).fit(X, Y)
    by_memberships = cls(**parameters).fit(X, np.eye(3)[Y])
    assert by_memberships.tree_ == by_labels.tree_
    assert by_memberships.reference_labels_.tolist() == Y.tolist()
    assert by_memberships.agreement_ == by_labels.agreement_


@pytest.mark.parametrize("case", WITH_LABELS)
def test_engines_agree_on_memberships(case):
    cls, parameters = WITH_LABELS[case]
    fits = [
        cls(engine=engine, **parameters).fit(X, SOFT, sample_weight=WEIGHTS)
        for engine in ("numpy", "histogram")
    ]
    assert fits[0].tree_ == fits[1].tree_
    assert fits[0].reference_labels_.tolist() == SOFT.argmax(axis=1).tolist()
    by_hand = [
        (SOFT * WEIGHTS[:, None])[fits[0].labels_ == leaf].sum(axis=0)
        for leaf in range(fits[0].n_leaves_)
    ]
    assert fits[0].explanation_.leaf_counts == pytest.approx(np.array(by_hand))


@few
@given(drawn=weighted_tables(noise=False), data=st.data())
def test_whole_memberships_are_rows_of_several_clusters(drawn, data):
    """A row with 2 of one cluster and 1 of another stands for three rows."""
    table, labels, _, _ = drawn
    n_clusters = int(labels.max()) + 1
    amounts = np.zeros((len(table), n_clusters))
    amounts[np.arange(len(table)), labels] = 1
    more = data.draw(st.lists(st.integers(0, 2), min_size=amounts.size, max_size=amounts.size))
    amounts += np.reshape(more, amounts.shape)
    rows, clusters = amounts.nonzero()
    copies = np.repeat(np.arange(len(rows)), amounts[rows, clusters].astype(int))
    rows, clusters = rows[copies], clusters[copies]
    for cls in (SpexClique, CART, EMN):
        shared = cls().fit(table, amounts)
        repeated = cls().fit(table[rows], clusters)
        assert same_tests(shared, repeated)
        assert shared.objective_ == pytest.approx(repeated.objective_)
        assert shared.agreement_ == pytest.approx(repeated.agreement_)
        counts = repeated.explanation_.leaf_counts
        assert shared.explanation_.leaf_counts.tolist() == counts.tolist()


def test_what_no_cluster_has_of_a_row_is_noise():
    fitted = SpexClique().fit(X, SOFT * 0.75)
    assert fitted.explanation_.node_noise[0] == pytest.approx(0.25 * len(X))
    assert fitted.explanation_.leaf_purity.max() < 0.76
    assert same_tests(fitted, SpexClique().fit(X, SOFT))


def test_memberships_of_named_clusters():
    frame = pd.DataFrame(SOFT, columns=["a", "b", "c"])
    fitted = SpexClique().fit(pd.DataFrame(X), frame)
    assert set(fitted.leaf_reference_) <= {"a", "b", "c"}
    assert (
        fitted.reference_labels_.tolist() == np.array(["a", "b", "c"])[SOFT.argmax(axis=1)].tolist()
    )


# --- References that are computed -----------------------------------------------------------------


@pytest.mark.parametrize("reference", ["kmeans", "kmedians", "kernel_kmeans", DBSCAN(eps=0.6)])
def test_clusterers_get_the_weights(reference):
    heavy = np.where(Y == 0, 1.0, 5.0)
    fitted = SpexClique(3, reference=reference, random_state=0).fit(X, sample_weight=heavy)
    assert fitted.n_leaves_ >= 2


@pytest.mark.parametrize("reference", ["spectral", AgglomerativeClustering(3)])
def test_clusterers_that_take_no_weights_are_named(reference):
    name = reference if isinstance(reference, str) else "AgglomerativeClustering"
    with pytest.warns(WeightWarning, match=f"reference='{name}' takes no sample_weight") as said:
        SpexClique(3, reference=reference, random_state=0).fit(X, sample_weight=WEIGHTS)
    assert said[0].filename == __file__


@pytest.mark.parametrize("init", ["random", "plus"])
@pytest.mark.parametrize("cls", [KMedians, KernelKMeans])
def test_references_of_weighted_rows(cls, init):
    """From the same start, rows that count several times give the clusters of repeated rows."""
    weights = np.arange(len(X)) % 4
    rows = np.repeat(np.arange(len(X)), weights)
    if cls is KMedians:
        start = X[[5, 70, 130]] if init == "plus" else X[[6, 9, 141]]
        weighted = KMedians(3, init=start).fit(X, sample_weight=weights)
        repeated = KMedians(3, init=start).fit(X[rows])
        assert weighted.cluster_centers_.tolist() == repeated.cluster_centers_.tolist()
    else:
        start = Y if init == "plus" else np.arange(len(X)) % 3
        weighted = KernelKMeans(3, init=start).fit(X, sample_weight=weights)
        repeated = KernelKMeans(3, init=start[rows]).fit(X[rows])
    assert weighted.labels_[rows].tolist() == repeated.labels_.tolist()
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    assert weighted.predict(X).tolist() == repeated.predict(X).tolist()


# --- Measures -------------------------------------------------------------------------------------


@few
@given(drawn=weighted_tables(noise=False), data=st.data())
def test_measures_of_weighted_rows_are_those_of_repeated_rows(drawn, data):
    table, labels, weights, rows = drawn
    tree = SpexClique(n_leaves=2).fit(table, labels, sample_weight=weights)
    leaves = tree.labels_
    one = metrics.agreement(leaves, labels, sample_weight=weights)
    assert one == pytest.approx(metrics.agreement(leaves[rows], labels[rows]))
    for cost in ("kmeans", "kmedians", "kernel_kmeans"):
        found = metrics.clustering_cost(table, leaves, cost=cost, sample_weight=weights)
        expected = metrics.clustering_cost(table[rows], leaves[rows], cost=cost)
        assert found == pytest.approx(expected, abs=1e-9)
        for convention in ("reference", "reoptimized"):
            found = metrics.price_of_explainability(
                table, leaves, labels, cost=cost, convention=convention, sample_weight=weights
            )
            expected = metrics.price_of_explainability(
                table[rows], leaves[rows], labels[rows], cost=cost, convention=convention
            )
            assert found == pytest.approx(expected, abs=1e-9)
    for measure in (metrics.weighted_average_depth, metrics.weighted_average_explanation_size):
        found = measure(tree.tree_, table, sample_weight=weights)
        assert found == pytest.approx(measure(tree.tree_, table[rows]))


def test_agreement_does_not_change_with_the_scale_of_fractions():
    leaves = SpexClique().fit(X, Y).labels_
    found = [
        metrics.agreement(leaves, Y, sample_weight=WEIGHTS * scale) for scale in (0.1, 1.0, 1e9)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[1] == pytest.approx(found[2], rel=1e-6)
    table = np.array([[2.5, 0.5], [0.0, 3.0]])
    assert metrics.agreement_of_counts(table).purity == pytest.approx(5.5 / 6)
