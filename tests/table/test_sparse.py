"""Sparse tables: the tree of the same table with its zeros written out, from the stored entries alone."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline

from loose_trees import random_tree
from refusals import refused
from spexplain import CART, IMM, BestTree, SpexClique, SpexKNN, from_json
from spexplain.engines.sparse import (
    CompiledSparseSearch,
    SparseSearch,
    cut_to_pieces,
    cut_to_pieces_compiled,
)
from spexplain.exceptions import LeafCountWarning
from spexplain.graphs import CliqueGraph, MembershipGraph
from spexplain.grow import grow
from spexplain.ledgers import ledger_of
from spexplain.ledgers.labels import in_labels
from spexplain.objectives import Objective, gini_cart, spex, volume_cart
from spexplain.records import Side
from spexplain.refine.best_tree import Improver, grown_by_agreement
from spexplain.refine.routes import Routes, tree_of
from spexplain.refine.rows import SortedRows, StoredRows
from spexplain.refine.scores import COUNTING_GOALS, GOALS, LeafScore
from spexplain.refine.solver import Solver
from spexplain.table.host import HostTable
from spexplain.table.sparse import SparseTable, canonical, entries_differ
from spexplain.threads import Threads
from strategies import labels_for


def weighted(labels):
    """Cliques of rows of different weights, of which some share no cluster."""
    amounts = np.zeros((len(labels), max(labels.max() + 1, 1)))
    known = labels >= 0
    amounts[known, labels[known]] = (np.arange(len(labels)) % 3 + 0.5)[known]
    return MembershipGraph.from_amounts(amounts)


FORMULAS = {
    "spex": lambda labels: spex(CliqueGraph.from_labels(labels)),
    "spex, cliques of equal weight": lambda labels: spex(
        CliqueGraph.from_labels(labels, "inverse_size")
    ),
    "gini": lambda labels: gini_cart(CliqueGraph.from_labels(labels)),
    "volume": lambda labels: volume_cart(CliqueGraph.from_labels(labels)),
    "spex, weighted": lambda labels: spex(weighted(labels)),
    "gini, weighted": lambda labels: gini_cart(weighted(labels)),
}
SEARCHES = {"numpy": SparseSearch, "histogram": CompiledSparseSearch}
FORMS = [
    sparse.csr_array,
    sparse.csr_matrix,
    sparse.csc_array,
    sparse.csc_matrix,
    sparse.coo_array,
    lambda X: pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X)),
]


@st.composite
def sparse_tables(draw, max_rows=14, max_columns=4):
    """Tables with many zeros, negative values, ties, constant and empty columns, and empty rows."""
    n_rows = draw(st.integers(2, max_rows))
    value = st.one_of(
        st.just(0), st.just(0), st.integers(-3, 3), st.integers(1, 2), st.integers(-90, 90)
    )
    column = st.one_of(
        st.lists(value, min_size=n_rows, max_size=n_rows),
        st.integers(-2, 2).map(lambda each: [each] * n_rows),
    )
    columns = draw(st.lists(column, min_size=1, max_size=max_columns))
    dtype = draw(st.sampled_from([np.float32, np.float64, np.int64, np.int8]))
    X = np.array(columns).T
    if dtype in (np.float32, np.float64):
        X = X * draw(st.sampled_from([1.0, 0.1, 0.25]))
    X[draw(st.lists(st.integers(0, n_rows - 1), max_size=3))] = 0
    assume(np.any(X[0] != X))
    return X.astype(dtype), draw(labels_for(n_rows))


def grown(search, n_leaves=20):
    return grow(search, max_leaves=n_leaves)


def entries_of(X):
    return canonical(sparse.csc_array(X.astype(X.dtype if X.dtype.kind == "f" else np.float64)))


def dense_tree(X, objective, min_samples_leaf=1):
    from spexplain.engines.exhaustive import NumpyEngine

    table = X if X.dtype.kind == "f" else X.astype(np.float64)
    return grown(NumpyEngine().bind(table, objective, min_samples_leaf=min_samples_leaf))


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("engine", SEARCHES)
@given(case=sparse_tables(), min_samples_leaf=st.integers(1, 3))
def test_the_tree_of_the_dense_table(engine, formula, case, min_samples_leaf):
    X, labels = case
    objective = FORMULAS[formula](labels)
    ledger = in_labels(ledger_of(objective.graph, objective.trend))
    search = SEARCHES[engine](entries_of(X), objective, ledger, Threads(1), min_samples_leaf)
    assert grown(search) == dense_tree(X, objective, min_samples_leaf)


@pytest.mark.parametrize("engine", SEARCHES)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_blocks_and_many_values(engine, n_threads, monkeypatch):
    # Several blocks, columns longer than a block, values that are no whole numbers.
    monkeypatch.setattr("spexplain.engines.sparse._BLOCK", 50)
    random = np.random.default_rng(5)
    labels = random.integers(-1, 7, 300)
    X = np.where(random.random((300, 9)) < 0.3, random.normal(size=(300, 9)), 0.0)
    X[:, 3] = np.round(X[:, 3])
    X[:, 4] = random.normal(size=300) + labels  # no zeros
    X[:, 5] = np.abs(X[:, 4])
    X[:, 6] = -X[:, 5]
    objective = spex(CliqueGraph.from_labels(labels))
    ledger = ledger_of(objective.graph, objective.trend)
    for table in (X, np.round(X), np.round(3 * X) / 4, X[:, :4].astype(np.float32)):
        search = SEARCHES[engine](entries_of(table), objective, ledger, Threads(n_threads), 2)
        assert grown(search) == dense_tree(table, objective, 2)


@pytest.mark.parametrize("engine", SEARCHES)
@given(case=sparse_tables())
def test_a_formula_that_is_not_compiled(engine, case):
    X, labels = case
    graph = CliqueGraph.from_labels(labels)

    def score(left, right, node):
        return -np.maximum(left.inner, right.inner) + 0.5 * abs(left.size - right.size)

    objective = Objective("largest", graph, score, lambda node: 0.0, trend=Side(0, 0, 0))
    ledger = ledger_of(graph, objective.trend)
    search = SEARCHES[engine](entries_of(X), objective, ledger, Threads(1), 1)
    assert grown(search) == dense_tree(X, objective)


@pytest.mark.parametrize("cut", [cut_to_pieces, cut_to_pieces_compiled])
@pytest.mark.parametrize("block", [1, 5, 1 << 15])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=sparse_tables())
def test_pieces(cut, block, case, monkeypatch):
    monkeypatch.setattr("spexplain.engines.sparse._BLOCK", block)
    X, labels = case
    table = entries_of(X)
    codes = (labels - labels.min()).astype(np.uint16)
    n_labels = int(codes.max()) + 1
    found = cut(table, codes, n_labels)
    columns = np.repeat(np.arange(X.shape[1]), np.diff(found.column_starts))
    stored = [
        (column, float(X[row, column]), int(codes[row]))
        for row in range(len(X))
        for column in range(X.shape[1])
        if X[row, column]
    ]
    own = list(zip(columns.tolist(), found.values.tolist(), found.labels.tolist(), strict=True))
    rounded = [(c, float(table.dtype.type(v)), label) for c, v, label in stored]
    assert own == sorted(set(rounded))
    assert [own[piece] for piece in found.of_entry] == rounded
    assert found.row_starts.tolist() == [0, *np.cumsum(np.count_nonzero(X, axis=1)).tolist()]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("engine", ["auto", "numpy", "histogram"])
@pytest.mark.parametrize("method", [SpexClique, CART])
@settings(max_examples=15)
@given(case=sparse_tables())
def test_estimators(form, engine, method, case):
    X, labels = case
    given = form(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeafCountWarning)
        expected = method(n_leaves=5).fit(X, labels)
        model = method(n_leaves=5, engine=engine).fit(given, labels)
    assert isinstance(model.explanation_.training.table, SparseTable)
    assert model.tree_ == expected.tree_
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(given), expected.labels_)
    np.testing.assert_array_equal(model.explanation_.node_counts, expected.explanation_.node_counts)
    np.testing.assert_allclose(
        model.explanation_.node_costs, expected.explanation_.node_costs, rtol=1e-6, atol=1e-6
    )
    np.testing.assert_array_equal(model.explanation_.scales, expected.explanation_.scales)
    assert model.path_[-1].fidelity == expected.path_[-1].fidelity


@given(case=sparse_tables())
def test_table_answers_as_the_dense_one(case):
    X, labels = case
    table = SparseTable(entries_of(X))
    dense = HostTable(table.to_host())
    origin = dense.origin
    n_groups = int(labels.max()) + 1
    found, known = table.sums(labels, n_groups), dense.sums(labels, n_groups)
    np.testing.assert_array_equal(found.counts, known.counts)
    np.testing.assert_allclose(
        found.sums, known.sums + known.counts[:, None] * origin, rtol=1e-6, atol=1e-9
    )
    direct = [float(np.sum(dense.values[labels == g].astype(float) ** 2)) for g in range(n_groups)]
    np.testing.assert_allclose(found.squares, direct, rtol=1e-6, atol=1e-9)
    assert entries_differ(table.values)
    assert not entries_differ(canonical(sparse.csc_array(np.repeat(X[:1], 3, axis=0))))
    np.testing.assert_array_equal(table.origin, 0)


def test_what_is_stored_twice_or_as_zero():
    dense = np.array([[0.0, 3.0], [1.0, 0.0], [0.0, 0.0], [4.0, -1.0]])
    data = [1.0, 2.0, 0.0, 1.0, 5.0, -5.0, -1.0, 4.0]
    columns = [1, 1, 0, 0, 1, 1, 1, 0]
    given = sparse.csr_matrix((data, columns, [0, 3, 4, 6, 8]), shape=(4, 2))
    copy = given.data.copy(), given.indices.copy(), given.indptr.copy()
    labels = [0, 1, 0, 1]
    model = SpexClique().fit(given, labels)
    assert model.tree_ == SpexClique().fit(dense, labels).tree_
    np.testing.assert_array_equal(model.predict(given), model.predict(dense))
    np.testing.assert_array_equal(model.predict(given.tocsc()), model.predict(dense))
    for before, after in zip(copy, (given.data, given.indices, given.indptr), strict=True):
        np.testing.assert_array_equal(before, after)


def test_later_edits_do_not_reach_the_model():
    X = sparse.csr_array(np.eye(6))
    model = SpexClique().fit(X, [0, 0, 0, 1, 1, 1])
    before = model.summary()
    X.data[:] = 7.0
    assert model.summary() == before


WORDS = np.array(["god", "hockey", "clipper", "the", "never"])
COUNTS = np.array(
    [
        [3, 0, 0, 1, 0],
        [2, 0, 0, 2, 0],
        [1, 0, 0, 0, 0],
        [0, 1, 0, 1, 0],
        [0, 4, 0, 2, 0],
        [0, 2, 0, 0, 0],
        [0, 0, 1, 1, 0],
        [0, 0, 2, 0, 0],
        [0, 0, 1, 3, 0],
        [0, 0, 0, 0, 0],
    ]
)
TOPICS = ["faith"] * 3 + ["sport"] * 3 + ["crypto"] * 4


@pytest.fixture
def model():
    return SpexClique().fit(sparse.csr_matrix(COUNTS), TOPICS)


def test_everything_after_a_fit(model, tmp_path, monkeypatch):
    expected = SpexClique().fit(COUNTS, TOPICS)
    # Small tables may be written out for the certificate; nothing else may.
    monkeypatch.setattr("spexplain.explanation.fitted._SMALL", 0)
    assert model.to_text() == expected.to_text()
    assert model.to_sql() == expected.to_sql()
    assert from_json(model.to_json()).tree_ == expected.tree_
    assert model.rules(output="records") == expected.rules(output="records")
    found, known = model.summary(), expected.summary()
    assert found.keys() == known.keys()
    for leaf, other in zip(found["leaves"], known["leaves"], strict=True):
        for own, same in zip(leaf["profile"], other["profile"], strict=True):
            for name, value in own.items():
                expected_value = same[name]
                is_number = isinstance(value, float)
                assert value == (pytest.approx(expected_value) if is_number else expected_value)
        assert leaf["exemplars"] == other["exemplars"]
        assert leaf["sample"] == other["sample"]
    assert found["points"] == known["points"]
    assert model.report(tmp_path / "report.html").exists()
    row = sparse.csr_array(COUNTS[3:4])
    assert model.explain(row) == expected.explain(COUNTS[3])
    again = from_json(model.to_json())
    for rows in (COUNTS, sparse.csr_matrix(COUNTS), sparse.csc_array(COUNTS)):
        np.testing.assert_array_equal(again.predict(rows), model.labels_)
        np.testing.assert_array_equal(model.predict(rows), model.labels_)
    for rows in (None, sparse.csr_matrix(COUNTS)):
        exported = model.to_sklearn(rows)
        np.testing.assert_array_equal(exported.predict(sparse.csr_matrix(COUNTS)), model.labels_)


def test_nothing_is_written_out(model, monkeypatch):
    def refuse(*given):
        raise AssertionError("the whole table was written out")

    monkeypatch.setattr("spexplain.explanation.fitted._SMALL", 0)
    for place in ("table.sparse", "table.read", "engines.sparse", "explanation.fitted"):
        monkeypatch.setattr(f"spexplain.{place}.densified", refuse)
    X = sparse.csr_matrix(COUNTS)
    for method in (SpexClique, CART):
        fitted = method(reference="kmeans", n_clusters=3, random_state=0).fit(X)
        fitted.predict(X)
        fitted.summary()


@pytest.mark.parametrize("engine", SEARCHES)
@pytest.mark.parametrize("method", [SpexClique, CART])
def test_weights_are_searched_among_the_entries(method, engine, monkeypatch):
    def refuse(*given):
        raise AssertionError("the whole table was written out")

    X, labels = np.asarray(COUNTS), np.arange(len(COUNTS)) % 3 - 1
    weights = np.arange(len(labels)) % 4 / 3
    model = method(n_leaves=4, cluster_weight="balanced", engine=engine)
    expected = clone(model).fit(X, labels, sample_weight=weights)
    monkeypatch.setattr("spexplain.engines.sparse.densified", refuse)
    model.fit(sparse.csr_matrix(X), labels, sample_weight=weights)
    assert model.tree_ == expected.tree_
    assert model.path_[-1].fidelity == expected.path_[-1].fidelity


@pytest.mark.parametrize("method", [SpexKNN(2, n_neighbors=2), IMM(3), BestTree(3)])
def test_methods_that_need_the_zeros(method):
    expected = method.fit(COUNTS, TOPICS).tree_
    assert method.fit(sparse.csr_matrix(COUNTS), TOPICS).tree_ == expected
    refined = SpexClique(refine="objective")
    expected = refined.fit(COUNTS, TOPICS).tree_
    assert refined.fit(sparse.csr_matrix(COUNTS), TOPICS).tree_ == expected


def test_stored_missing_values():
    dense = COUNTS.astype(float)
    dense[[0, 4, 7], [0, 1, 2]] = np.nan
    given = sparse.csr_matrix(dense)
    expected = SpexClique().fit(dense, TOPICS)
    model = SpexClique().fit(given, TOPICS)
    assert model.tree_ == expected.tree_
    np.testing.assert_array_equal(model.predict(given), expected.labels_)


def test_words_of_a_vectorizer():
    texts = [
        " ".join(word for word, n in zip(WORDS, row, strict=True) for _ in range(n))
        for row in COUNTS
    ]
    vectorizer = CountVectorizer(token_pattern=r"\w+")
    X = vectorizer.fit_transform(texts)
    model = SpexClique(feature_names=vectorizer).fit(X, TOPICS)
    rules = [each["rule"] for each in model.rules(output="records")]
    assert rules[0].startswith('no "')
    assert 'contains "' in rules[-1]
    assert model.explanation_.names == tuple(vectorizer.get_feature_names_out())
    # Only the tested words are needed, in any order, from frames and sparse frames.
    used = [model.explanation_.names[each] for each in model.explanation_.used]
    assert len(used) < X.shape[1]
    for kind in (pd.DataFrame, pd.DataFrame.sparse.from_spmatrix):
        frame = kind(X if kind is not pd.DataFrame else X.toarray())
        frame.columns = vectorizer.get_feature_names_out()
        np.testing.assert_array_equal(model.predict(frame[used[::-1]]), model.labels_)
    again = from_json(model.to_json())
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    copied = clone(model)
    assert copied.feature_names is vectorizer
    assert copied.fit(X, TOPICS).to_text() == model.to_text()
    through = make_pipeline(vectorizer, TfidfTransformer()).fit(texts)
    weighed = SpexClique(feature_names=through).fit(through.transform(texts), TOPICS)
    assert {each.kind for each in weighed.explanation_.fields} == {"word"}


def test_names_from_a_list_and_none():
    X, names = sparse.csr_matrix(COUNTS), WORDS.tolist()
    for table in (X, COUNTS):
        named = SpexClique(feature_names=names, features=["god", "hockey"]).fit(table, TOPICS)
        assert named.explanation_.names == tuple(names)
        assert {each.kind for each in named.explanation_.fields} <= {"whole", "flag"}
        np.testing.assert_array_equal(named.predict(table), named.labels_)
    hashed = HashingVectorizer(n_features=8).fit(["a"])
    unnamed = SpexClique(feature_names=hashed).fit(X, TOPICS)
    assert unnamed.explanation_.names[0] == "x0"
    refused(
        lambda: SpexClique(feature_names=names[:3]).fit(X, TOPICS),
        words=["feature_names has 3 entries", "5 columns"],
    )
    refused(lambda: SpexClique(feature_names="god").fit(X, TOPICS), words=["feature_names='god'"])


def test_columns_that_may_be_used():
    chosen = SpexClique(features=[0, 2]).fit(sparse.csr_matrix(COUNTS), TOPICS)
    assert chosen.tree_ == SpexClique(features=[0, 2]).fit(COUNTS, TOPICS).tree_


def test_refusals(monkeypatch):
    X = sparse.csr_array(np.eye(5))
    labels = [0, 1, 0, 1, 0]
    bad = X.copy()
    bad.data[3] = np.nan
    strict, where = SpexClique(missing="error"), ["NaN", "row 3", "column 3"]
    refused(lambda: strict.fit(bad, labels), words=where)
    refused(lambda: strict.fit(bad.tocsc(), labels), words=where)
    bad.data[3] = np.inf
    refused(lambda: SpexClique().fit(bad, labels), words=["infinity", "row 3", "column 3"])
    refused(lambda: SpexClique().fit(0 * X, labels), words=["constant"])
    refused(lambda: SpexClique().fit(X.astype(complex), labels), words=["real numbers"])
    refused(lambda: SpexClique().fit(X[:1], labels[:1]), words=["1 sample"])
    fitted = SpexClique().fit(X, labels)
    refused(lambda: fitted.predict(X[:, :3]), words=["X has 3 features", "5 features"])
    tested = X.copy()
    tested.data[:] = np.inf
    refused(lambda: fitted.predict(tested), words=["infinity", f"'x{fitted.tree_.feature[0]}'"])
    loaded = from_json(fitted.to_json())
    refused(lambda: loaded.predict(X[:, :3]), words=["X has 3", "5"])
    refused(lambda: loaded.predict(tested), words=["infinity"])
    refused(lambda: fitted.explain(X), words=["single row"])
    monkeypatch.setattr("spexplain.memory._SMALL", 0)
    monkeypatch.setattr("spexplain.memory.available_memory", lambda: 10.0)
    refused(lambda: SpexKNN(2).fit(X), words=["SpexKNN", "zeros", "SpexClique"], error=MemoryError)


def counted_with(orders, X, labels, seed, goal, *, keep, least, weights):
    """Return the trees that a search comes to on its way, with these orders."""
    improver = Improver(
        orders, labels, goal=goal, min_samples_leaf=least, keep_clusters=keep, amounts=weights
    )
    tree = random_tree(X, seed, 5, min_samples_leaf=least)
    routes = Routes(tree, orders.columns)
    found = list(improver._insertions(routes, improver._goal(routes)))
    return [
        grown_by_agreement(improver, 5),
        improver.refined(tree)[0],
        improver.exchanged(tree)[0],
        found,
    ]


@pytest.mark.parametrize("goal", COUNTING_GOALS)
@given(
    case=sparse_tables(max_rows=40),
    seed=st.integers(0, 100),
    keep=st.booleans(),
    least=st.integers(1, 3),
    is_weighted=st.booleans(),
)
@settings(max_examples=40)
def test_cuts_among_stored_entries_are_those_of_sorted_rows(
    goal, case, seed, keep, least, is_weighted
):
    X, labels = case
    X = X.astype(np.float64)
    labels = np.unique(labels, return_inverse=True)[1] - (1 if labels.min() < 0 else 0)
    assume(labels.max() >= 1)
    weights = np.random.default_rng(seed).integers(1, 4, len(X)) if is_weighted else None
    given = {"keep": keep, "least": least, "weights": weights}
    expected = counted_with(SortedRows(np.ascontiguousarray(X.T)), X, labels, seed, goal, **given)
    for table in (X, entries_of(X)):
        assert counted_with(StoredRows(table), X, labels, seed, goal, **given) == expected


# Trees of three leaves and of four have the same shares of clusters, which differ in their last bit.
ROUNDED_SHARES = (
    np.array([[0, -1, -2, *[0] * 9, -2, -2, *[0] * 6]], dtype=np.float32).T,
    np.array([0, 0, 1, 0, 1, 1, 1, 1, 1, 1, -1, -1, 1, 1, -1, -1, -1, -1, 2, 2]),
)


@pytest.mark.parametrize("goal", [*COUNTING_GOALS, "conductance"])
@given(
    case=sparse_tables(max_rows=24),
    size=st.sampled_from([(2, 1), (3, 2), (4, 2), (4, 3), (5, 3)]),
    least=st.integers(1, 3),
)
@example(case=ROUNDED_SHARES, size=(4, 3), least=2)
@settings(max_examples=30, deadline=None)
def test_the_best_trees_among_stored_entries(goal, case, size, least):
    X, labels = case
    X, codes = X.astype(np.float64), np.maximum(labels, -1)
    score = LeafScore.of(goal, codes)
    if goal == "agreement":
        object.__setattr__(score, "factor", 0.3)
    whole = SortedRows(np.ascontiguousarray(X.T))
    expected = Solver(whole, score, least).solve(whole.node(0, len(X)), *size)
    for table in (X, entries_of(X)):
        stored = StoredRows(table)
        found = Solver(stored, score, least).solve(stored.node(0, len(X)), *size)
        assert found.value == pytest.approx(expected.value, rel=1e-9)
        assert found.is_optimal
        if found.tree is not None:
            leaves = tree_of(found.tree, X.shape[1])[0].apply(X)
            assert np.bincount(leaves).min() >= least
            values = score.of_table(score.table(leaves, leaves.max() + 1))
            assert values.sum() == pytest.approx(found.value, rel=1e-9)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("seed", range(3))
def test_best_trees_of_sparse_and_dense_tables_are_the_same(goal, seed, monkeypatch):
    monkeypatch.setattr("spexplain.estimators.best._SMALL", 20_000)  # as if it were large
    random = np.random.default_rng(seed)
    labels = random.integers(0, 7, 300)
    words = random.random((300, 60)) < 0.03 + 0.5 * (np.arange(60) % 7 == labels[:, None]) / 4
    X = words * random.integers(1, 4, words.shape).astype(np.float32)
    X[:, 0] = random.normal(size=300) + labels
    X[:, 1] *= -1
    n_leaves = 7 + 2 * seed
    model = BestTree(n_leaves=n_leaves, goal=goal, keep_clusters=seed == 1)
    expected = clone(model).fit(X, labels)
    for form in (sparse.csr_matrix, sparse.csc_array):
        found = clone(model).fit(form(X), labels)
        assert found.tree_ == expected.tree_
        assert found.value_ == expected.value_
        assert found.bound_ == expected.bound_
        np.testing.assert_array_equal(found.labels_, expected.labels_)


def test_best_tree_leaves_the_zeros_out(monkeypatch):
    def refuse(*given):
        raise AssertionError("the whole table was written out")

    random = np.random.default_rng(0)
    labels = random.integers(0, 4, 200)
    words = random.random((200, 80)) < 0.02 + 0.3 * (np.arange(80) % 4 == labels[:, None])
    X = sparse.csr_matrix(words.astype(float))
    for place in ("table.sparse", "table.read", "engines.sparse"):
        monkeypatch.setattr(f"spexplain.{place}.densified", refuse)
    monkeypatch.setattr("spexplain.refine.rows.SortedRows.__init__", refuse)
    monkeypatch.setattr("spexplain.refine.best_tree._emn", refuse)
    for goal in COUNTING_GOALS:
        BestTree(n_leaves=9, goal=goal, starts=["cart", "agreement"]).fit(X, labels)
