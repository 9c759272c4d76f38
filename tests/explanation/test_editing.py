"""Edits by hand: figures are those of a recount, undo restores bit for bit, and files carry the journal."""

import json
import re
import warnings
from collections import Counter
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palmerpenguins import load_penguins

from mixed_frames import mixed_tables, to_pandas
from refusals import refused
from spexplain import CART, IMM, BestTree, from_json
from spexplain.explanation import Explanation
from spexplain.explanation.branches import right_by_place
from spexplain.export import to_json
from spexplain.kernels.sweeps import count_marked, fill_branch, fill_tops
from spexplain.tree import LEAF, Test

PENGUINS = load_penguins()
TABLE, SPECIES = PENGUINS.drop(columns=["species", "year"]), PENGUINS["species"]


def penguins(**options) -> Explanation:
    return CART(n_leaves=4, **options).fit(TABLE, SPECIES).explanation_


# --- A recount without the package's counting -----------------------------------------------------


def walked(explanation: Explanation, row: np.ndarray) -> list[int]:
    """The nodes that a row visits, test by test."""
    tree, node, found = explanation.tree, 0, [0]
    while tree.feature[node] != LEAF:
        test = tree.test(node)
        passes = test.region().holds(float(row[test.feature]))
        node = int((tree.left if passes else tree.right)[node])
        found.append(node)
    return found


def check_facts(explanation: Explanation) -> None:
    """Compare everything that an edited explanation says with a count of its rows, one by one."""
    training, tree = explanation.training, explanation.tree
    values = np.asarray(training.table.training_rows(), dtype=np.float64)
    reference = training.reference
    weights = training.weights if training.weights is not None else np.ones(len(values))
    counts, sizes, labels = Counter(), Counter(), []
    leaf_ids = {int(node): leaf for leaf, node in enumerate(tree.leaves)}
    for row, code, weight in zip(values, reference.codes, weights, strict=True):
        visited = walked(explanation, row)
        labels.append(leaf_ids[visited[-1]])
        for node in visited:
            sizes[node] += 1
            counts[node, int(code)] += weight
    assert explanation.labels.tolist() == labels
    assert tree.size.tolist() == [sizes[node] for node in range(tree.n_nodes)]
    assert min(tree.size) > 0
    k = reference.n_clusters
    wanted = [[counts[node, code] for code in range(k)] for node in range(tree.n_nodes)]
    np.testing.assert_allclose(explanation.node_counts, wanted, atol=1e-9)
    for node in range(tree.n_nodes):
        own = [counts[node, code] for code in range(k)]
        code = explanation.node_codes[node]
        assert (code == -1) if not any(own) else own[code] == pytest.approx(max(own))
    leaves = tree.leaves.tolist()
    right = sum(max(counts[node, code] for code in range(k)) for node in leaves)
    assert explanation.rows_right == pytest.approx(right)
    known = [explanation.classes[c] if c >= 0 else None for c in reference.codes]
    assert all(
        a == b for a, b in zip(known, reference.labels.tolist(), strict=True) if a is not None
    )
    stands = explanation.leaf_reference.tolist()
    codes = explanation.node_codes[leaves].tolist()
    assert all(c < 0 or s == explanation.classes[c] for s, c in zip(stands, codes, strict=True))


def same(one: Explanation, other: Explanation) -> bool:
    """Whether two explanations are equal bit for bit, their journals apart."""
    for field in fields(Explanation):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name in ("edits", "past", "future", "grown", "training"):
            continue
        if isinstance(a, np.ndarray):
            equal = a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            if not equal:
                return False
        elif a != b and not (a is None and b is None):
            return False
    return True


def same_rows(one: Explanation, other: Explanation) -> bool:
    """Whether two explanations hold the same leaves and clusters of the same rows, bit for bit."""
    a, b = one.training, other.training
    equal = a.table is b.table and a.labels.dtype == b.labels.dtype
    equal = equal and np.array_equal(a.labels, b.labels)
    for name in ("labels", "codes", "classes", "memberships", "centers"):
        x, y = getattr(a.reference, name), getattr(b.reference, name)
        equal = equal and (x is None) == (y is None)
        if x is not None:
            equal = equal and x.dtype == y.dtype and x.tolist() == y.tolist()
    rest = ("weights", "columns", "searched", "graph", "objective", "row_ids", "min_samples_leaf")
    return equal and all(getattr(a, name) is getattr(b, name) for name in rest)


# --- Any sequence of edits ------------------------------------------------------------------------


@st.composite
def edits(draw: st.DrawFn, explanation: Explanation):
    """Some edit, as a function of the explanation; many are refused."""
    tree = explanation.tree
    node = draw(st.integers(0, tree.n_nodes - 1))
    leaf = draw(st.integers(0, tree.n_leaves - 1))
    column = draw(st.integers(0, tree.n_features - 1))
    name = draw(
        st.sampled_from(
            ["with_test", "with_test", "split", "split", "prune", "flip", "swap", "regrow", "merge",
             "rename", "forbid", "lock", "unlock"]
        )
    )  # fmt: skip
    field = explanation.training.table.columns[column]
    x = explanation.training.table.training_rows()[:, column]
    known = np.unique(x[~np.isnan(x)])
    missing = draw(st.booleans())
    if field.kind == "category" and len(known):
        codes = draw(st.sets(st.sampled_from(known.astype(int).tolist()), min_size=1))
        test = Test(column, missing=missing, values=tuple(sorted(codes)))
    else:
        end = float(draw(st.sampled_from(known.tolist()))) if len(known) else 0.0
        test = Test(column, upper=end, missing=missing)
        if draw(st.booleans()):
            test = Test(column, lower=end, missing=missing)
    classes = explanation.classes.tolist()
    one, other = draw(st.sampled_from(classes)), draw(st.sampled_from(classes))
    calls = {
        "with_test": lambda e: e.with_test(node, test),
        "split": lambda e: e.split(leaf, test),
        "prune": lambda e: e.prune(node),
        "flip": lambda e: e.flip(node),
        "swap": lambda e: e.swap(node, draw(st.integers(0, tree.n_nodes - 1))),
        "regrow": lambda e: e.regrow(
            node, draw(st.sampled_from(["cart", "spex"])), draw(st.integers(1, 3))
        ),
        "merge": lambda e: e.merge_clusters(one, other),
        "rename": lambda e: e.rename(one, draw(st.sampled_from(["a", "b", "new"]))),
        "forbid": lambda e: e.forbid(column, below=node),
        "lock": lambda e: e.lock(node),
        "unlock": lambda e: e.unlock(node),
    }
    return calls[name]


@st.composite
def models(draw: st.DrawFn) -> Explanation:
    table = to_pandas(draw(mixed_tables(min_rows=6, max_rows=14, max_columns=3)))
    n_rows = len(table)
    y = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=n_rows, max_size=n_rows))
    y[:2] = "a", "b"
    weights = None
    if draw(st.booleans()):
        whole = draw(st.lists(st.integers(1, 4), min_size=n_rows, max_size=n_rows))
        weights = np.array(whole, dtype=float)
    columns = list(table)
    model = CART(n_leaves=draw(st.integers(1, 5)), features=columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(table, np.array(y), sample_weight=weights).explanation_


@settings(deadline=None, max_examples=60)
@given(models(), st.data())
def test_any_sequence_of_edits_keeps_facts_equal_to_a_recount(first, data):
    states, messages = [first], []
    for _ in range(data.draw(st.integers(1, 7))):
        edit = data.draw(edits(states[-1]))
        try:
            after = edit(states[-1])
        except ValueError as error:
            messages.append(str(error))
            continue
        check_facts(after)
        assert len(after.edits) == len(states)
        states.append(after)
    assert all(each.endswith(".") and "\n" not in each for each in messages)
    now = states[-1]
    for before in states[-2::-1]:
        now = now.undo()
        assert same(now, before)
        assert same_rows(now, before)
    refused(now.undo, words=["undo"])
    for after in states[1:]:
        now = now.redo()
        assert same(now, after)
        assert same_rows(now, after)
    refused(now.redo, words=["redo"])
    assert [each.name for each in now.edits] == [each.name for each in states[-1].edits]


@settings(deadline=None, max_examples=30)
@given(models(), st.data())
def test_files_carry_the_journal(first, data):
    now, states = first, [first]
    for _ in range(data.draw(st.integers(1, 4))):
        try:
            now = data.draw(edits(now))(now)
        except ValueError:
            continue
        states.append(now)
    text = to_json(now)
    again = from_json(text).explanation_
    assert [tuple(each) for each in again.edits] == [tuple(each) for each in now.edits]
    assert again.locked == now.locked
    assert {k: v for k, v in again.forbidden.items() if v} == dict(now.forbidden)
    assert from_json(text).to_json() == text
    for state in states[-2::-1]:
        again = again.undo()
        assert again.tree == state.tree
        if state.node_weights is None:
            assert again.node_counts.tolist() == state.node_counts.tolist()
        assert again.leaf_reference.tolist() == state.leaf_reference.tolist()
    for state in states[1:]:
        again = again.redo()
        assert again.tree == state.tree


# --- One sweep ------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(models(), st.data())
def test_a_sweep_says_what_every_threshold_does(explanation, data):
    tree, table = explanation.tree, explanation.training.table
    node = data.draw(st.integers(0, tree.n_nodes - 1))
    numbers = [j for j, each in enumerate(table.columns) if each.kind != "category"]
    if not numbers:
        return
    column, missing = data.draw(st.sampled_from(numbers)), data.draw(st.booleans())
    found = explanation.sweep(node, column, missing=missing)
    members = [walked(explanation, row) for row in table.training_rows()]
    members = np.array([node in each for each in members])
    for place, threshold in enumerate(found.thresholds.tolist()):
        test = Test(column, upper=threshold, missing=missing)
        x = table.training_rows()[:, column]
        passes = test.passes(x)
        assert found.rows_left[place] == np.count_nonzero(passes & members)
        is_leaf = tree.feature[node] == LEAF
        now = np.zeros(len(x), dtype=bool)
        if not is_leaf:
            own = tree.test(node)
            now = own.passes(table.training_rows()[:, own.feature])
        n_changed = np.count_nonzero((passes != now) & members)
        if not is_leaf and 2 * n_changed > members.sum():  # the branches change sides
            n_changed = members.sum() - n_changed
        assert found.rows_changed[place] == n_changed
        try:
            if is_leaf:
                after = explanation.split(explanation.leaf_ids[node], test)
            else:
                after = explanation.with_test(node, test)
        except ValueError:
            assert found.smallest_leaf[place] == 0
            continue
        assert found.smallest_leaf[place] >= 1
        assert after.rows_right == pytest.approx(found.rows_right[place])


@settings(deadline=None, max_examples=40)
@given(models(), st.data())
def test_alternatives_are_what_they_say(explanation, data):
    tree = explanation.tree
    node = data.draw(st.integers(0, tree.n_nodes - 1))
    found = explanation.alternatives(node)
    assert len({each.column for each in found}) == len(found)
    rights = [each.rows_right for each in found]
    assert rights == sorted(rights, reverse=True)
    for each in found:
        if tree.feature[node] == LEAF:
            after = explanation.split(explanation.leaf_ids[node], each.test)
        else:
            assert each.test.feature != tree.feature[node]
            after = explanation.with_test(node, each.test)
        assert after.rows_right == pytest.approx(each.rows_right)
        total = explanation.node_counts[0].sum()
        assert each.score == pytest.approx(each.rows_right / total)
        if explanation.training.table.columns[each.test.feature].kind != "category":
            swept = [explanation.sweep(node, each.test.feature, missing=m) for m in (False, True)]
            best = max(
                float(right)
                for one in swept
                for right, least in zip(one.rows_right, one.smallest_leaf, strict=True)
                if least > 0
            )
            if explanation.training.table.columns[each.test.feature].has_missing:
                assert each.rows_right == pytest.approx(best)


# --- As a user ------------------------------------------------------------------------------------


def test_the_analyst_knows_better():
    first = penguins()
    assert first.rows_right == 331
    edited = first.with_test(0, "flipper_length_mm ≤ 205 or missing")
    assert edited.rows_right == 331
    assert edited.edits[-1] == (
        "with_test",
        {"node": 0, "condition": "flipper_length_mm ≤ 205 or missing"},
    )
    small = edited.prune(2)
    assert small.tree.n_leaves == 3
    model = CART().fit(TABLE, SPECIES).edited(small.rename("Gentoo", "gentoo"))
    assert model.leaf_reference_.tolist() == ["Adelie", "Chinstrap", "gentoo"]
    assert "gentoo" in model.to_text()
    assert model.predict_reference(TABLE).tolist().count("gentoo") == int(small.tree.size[2])
    merged = small.merge_clusters("Adelie", "Chinstrap", "small")
    assert merged.classes.tolist() == ["small", "Gentoo"]
    assert merged.rows_right > small.rows_right
    assert first.rows_right == 331  # nothing is changed in place


def test_branches_stay_with_their_rows():
    first = penguins()
    turned = first.with_test(0, "flipper_length_mm > 206")
    assert turned.rows_right == first.rows_right
    assert turned.nodes()[0]["text"] == "flipper_length_mm > 206"
    assert turned.nodes()[1]["text"] == first.nodes()[2]["text"]
    assert turned.rows_right == first.flip(0).rows_right


def test_reports_and_exports_of_an_edited_model(tmp_path):
    explainer = CART(n_leaves=4).fit(TABLE, SPECIES)
    edited = explainer.edited(explainer.explanation_.with_test(1, "bill_length_mm ≤ 43"))
    page = edited.report(tmp_path / "report.html").read_text()
    assert "bill_length_mm ≤ 43" in page
    assert re.search(r"\bnan\b", page, re.IGNORECASE) is None
    assert edited.summary()["agreement"] is not None
    assert "43" in edited.to_sql()
    assert edited.predict(TABLE).tolist() == edited.labels_.tolist()
    assert edited.truncated(2).n_leaves_ == 2
    assert edited.score(TABLE, SPECIES) == edited.explanation_.rows_right / 344


def test_locked_parts_stay():
    first = penguins().lock(1)
    assert first.locked == {0, 1}
    for call in (
        lambda: first.with_test(0, "body_mass_g > 4000"),
        lambda: first.with_test(1, "body_mass_g > 4000"),
        lambda: first.prune(0),
        lambda: first.regrow(1),
        lambda: first.flip(0),
        lambda: first.swap(0, 2),
        lambda: first.forbid("flipper_length_mm"),
    ):
        refused(call, words=["locked"])
    assert first.with_test(2, "bill_depth_mm > 17").locked == {0, 1}
    assert first.unlock(0).prune(0).tree.n_leaves == 1
    rule = penguins().lock(leaf=2)
    assert rule.locked == {0, 2, 5}
    refused(lambda: rule.split(2, "body_mass_g > 5000"), words=["locked"])


def test_forbidden_columns_are_not_used():
    first = penguins()
    bare = first.forbid("flipper_length_mm")
    assert "flipper_length_mm" not in {each["text"].split()[0] for each in bare.nodes()}
    refused(lambda: bare.with_test(0, "flipper_length_mm ≤ 200"), words=["forbidden"])
    assert "flipper_length_mm" not in {each.column for each in bare.alternatives(0)}
    partly = first.forbid("bill_length_mm", below=1)
    assert partly.forbidden == {1: frozenset({1})}
    assert partly.tree.test(0) == first.tree.test(0)
    assert partly.with_test(2, "bill_length_mm > 45").tree.test(2).feature == 1


def test_regrow_finds_what_an_estimator_finds():
    first = penguins()
    whole = first.regrow(0, n_leaves=4)
    assert whole.tree.tests == first.tree.tests
    best = first.regrow(0, method="best", n_leaves=4)
    assert best.rows_right >= first.rows_right
    some = first.regrow(0, n_leaves=3, features=["bill_depth_mm", "sex"])
    assert set(some.used) <= {2, 5}


def test_models_from_files():
    explainer = CART(n_leaves=4).fit(TABLE, SPECIES)
    loaded = from_json(explainer.to_json())
    for edit in (
        lambda e: e.prune(1),
        lambda e: e.flip(2),
        lambda e: e.merge_clusters("Adelie", "Chinstrap"),
        lambda e: e.rename("Adelie", "adelie"),
        lambda e: e.lock(2).forbid("sex"),
    ):
        here, there = edit(explainer.explanation_), edit(loaded.explanation_)
        assert there.tree.tests == here.tree.tests
        assert there.node_counts.tolist() == here.node_counts.tolist()
        assert there.leaf_reference.tolist() == here.leaf_reference.tolist()
        assert there.rows_right == here.rows_right
    refused(lambda: loaded.explanation_.with_test(0, "body_mass_g > 4000"), words=["with_rows"])
    refused(lambda: loaded.explanation_.alternatives(0), words=["with_rows"])
    again = loaded.with_rows(TABLE, SPECIES)
    edited = again.explanation_.with_test(0, "body_mass_g > 4000")
    here = explainer.explanation_.with_test(0, "body_mass_g > 4000")
    assert edited.node_counts.tolist() == here.node_counts.tolist()
    assert [a[1:] for a in again.explanation_.alternatives(0)] == [
        a[1:] for a in explainer.explanation_.alternatives(0)
    ]


def test_clusters_that_leaves_stand_for_stay_where_rows_stay():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0], [11.0], [12.0], [13.0]])
    y = np.array([0, 0, 1, 1, 1, 2, 2, 2])
    model = IMM().fit(X, y)
    first = model.explanation_
    codes = dict(zip(range(first.tree.n_nodes), first.node_codes.tolist(), strict=True))
    split = first.split(0, "x0 ≤ 0")
    for node in range(first.tree.n_nodes):
        assert split.node_codes[node] == codes[node]


def test_names_stay_apart_as_texts():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]])
    first = CART(n_leaves=3).fit(X, [1, 1, 2, 2, 3, 3]).explanation_
    with pytest.raises(ValueError, match=r"^There is a cluster '2' already; merge_clusters joins"):
        first.rename(1, "2")
    with pytest.raises(ValueError, match=r"^There is a cluster '3' already\.$"):
        first.merge_clusters(1, 2, "3")
    assert first.merge_clusters(1, 2, "2").classes.tolist() == ["2", "3"]
    assert first.rename(1, "1").classes.tolist() == ["1", "2", "3"]
    for name in (None, float("nan"), "", " "):
        with pytest.raises(ValueError, match=r"^name=.* must be a number, or a text that is"):
            first.rename(1, name)
    for noise in (-1, "-1", -1.0):
        with pytest.raises(ValueError, match=r"^name=.* means rows of no cluster; take another"):
            first.rename(1, noise)
        with pytest.raises(ValueError, match=r"^segment_names\[1\]=.* means rows of no cluster"):
            first.with_segment_names({1: noise})
    with pytest.raises(ValueError, match=r"^segment_names\[1\]='' must be a number, or a text"):
        first.with_segment_names({1: ""})


def test_other_leaves_count_the_cluster_they_stand_for():
    X = np.array([[3.0], [4.0], [6.0], [7.0], [0.0], [1.0], [6.0], [7.0], [1.0], [2.0]])
    y = np.array([2, 1, 0, 2, 0, 1, 1, 1, 0, 0])
    first = IMM().fit(X, y).explanation_
    assert first.node_codes[4] != first.node_counts[4].argmax()  # served by its centre
    leaf, node = 0, int(first.tree.leaves[0])
    found = first.sweep(node, 0)
    rights = [first.split(leaf, f"x0 ≤ {each}").rows_right for each in found.thresholds.tolist()]
    np.testing.assert_array_equal(found.rows_right, rights)
    (best,) = first.alternatives(node)
    assert first.split(leaf, best.test).rows_right == best.rows_right == max(rights)


def test_a_forest_of_refusals():
    first = penguins()
    refused(lambda: first.with_test(3, "body_mass_g > 4000"), words=["leaf 0"])
    refused(lambda: first.with_test(99, "body_mass_g > 4000"), words=["node=99"])
    refused(lambda: first.split(9, "body_mass_g > 4000"), words=["leaf=9"])
    refused(lambda: first.with_test(0, "body_mass_g > 9000"), words=["without rows"])
    refused(lambda: first.with_test(0, "height > 3"), words=["names no column"])
    refused(lambda: first.rename("Emperor", "x"), words=["Emperor", "Adelie"])
    refused(lambda: first.rename("Adelie", "Gentoo"), words=["merge_clusters"])
    refused(lambda: first.merge_clusters("Adelie", "Adelie"), words=["one cluster"])
    refused(lambda: first.swap(1, 2), words=["below"])
    refused(lambda: first.sweep(0, "island"), words=["categories"])
    refused(first.lock, words=["node or leaf"])
    refused(lambda: first.regrow(0, method="magic"), words=["method="])
    free = BestTree(n_leaves=2).fit(
        TABLE[["body_mass_g"]].dropna(), SPECIES[TABLE.body_mass_g.notna()]
    )
    refused(lambda: free.explanation_.flip(1), words=["leaf"])


def test_a_number_that_becomes_a_name():
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]})
    first = CART(noise="ignore").fit(frame, np.array([0, 0, 1, -1])).explanation_
    named = first.rename(0, "low")
    assert named.classes.tolist() == ["low", "1"]
    check_facts(named)


@settings(deadline=None)
@given(st.data())
def test_compiled_counts_are_those_of_plain_ones(data):
    n_rows, n_leaves = data.draw(st.integers(0, 12)), data.draw(st.integers(1, 4))
    leaf = np.array(
        data.draw(st.lists(st.integers(0, n_leaves - 1), min_size=n_rows, max_size=n_rows)), int
    )
    codes = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=n_rows, max_size=n_rows)), int)
    mass = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows)), float)
    amounts = np.zeros((n_rows, 3))
    known = np.flatnonzero(codes >= 0)
    amounts[known, codes[known]] = mass[known]
    places = data.draw(st.lists(st.integers(0, n_rows), unique=True))
    ends = np.array(sorted(places), dtype=np.int64)
    from_end, weighs = data.draw(st.booleans()), data.draw(st.booleans())
    if not weighs:
        amounts[known, codes[known]] = 1.0
    turns = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(ends), max_size=len(ends))), bool
    )
    room, sizes = np.zeros((4, n_leaves)), np.zeros(n_leaves, dtype=np.int64)
    cells = (leaf * 4 + codes + 1).astype(np.uint16)
    leaf_of, code_of = np.repeat(np.arange(n_leaves), 4), np.tile(np.arange(-1, 3), n_leaves)
    given = mass if weighs else np.empty(0)
    out = np.full(len(ends), 10.0), np.full(len(ends), 20.0), np.full(len(ends), 2)
    about = cells, leaf_of, code_of, given, from_end, ends, turns, True
    fill_branch(*about, np.zeros((n_leaves, 3)), room, sizes, *out)
    way = slice(None, None, -1 if from_end else 1)
    at = n_rows - ends if from_end else ends
    right, purity, smallest = (
        each[at] for each in right_by_place(leaf[way], n_leaves, amounts[way])
    )
    assert out[0].tolist() == np.where(turns, 10.0 + right, 10.0).tolist()
    assert out[1].tolist() == np.where(turns, 20.0 + purity, 20.0).tolist()
    assert out[2].tolist() == np.where(turns, np.minimum(smallest, 2), 2).tolist()
    tops = np.full(len(ends), 10.0), np.full(len(ends), 2)
    room, sizes = np.zeros(n_leaves), np.zeros(n_leaves, dtype=np.int64)
    fill_tops(*about, np.zeros((n_leaves, 3)), room, sizes, *tops)
    assert tops[0].tolist() == out[0].tolist()
    assert tops[1].tolist() == out[2].tolist()
    found = np.empty(len(ends), dtype=np.int64)
    count_marked(cells, code_of == 1, ends, found)
    assert found.tolist() == [int((codes[:end] == 1).sum()) for end in ends]


def test_a_large_table_gives_what_a_small_one_does(monkeypatch):
    first = penguins()
    plain = [first.sweep(node, "body_mass_g") for node in (0, 2, 3)]
    monkeypatch.setattr("spexplain.explanation.branches.compiled_pays", lambda *_: True)
    for node, wanted in zip((0, 2, 3), plain, strict=True):
        found = first.sweep(node, "body_mass_g")
        for one, other in zip(found, wanted, strict=True):
            assert one.tolist() == other.tolist()
        quick = first.sweep(node, "body_mass_g", purity=False)
        for one, other in zip(quick[:-1], wanted[:-1], strict=True):
            assert one.tolist() == other.tolist()
        assert np.isnan(quick.purity).all()


@settings(deadline=None, max_examples=30)
@given(models(), st.data())
def test_compiled_answers_are_those_of_plain_ones(explanation, data):
    node = data.draw(st.integers(0, explanation.tree.n_nodes - 1))
    table = explanation.training.table
    numbers = [j for j, each in enumerate(table.columns) if each.kind != "category"]
    answers = []
    for pays in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            says = (lambda *_: True) if pays else (lambda *_: False)
            patch.setattr("spexplain.explanation.branches.compiled_pays", says)
            if data.draw(st.booleans()):  # orders of the table, or of the node's own rows
                patch.setattr("spexplain.explanation.branches._FEW", 1)
            if data.draw(st.booleans()):
                patch.setattr("spexplain.explanation.branches._FEW_ENDS", 0)
            found = [explanation.sweep(node, j, missing=m) for j in numbers for m in (False, True)]
            answers.append((found, explanation.alternatives(node)))
    for one, other in zip(answers[0][0], answers[1][0], strict=True):
        for a, b in zip(one, other, strict=True):
            assert a.tolist() == b.tolist()
    assert answers[0][1] == answers[1][1]


def test_undo_of_memberships():
    rng = np.random.default_rng(0)
    X, shares = rng.normal(size=(400, 2)).round(1), rng.dirichlet(np.ones(4), 400)
    first = CART(n_leaves=4, min_samples_leaf=50).fit(X, shares).explanation_
    states = [first]
    for one, other in ((0, 2), (0, 1)):
        states.append(states[-1].merge_clusters(one, other))
        test = states[-1].tree.test(0)
        states.append(states[-1].with_test(0, replace(test, upper=test.upper + 0.1)))
    now = states[-1]
    for before in states[-2::-1]:
        now = now.undo()
        assert same(now, before)
        assert same_rows(now, before)
    for after in states[1:]:
        now = now.redo()
        assert same(now, after)
        assert same_rows(now, after)


@pytest.mark.parametrize(
    ("entry", "value", "words"),
    [
        ("constraints", 3, ["constraints"]),
        ("constraints", {"locked": [99], "forbidden": {}}, ["constraints"]),
        ("constraints", {"locked": [True], "forbidden": {}}, ["constraints"]),
        ("constraints", {"locked": [], "forbidden": {"0": [77]}}, ["constraints"]),
        ("constraints", {"locked": [], "forbidden": {"x": [0]}}, ["constraints"]),
        ("edits", [], ["edits"]),
        ("edits", {"position": 2, "journal": [], "states": []}, ["edits"]),
        ("edits", {"position": 0, "journal": [{"edit": 1, "arguments": {}}], "states": [{}]}, ["edits"]),
        ("edits", {"position": 0, "journal": [{"edit": "a", "arguments": {}}], "states": [{}]}, ["object"]),
    ],
)  # fmt: skip
def test_files_that_lie_are_refused(entry, value, words):
    document = json.loads(to_json(penguins().lock(1)))
    assert from_json(json.dumps(document)).explanation_.locked == {0, 1}
    document[entry] = value
    refused(lambda: from_json(json.dumps(document)), words=["not a spexplain model", *words])


def test_states_of_a_journal_have_no_journal():
    document = json.loads(to_json(penguins().lock(1).prune(2)))
    assert len(document["edits"]["states"]) == 2
    document["edits"]["states"][0]["edits"] = json.loads(json.dumps(document["edits"]))
    refused(lambda: from_json(json.dumps(document)), words=["edits"])
