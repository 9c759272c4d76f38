"""`start=`: locked tests of an earlier tree survive a fit with new data, whatever the method."""

import itertools
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palmerpenguins import load_penguins
from scipy import sparse
from sklearn.base import clone

from refusals import refused
from spexplain import CART, BestTree, ClusterClassifier, SpexGraph, estimators, from_json
from spexplain.estimators.starting import _leaves_of_regions
from spexplain.exceptions import LeafCountWarning
from spexplain.refine.scores import COUNTING_GOALS, GOALS, LOW_GOALS

PENGUINS = load_penguins()
TABLE, SPECIES = PENGUINS.drop(columns=["species", "year"]), PENGUINS["species"]
NUMBERS = TABLE.select_dtypes("number").dropna()
KINDS = SPECIES[NUMBERS.index]
LATER = NUMBERS.sample(frac=0.7, random_state=0)[NUMBERS.columns[::-1]]
LATER_KINDS = KINDS[LATER.index]


def negotiated():
    first = CART(n_leaves=4).fit(NUMBERS, KINDS).explanation_
    return first.with_test(0, "body_mass_g ≤ 4500").lock(0).forbid("flipper_length_mm")


@pytest.mark.parametrize("name", estimators.__all__)
@pytest.mark.filterwarnings("ignore::spexplain.exceptions.LostClusterWarning")
@pytest.mark.filterwarnings("ignore::spexplain.exceptions.LeafCountWarning")
def test_locked_tests_come_first_in_every_estimator(name):
    start = negotiated()
    model = getattr(estimators, name)(3, n_leaves=5, start=start, random_state=0)
    model.fit(LATER, LATER_KINDS)
    explanation = model.explanation_
    assert explanation.nodes()[0]["text"] == "body_mass_g ≤ 4500"
    assert explanation.locked == {0}
    assert "flipper_length_mm" not in {explanation.names[j] for j in explanation.used}
    assert model.n_leaves_ <= 5
    assert model.predict(LATER).tolist() == model.labels_.tolist()
    assert model.score(LATER, LATER_KINDS) > 0.7
    assert from_json(model.to_json()).explanation_.locked == {0}
    assert clone(model).fit(LATER, LATER_KINDS).tree_ == model.tree_
    refused(lambda: explanation.prune(0), words=["locked"])


def test_without_locks_the_tree_is_that_of_a_plain_fit():
    start = CART(n_leaves=3).fit(NUMBERS, KINDS)
    plain = CART(n_leaves=5).fit(LATER, LATER_KINDS)
    model = CART(n_leaves=5, start=start).fit(LATER, LATER_KINDS)
    assert model.tree_.tests == plain.tree_.tests
    assert model.agreement_ == plain.agreement_
    assert model.leaf_reference_.tolist() == plain.leaf_reference_.tolist()


def test_a_locked_rule_stays_a_leaf():
    start = CART(n_leaves=4).fit(TABLE, SPECIES).explanation_.lock(leaf=0)
    rule = CART().fit(TABLE, SPECIES).edited(start).rules(output="records")[0]["rule"]
    model = BestTree(n_leaves=7, start=start).fit(TABLE[::-1], SPECIES[::-1])
    assert rule in [each["rule"] for each in model.rules(output="records")]
    assert model.n_leaves_ == 7
    assert len(model.explanation_.locked) == 3


def test_categories_are_found_by_value():
    start = CART(n_leaves=3, features=["island"]).fit(TABLE, SPECIES).explanation_.lock(0)
    text = start.nodes()[0]["text"]
    islands = TABLE["island"].map({"Torgersen": "A new one", "Biscoe": "Biscoe", "Dream": "Dream"})
    later = TABLE.assign(island=islands)
    model = CART(n_leaves=4, start=start).fit(later, SPECIES)
    test = model.tree_.test(0)
    column = model.explanation_.fields[test.feature]
    inside = {column.categories[code] for code in test.values}
    before = start.tree.test(0)
    known = {start.fields[before.feature].categories[code] for code in before.values}
    assert inside == (known & {"Biscoe", "Dream"}) | ({"A new one"} if before.missing else set())
    assert column.name in text


def test_forbidden_below_a_node_only():
    first = CART(n_leaves=4).fit(NUMBERS, KINDS).explanation_
    start = first.lock(0).forbid("bill_depth_mm", below=1)
    model = CART(n_leaves=6, start=start).fit(LATER, LATER_KINDS)
    tree, names = model.tree_, model.explanation_.names
    left = [node for node in range(1, tree.n_nodes) if _side(tree, node) == int(tree.left[0])]
    assert "bill_depth_mm" not in {
        names[tree.feature[node]] for node in left if tree.feature[node] >= 0
    }
    assert "bill_depth_mm" in {names[j] for j in tree.feature if j >= 0}


def _side(tree, node):
    while tree.parents[node] != 0:
        node = int(tree.parents[node])
    return node


def test_depth_weights_and_auto():
    start = negotiated()
    flat = CART(n_leaves=8, max_depth=1, start=start)
    with pytest.warns(LeafCountWarning):
        assert flat.fit(LATER, LATER_KINDS).tree_.depth == 1
    weights = np.where(LATER_KINDS == "Chinstrap", 0.0, 2.0)
    weighted = CART(n_leaves=3, start=start).fit(LATER, LATER_KINDS, sample_weight=weights)
    assert "Chinstrap" not in weighted.leaf_reference_
    auto = CART(n_leaves="auto", start=start).fit(LATER, LATER_KINDS)
    assert auto.n_leaves_ >= 2
    assert auto.explanation_.nodes()[0]["text"] == "body_mass_g ≤ 4500"
    heavy = {"Adelie": 2.0, "Gentoo": 1.0}
    assert CART(start=start, cluster_weight=heavy).fit(LATER, LATER_KINDS).n_leaves_ == 3
    revived = pickle.loads(pickle.dumps(auto))
    assert revived.predict(LATER).tolist() == auto.labels_.tolist()
    face = ClusterClassifier(CART(n_leaves=4, start=start)).fit(LATER, LATER_KINDS)
    assert face.score(LATER, LATER_KINDS) > 0.9


def test_a_given_graph_is_that_of_the_rows():
    start = negotiated()
    points = LATER.to_numpy()
    near = np.abs(points[:, None, 0] - points[None, :, 0]) < 100
    np.fill_diagonal(near, False)
    model = SpexGraph(3, graph=sparse.csr_array(near.astype(float)), start=start)
    assert model.fit(LATER).n_leaves_ == 3


def test_refusals():
    start = negotiated()
    refused(lambda: CART(start="tree").fit(LATER, LATER_KINDS), words=["start=str"])
    refused(lambda: CART(start=CART()).fit(LATER, LATER_KINDS), words=["start=CART"])
    refused(
        lambda: CART(start=start).fit(LATER.drop(columns="body_mass_g"), LATER_KINDS),
        words=["body_mass_g", "lacks"],
    )
    heavy = LATER[LATER["body_mass_g"] > 4500]
    refused(
        lambda: CART(start=start).fit(heavy, LATER_KINDS[heavy.index]), words=["no rows", "unlock"]
    )
    refused(lambda: CART(start=start, round_to=0.01).fit(LATER, LATER_KINDS), words=["round_to"])
    bare = CART().fit(NUMBERS.to_numpy(), KINDS).explanation_.lock(0)
    refused(lambda: CART(start=bare).fit(LATER.to_numpy()[:, :2], LATER_KINDS), words=["4 columns"])
    words = pd.DataFrame({"body_mass_g": LATER["body_mass_g"].astype(str), "x": 1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refused(lambda: CART(start=start).fit(words, LATER_KINDS), words=["category"])


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=4),
    st.integers(1, 12),
)
def test_leaves_are_shared_out_as_well_as_can_be(values, total):
    sizes = _leaves_of_regions(values, total)
    assert all(1 <= size <= len(each) for size, each in zip(sizes, values, strict=True))
    most = min(max(total, len(values)), sum(map(len, values)))
    assert sum(sizes) == most
    best = max(
        sum(each[size - 1] for size, each in zip(choice, values, strict=True))
        for choice in itertools.product(*(range(1, len(each) + 1) for each in values))
        if sum(choice) == most
    )
    assert sum(each[size - 1] for size, each in zip(sizes, values, strict=True)) == best


@pytest.mark.parametrize("goal", GOALS)
def test_the_whole_tree_has_a_value_but_no_proof(goal):
    start = negotiated()
    weights = 1.0 + (np.arange(len(LATER)) % 2)
    options = {"goal": goal, "n_leaves": 4, "random_state": 0}
    begun = BestTree(start=start, **options).fit(LATER, LATER_KINDS, sample_weight=weights)
    plain = BestTree(**options).fit(LATER, LATER_KINDS, sample_weight=weights)
    sign = -1 if goal in LOW_GOALS else 1
    assert sign * begun.value_ <= sign * plain.bound_ + 1e-9
    assert begun.bound_ == (0.0 if goal in LOW_GOALS else 1.0)
    assert not begun.optimal_
    assert begun.starts_ == []
    if goal in COUNTING_GOALS:
        assert begun.value_ == pytest.approx(begun.edited(without_goal(begun)).value_)
    again = begun.set_params(start=None).fit(LATER, LATER_KINDS, sample_weight=weights)
    assert again.value_ == plain.value_


def without_goal(model):
    return replace(model.explanation_, goal=None)


def test_a_tree_from_a_start_is_scored_as_one_from_a_search():
    plain = BestTree(n_leaves=3, goal="cost").fit(LATER, LATER_KINDS)
    start = plain.explanation_
    for node in np.flatnonzero(plain.tree_.feature >= 0).tolist():
        start = start.lock(node)
    begun = BestTree(n_leaves=3, goal="cost", start=start).fit(LATER, LATER_KINDS)
    assert begun.value_ == pytest.approx(plain.value_)


def test_certificates_name_why_there_is_no_graph():
    begun = BestTree(n_leaves=4, start=negotiated()).fit(LATER, LATER_KINDS)
    edited = begun.edited(begun.explanation_.rename("Adelie", "A"))
    for model in (begun, edited):
        refused(model.certificate, words=["models from JSON, with start= or after edits"])
