"""The facts of a summary: known values, what always holds, and degenerate trees."""

import json

import numpy as np
import pytest
from hypothesis import given

from facts.cases import (
    customers_summary,
    customers_table,
    explained,
    explained_tables,
    hostile_summary,
    iris_explainer,
    iris_summary,
    trees_of_any_kind,
)
from spexplain import CART, IMM, SpexClique, SpexKNN
from spexplain.facts import Detail, feature_importances, summarize
from spexplain.facts.certificates import certify
from spexplain.facts.schema import Summary, region_of
from spexplain.facts.schema import test_of as read_test
from spexplain.metrics import agreement
from spexplain.tree import Column, Tree
from spexplain.tree.boxes import node_boxes


def satisfies(leaf, row):
    """Whether a row satisfies the structured rule of a leaf."""
    return all(
        any(
            (-np.inf if low is None else low) < row[each["feature"]]
            and row[each["feature"]] <= (np.inf if high is None else high)
            for low, high in each["intervals"]
        )
        for each in leaf["conditions"]
    )


def test_iris():
    summary = iris_summary()
    assert summary["format"] == "spexplain.facts"
    assert (summary["n_rows"], summary["n_features"], summary["n_leaves"]) == (150, 4, 3)
    assert [leaf["rule"] for leaf in summary["leaves"]] == [
        "petal length (cm) ≤ 2",
        "petal length (cm) > 2 and petal width (cm) ≤ 1.7",
        "petal length (cm) > 2 and petal width (cm) > 1.7",
    ]
    versicolor = summary["leaves"][1]
    assert versicolor["label"] == "versicolor"
    assert versicolor["purity"] == pytest.approx(49 / 54)
    assert versicolor["lift"] == pytest.approx(3 * 49 / 54)
    assert [part["count"] for part in versicolor["composition"]] == [49, 5]
    assert summary["confusion"]["counts"] == [[50, 0, 0], [0, 49, 5], [0, 1, 45]]
    assert summary["path"][-1]["fidelity"] == summary["fidelity"] == pytest.approx(144 / 150)
    assert summary["path"][-1]["price"] == pytest.approx(summary["price"])
    assert summary["features"][2]["integer"] is False


def test_profiles_are_those_of_numpy():
    explainer, X, _ = iris_explainer()
    for leaf in iris_summary()["leaves"]:
        inside = explainer.labels_ == leaf["leaf"]
        for each in leaf["profile"]:
            column = X[:, each["feature"]]
            rows = column[inside]
            assert each["mean"] == pytest.approx(rows.mean())
            assert each["std"] == pytest.approx(rows.std())
            assert each["median"] == np.median(rows)
            assert each["q05"] == pytest.approx(np.quantile(rows, 0.05))
            assert (each["min"], each["max"]) == (rows.min(), rows.max())
            gap = (rows.mean() - column[~inside].mean()) / column.std()
            assert each["difference"] == pytest.approx(gap)
        sizes = [abs(each["difference"]) for each in leaf["profile"]]
        assert sizes == sorted(sizes, reverse=True)


def test_exemplars_are_nearest_to_the_median():
    explainer, X, _ = iris_explainer()
    summary = iris_summary(detail=Detail(n_exemplars=2))
    for leaf in summary["leaves"]:
        rows = np.flatnonzero(explainer.labels_ == leaf["leaf"])
        distances = np.sum(((X[rows] - np.median(X[rows], axis=0)) / X.std(axis=0)) ** 2, axis=1)
        wanted = rows[np.argsort(distances, kind="stable")[:2]]
        assert [each["row"] for each in leaf["exemplars"]] == wanted.tolist()
        assert leaf["exemplars"][0]["values"] == X[wanted[0]].tolist()


def test_only_the_most_different_features_of_many_are_described():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40))
    labels = (X[:, 30] > 0).astype(int)
    X[:, 7] += 3 * labels
    summary = summarize(CART().fit(X, labels).explanation_, X, detail=Detail(max_features=3))
    for leaf in summary["leaves"]:
        assert len(leaf["profile"]) == 3
        assert {30, 7} <= {each["feature"] for each in leaf["profile"]}
        assert len(leaf["exemplars"][0]["values"]) == len(summary["features"]) < 10


def test_certificate_is_part_of_it():
    explainer, X, names = iris_explainer()
    certificate = certify(
        explainer.explanation_.training.graph, X, explainer.tree_, feature_names=names
    )
    summary = iris_summary(certificate=certificate)
    assert summary["certificate"] == certificate.to_dict()
    assert summary["certificate_text"] == certificate.to_text()
    json.dumps(summary, allow_nan=False)


def test_settings_are_plain():
    given = {"graph": np.eye(3), "reference": object(), "features": (1, "a"), "n": np.int64(3)}
    settings = iris_summary(parameters=given)["settings"]
    assert settings["parameters"] == {
        "graph": "ndarray of shape (3, 3)",
        "reference": "object",
        "features": [1, "a"],
        "n": 3,
    }


@given(explained_tables())
def test_what_always_holds(case):
    X, record = case
    summary = summarize(record, X)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    leaves, nodes = summary["leaves"], summary["nodes"]
    for row, leaf in zip(X, record.labels, strict=True):
        assert [each["leaf"] for each in leaves if satisfies(each, row)] == [leaf]
    assert sum(leaf["size"] for leaf in leaves) == len(X)
    assert sum(leaf["share"] for leaf in leaves) == pytest.approx(1.0)
    for leaf in leaves:
        if record.reference is not None:
            assert sum(part["count"] for part in leaf["composition"]) == leaf["size"]
        assert (leaf["purity"] is None) == (leaf["code"] is None)
        assert len(leaf["sample"]) == min(leaf["size"], 5)
        assert all(record.labels[each["row"]] == leaf["leaf"] for each in leaf["exemplars"])
    for node in nodes:
        if node["left"] is not None:
            both = nodes[node["left"]], nodes[node["right"]]
            assert node["size"] == both[0]["size"] + both[1]["size"]
    importances = [each["importance"] for each in summary["features"]]
    assert min(importances, default=0.0) >= 0
    assert sum(importances) == pytest.approx(1.0) or sum(importances) == 0


@given(explained_tables())
def test_the_same_entries_without_rows(case):
    X, record = case
    full, outline = summarize(record, X), summarize(record)
    assert full.keys() == outline.keys() == set(Summary.__annotations__)
    assert outline["nodes"] == full["nodes"]
    assert not outline["has_rows"]
    assert outline["differences"] is None
    json.dumps(outline, allow_nan=False)


@given(explained_tables())
def test_nodes_say_where_their_rows_lie(case):
    _, record = case
    summary, boxes = summarize(record), node_boxes(record.tree)
    for node in summary["nodes"]:
        own = {each["feature"]: region_of(each) for each in node["box"]}
        assert own == boxes[node["node"]]
        assert list(own) == list(boxes[node["node"]])
        spanned = summary["leaves"][node["first_leaf"] : node["last_leaf"] + 1]
        assert sum(leaf["size"] for leaf in spanned) == node["size"]
        if node["leaf"] is not None:
            assert node["first_leaf"] == node["last_leaf"] == node["leaf"]
            leaf = summary["leaves"][node["leaf"]]
            assert (node["code"], node["purity"]) == (leaf["code"], leaf["purity"])


@given(explained_tables())
def test_trees_are_the_beginnings_of_the_tree(case):
    _, record = case
    summary = summarize(record)
    nodes, trees = summary["nodes"], summary["trees"]
    assert [each["n_leaves"] for each in trees] == list(range(1, record.tree.n_leaves + 1))
    assert [each["shown"] for each in trees] == [False] * (len(trees) - 1) + [True]
    for each in trees:
        smaller = record.truncate(each["n_leaves"])
        born = {0} | {
            child
            for node in nodes
            if node["splits_at"] is not None and node["splits_at"] <= each["n_leaves"]
            for child in (node["left"], node["right"])
        }
        ends = [
            node
            for node in born
            if nodes[node]["splits_at"] is None or nodes[node]["splits_at"] > each["n_leaves"]
        ]
        assert sorted(ends) == sorted(smaller.tree.leaves.tolist())
        assert each["depth"] == smaller.tree.depth
        own = summarize(smaller)
        for key in ("fidelity", "price", "objective"):
            assert each[key] == own[key]
        expected = None if own["agreement"] is None else own["agreement"]["ari"]
        assert each["agreement"] == expected


@given(explained_tables())
def test_agreement_is_that_of_the_labels(case):
    _, record = case
    found = summarize(record)["agreement"]
    if record.reference is None or not np.any(record.reference.codes >= 0):
        assert found is None
        return
    clustered = record.reference.codes >= 0
    expected = agreement(record.labels[clustered], record.reference.codes[clustered])
    assert found == expected._asdict()


def test_the_tree_is_marked_on_its_path():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 2))
    labels = (X[:, 0] + X[:, 1] > 0) + 2 * (X[:, 0] > X[:, 1])
    whole = SpexClique(n_leaves=5).fit(X, labels).explanation_
    for n_leaves in (1, 3, 5):
        record = whole.truncate(n_leaves)
        summary = summarize(record, path=record.path)
        assert [each["n_leaves"] for each in summary["path"]] == [1, 2, 3, 4, 5]
        assert [each["n_leaves"] for each in summary["path"] if each["shown"]] == [n_leaves]
        assert summary["path"][n_leaves - 1] == summary["trees"][-1]
        assert not summary["refined"]


def test_a_refined_tree_ends_its_path():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 2))
    labels = (X[:, 0] + X[:, 1] > 0) + 2 * (X[:, 0] > X[:, 1])
    explainer = SpexClique(n_leaves=5, refine="agreement").fit(X, labels)
    grown = SpexClique(n_leaves=5).fit(X, labels).outline()
    summary = explainer.outline()
    assert summary["nodes"][0]["test"] != grown["nodes"][0]["test"]
    assert summary["refined"]
    assert not grown["refined"]
    assert summary["path"][:-1] == grown["path"][:-1]
    assert summary["path"][-1] == summary["trees"][-1]
    assert [each["shown"] for each in summary["path"]] == [False] * 4 + [True]
    for each in summary["trees"]:  # of the refined tree, not of the grown one
        ends = [
            node["counts"]
            for node in summary["nodes"][: 2 * each["n_leaves"] - 1]
            if node["splits_at"] is None or node["splits_at"] > each["n_leaves"]
        ]
        assert each["fidelity"] == sum(map(max, ends)) / 80


def test_a_refinement_that_changes_nothing_leaves_the_tree_on_its_path():
    X = np.arange(8.0)[:, None]
    explainer = SpexClique(refine="agreement").fit(X, np.arange(8) // 4)
    assert explainer.explanation_.is_refined
    assert not explainer.outline()["refined"]


def test_single_leaf():
    X = np.arange(6.0).reshape(3, 2)
    record = explained(Tree.root(n_features=2, size=3), X, [0, 0, 1])
    summary = summarize(record, X)
    (leaf,) = summary["leaves"]
    assert leaf["rule"] == "all rows"
    assert leaf["share"] == leaf["lift"] == 1.0 or leaf["lift"] == 1.0
    assert [each["difference"] for each in leaf["profile"]] == [None, None]
    assert leaf["telling"] == []


def test_two_rows_and_constant_features():
    X = np.array([[0.0, 5.0], [1.0, 5.0]])
    record = explained(Tree.root(n_features=2, size=2).split(0, feature=0, threshold=0.5), X)
    summary = summarize(record, X)
    profile = {each["feature"]: each for each in summary["leaves"][0]["profile"]}
    assert profile[1]["difference"] is None
    assert profile[1]["std"] == profile[0]["std"] == 0.0
    assert profile[0]["difference"] == -2.0
    assert summary["reference"] is None
    assert summary["leaves"][0]["composition"] == []


def test_leaf_without_rows():
    X = np.array([[0.0], [1.0]])
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=9.0)
    summary = summarize(explained(tree, X, ["a", "b"]), X)
    empty = summary["leaves"][1]
    assert (empty["size"], empty["label"], empty["purity"], empty["lift"]) == (0, None, None, None)
    assert empty["profile"] == empty["exemplars"] == empty["sample"] == []
    named = summarize(explained(tree, X, ["a", "b"]), X, leaf_reference=["a", "b"])
    assert named["leaves"][1]["label"] == "b"
    assert named["reference"]["clusters"][1]["leaves"] == [1]


def test_noise():
    X = np.array([[0.0], [0.5], [1.0], [9.0]])
    tree = Tree.root(n_features=1, size=4).split(0, feature=0, threshold=5.0, sizes=(3, 1))
    summary = summarize(explained(tree, X, [7, -1, 7, -1]), X)
    mixed, noise = summary["leaves"]
    assert [(part["label"], part["code"]) for part in mixed["composition"]] == [(7, 0), (-1, -1)]
    assert mixed["purity"] == pytest.approx(2 / 3)
    assert (noise["label"], noise["code"], noise["purity"], noise["lift"]) == (-1, -1, 1.0, 2.0)
    assert summary["reference"]["n_noise"] == 2
    assert summary["agreement"]["ari"] == 1.0


def test_nothing_but_noise():
    X = np.array([[0.0], [9.0]])
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=5.0, sizes=(1, 1))
    summary = summarize(explained(tree, X, [-1, -1]), X)
    assert summary["agreement"] is summary["fidelity"] is summary["price"] is None
    assert summary["features"][0]["importance"] == 1.0


def test_huge_values():
    X = np.array([[-1e300, 1.0], [1e300, 2.0], [1e308, 3.0]])
    tree = Tree.root(n_features=2, size=3).split(0, feature=1, threshold=1.5, sizes=(1, 2))
    json.dumps(summarize(explained(tree, X), X), allow_nan=False)


def test_hostile_names_are_kept_as_they_are():
    summary = hostile_summary()
    assert summary["n_leaves"] == 9
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["features"][0]["name"] == "<script>alert(1)</script>"


def test_other_rows_are_refused():
    explainer, X, _ = iris_explainer()
    with pytest.raises(ValueError, match="the 150 training rows"):
        summarize(explainer.explanation_, X[:10])
    with pytest.raises(ValueError, match="fall into other leaves"):
        summarize(explainer.explanation_, X[::-1])
    with pytest.raises(ValueError, match="feature_names has 1 entries"):
        summarize(explainer.explanation_, X, names=["a"])


@pytest.mark.parametrize("estimator", [IMM(), SpexKNN(3, n_neighbors=5)])
def test_importances(estimator):
    explainer, X, _ = iris_explainer()
    fitted = estimator.fit(X, explainer.reference_labels_)
    record = fitted.explanation_
    importances = feature_importances(fitted.tree_, record.node_counts)
    assert importances.sum() == pytest.approx(1.0)
    by_name = {each["feature"]: each["importance"] for each in summarize(record)["features"]}
    assert {feature: importances[feature] for feature in by_name} == pytest.approx(by_name)


def test_importances_of_cart_are_those_of_scikit_learn():
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(200, 4)).astype(np.float32), rng.integers(0, 3, 200)
    labels[X[:, 2] > 0.3] = 0
    theirs = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, labels)
    ours = CART(n_leaves=6).fit(X, labels)
    importances = feature_importances(ours.tree_, ours.explanation_.node_counts)
    assert importances == pytest.approx(theirs.feature_importances_)


@given(trees_of_any_kind())
def test_what_holds_for_columns_of_any_kind(case):
    columns, X, tree = case
    summary = summarize(explained(tree, X, np.arange(len(X)) % 2), X, names=columns)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    leaves = tree.apply(X)
    for leaf in summary["leaves"]:
        rows = X[leaves == leaf["leaf"]]
        for each in leaf["profile"]:
            column, inside = columns[each["feature"]], rows[:, each["feature"]]
            known = inside[~np.isnan(inside)]
            assert each["missing"] == pytest.approx(1 - len(known) / len(inside))
            if column.kind == "category":
                assert each["mean"] is each["median"] is each["max"] is None
                for share in each["shares"]:
                    assert share["share"] == pytest.approx(np.mean(known == share["code"]))
            elif len(known):
                assert (each["min"], each["max"]) == (known.min(), known.max())
    for node in summary["nodes"]:
        if node["feature"] is not None:
            assert read_test(node) == tree.test(node["node"])
    outline = summarize(explained(tree, X), names=columns)
    assert [each["test"] for each in outline["nodes"]] == [
        each["test"] for each in summary["nodes"]
    ]


def test_customers():
    X, _ = customers_table()
    summary = customers_summary()
    channel, member, last_order, age, *_ = summary["features"]
    assert (channel["kind"], channel["mean"], channel["median"]) == ("category", None, None)
    shares = [np.mean(X[~np.isnan(X[:, 0]), 0] == code) for code in range(4)]
    assert [each["share"] for each in channel["shares"]] == pytest.approx(sorted(shares)[::-1])
    assert channel["missing"] == pytest.approx(np.isnan(X[:, 0]).mean())
    assert [each["text"] for each in member["shares"]] == ["member = yes"]
    assert last_order["integer"] is True
    assert age["max"] == np.nanmax(X[:, 3])
    texts = [each["text"] for leaf in summary["leaves"] for each in leaf["telling"]]
    for text in (
        "channel: 86% app (rest 11%)",
        "member: 100% yes (rest 44%)",
        "last order 140 days earlier than the rest (1.2 SD)",
        'contains "hockey": 70% (rest 25%)',
        "age: 100% missing (rest 16%)",
        "coupon = 1: 100% (rest 48%)",
    ):
        assert text in texts
    differences = summary["differences"]
    assert "channel = web" in differences["names"]
    at = differences["names"].index("member = yes")
    leaf = summary["leaves"][1]
    (own,) = (each for each in leaf["profile"] if each["name"] == "member")
    assert differences["shares"][1][at] == own["shares"][0]["share"] == own["mean"] == 1.0
    assert differences["values"][1][at] == own["difference"]


def test_shares_differ_as_columns_of_zeros_and_ones_do():
    """A category of two values tells the same as a boolean."""
    random = np.random.default_rng(1)
    values = random.integers(0, 2, (50, 1)).astype(float)
    X = np.hstack([values, values, random.normal(size=(50, 1))])
    X[:5, :2] = np.nan
    columns = [Column("a", "category", ("no", "yes")), Column("b", "boolean"), Column("c")]
    tree = Tree.root(n_features=3, size=50).split(0, feature=2, threshold=0.1)
    for leaf in summarize(explained(tree, X), X, names=columns)["leaves"]:
        profile = {each["name"]: each for each in leaf["profile"]}
        (yes,) = (each for each in profile["a"]["shares"] if each["said"] == "yes")
        (same,) = profile["b"]["shares"]
        for key in ("share", "rest", "difference"):
            assert yes[key] == pytest.approx(same[key])
        assert abs(profile["a"]["difference"]) == pytest.approx(abs(profile["b"]["difference"]))
