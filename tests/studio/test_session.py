"""What a session answers: plain JSON, exact figures, and one sentence for what cannot be answered."""

import base64
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palmerpenguins import load_penguins

from refusals import refused
from spexplain import CART, BestTree, from_json
from spexplain.studio import Session, StaleError
from spexplain.studio.answers import thinned

PENGUINS = load_penguins()
TABLE, SPECIES = PENGUINS.drop(columns=["species", "year"]), PENGUINS["species"]
FITTED = CART(n_leaves=4).fit(TABLE, SPECIES)


def started(model=FITTED) -> Session:
    return Session(model, name="penguins.csv", labels="species")


def ask(session: Session, asked: str, /, **more):
    """An answer that went through JSON, as pages get it."""
    question = json.loads(json.dumps({"ask": asked, **more}))
    return json.loads(json.dumps(session.answer(question), allow_nan=False))


def edit(session: Session, name: str, /, **arguments):
    return ask(session, "edit", version=session.version, name=name, arguments=arguments)


# --- The tree -------------------------------------------------------------------------------------


def test_state_says_what_the_library_says():
    session = started()
    state, model = ask(session, "state"), FITTED
    explanation = model.explanation_
    assert (state["version"], state["ready"], state["labels"]) == (1, True, "species")
    assert state["table"]["n_rows"] == len(TABLE)
    assert [each["name"] for each in state["table"]["columns"]] == list(TABLE)
    assert state["figures"]["rows_right"] == explanation.rows_right
    assert state["figures"]["fidelity"] == explanation.rows_right / len(TABLE)
    assert state["figures"]["balanced"] == explanation.balanced
    assert state["figures"]["agreement"] == pytest.approx(model.agreement_)
    assert [each["rule"] for each in state["segments"]] == model.segments()["rule"].tolist()
    assert [each["text"] for each in state["nodes"]] == [n["text"] for n in explanation.nodes()]
    for node in state["nodes"]:
        if node["leaf"] is None:
            children = [state["nodes"][node[side]] for side in ("yes", "no")]
            assert node["rows"] == sum(child["rows"] for child in children)
            assert all(child["parent"] == node["node"] for child in children)
    assert state["verdict"]["level"] in ("good", "usable", "weak", "none")
    assert len({each["color"] for each in state["segments"]}) == 3


def test_edits_undo_and_redo():
    session = started()
    before = ask(session, "state")
    after = edit(session, "with_test", node=0, column="flipper_length_mm", threshold=203.0)
    assert after["version"] == 2
    assert after["before"] == before["figures"]
    assert after["nodes"][0]["text"] == "flipper_length_mm ≤ 203 or missing"
    assert after["journal"] == [{"text": "node 0 asks flipper_length_mm ≤ 203 or missing"}]
    edit(session, "rename", cluster="Gentoo", name="large")
    edit(session, "lock", node=1)
    edit(session, "unlock", node=1)
    edit(session, "forbid", column="island")
    edit(session, "flip", node=1)
    last = edit(session, "prune", node=1)
    assert len(last["journal"]) == last["version"] - 1 == 7
    for _ in range(7):
        state = ask(session, "undo", version=session.version)
    for name in ("figures", "segments", "nodes", "verdict"):
        assert state[name] == before[name]
    assert state["future"] == 7
    for _ in range(7):
        state = ask(session, "redo", version=session.version)
    for name in ("figures", "segments", "nodes", "verdict", "journal"):
        assert state[name] == last[name]
    there = ask(session, "go", version=session.version, number=1)
    assert there["nodes"] == after["nodes"]
    assert there["future"] == 6
    assert ask(session, "edit", name="redo", version=session.version)["future"] == 5


def test_a_leaf_where_it_helps_most():
    session = started()
    before = ask(session, "state")["figures"]["rows_right"]
    explanation = session.explanation
    best = max(
        each.rows_right
        for node in explanation.tree.leaves
        for each in explanation.alternatives(int(node))
    )
    after = edit(session, "add_leaf")
    assert after["figures"]["rows_right"] == best > before
    assert after["figures"]["n_leaves"] == 5
    pure = Session(CART().fit([[1.0], [2.0]], ["a", "b"]))
    refused(lambda: edit(pure, "add_leaf"), words=["by hand"])


def test_colours_stay_with_their_clusters():
    session = started()
    first = {each["name"]: each["color"] for each in ask(session, "state")["segments"]}
    renamed = edit(session, "rename", cluster="Adelie", name="A")
    assert renamed["segments"][0]["color"] == first["Adelie"]
    merged = edit(session, "merge_clusters", one="A", other="Chinstrap", name="both")
    now = {each["name"]: each["color"] for each in merged["segments"]}
    assert now == {"both": first["Adelie"], "Gentoo": first["Gentoo"]}
    numbers = Session(CART().fit([[1.0], [2.0], [3.0]], [0, 1, 2]))
    before = [each["color"] for each in ask(numbers, "state")["segments"]]
    after = edit(numbers, "rename", cluster=1, name="one")
    assert [each["color"] for each in after["segments"]] == before
    assert [each["label"] for each in after["segments"]] == ["0", "one", "2"]


def test_two_tabs():
    session = started()
    edit(session, "prune", node=1)
    with pytest.raises(StaleError) as stale:
        session.answer({"ask": "edit", "version": 1, "name": "prune", "arguments": {"node": 0}})
    assert stale.value.state["version"] == 2
    with pytest.raises(StaleError):
        session.answer({"ask": "undo", "version": 1})
    assert session.version == 2


# --- What would be --------------------------------------------------------------------------------


@st.composite
def questions(draw: st.DrawFn, session: Session):
    explanation = session.explanation
    node = draw(st.integers(0, explanation.tree.n_nodes - 1))
    number = draw(st.integers(0, len(TABLE.columns) - 1))
    column = TABLE.columns[number]
    asked = {"column": column, "missing": draw(st.booleans())}
    if TABLE[column].dtype.kind == "f":
        known = sorted(TABLE[column].dropna().unique())
        asked["threshold"] = float(draw(st.sampled_from(known)))
    else:
        n_values = TABLE[column].nunique()
        asked["values"] = draw(
            st.lists(st.integers(0, n_values - 1), min_size=1, max_size=n_values - 1, unique=True)
        )
    return node, asked


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_previews_are_what_edits_do(data):
    session = started()
    for _ in range(data.draw(st.integers(1, 3))):
        node, asked = data.draw(questions(session))
        there = ask(session, "preview", node=node, **asked)
        leaf = session.explanation.leaf_ids.get(node)
        name, place = ("with_test", {"node": node}) if leaf is None else ("split", {"leaf": leaf})
        before = session.explanation
        if there["problem"] is not None:
            assert 0 in there["leaves"]
            with pytest.raises(ValueError, match="without rows"):
                edit(session, name, **place, **asked)
            continue
        state = edit(session, name, **place, **asked)
        figures = {**state["figures"], "bound": None}
        assert there["figures"] == figures
        for one, other in zip(there["segments"], state["segments"], strict=True):
            assert one == {key: other[key] for key in one}
        nodes = [each for each in state["nodes"] if each["leaf"] is not None]
        assert there["leaves"] == [each["rows"] for each in sorted(nodes, key=lambda n: n["leaf"])]
        assert state["journal"][-1]["text"].endswith(there["text"])
        if leaf is None:
            rows = before.rows_of(node)
            own = before.tree.test(node)
            matrix = before.training.table.training_rows()
            test = session.explanation.tree.test(node)
            changed = own.passes(matrix[rows, own.feature]) != test.passes(
                matrix[rows, test.feature]
            )
            n_changed = int(changed.sum())
            assert there["rows_changed"] == min(n_changed, len(rows) - n_changed)


def test_a_number_of_one_pixel_is_round():
    session = started()
    exact = ask(session, "preview", node=0, column="body_mass_g", threshold=4218.7)
    round_one = ask(session, "preview", node=0, column="body_mass_g", threshold=4218.7, snap=60)
    assert exact["test"]["threshold"] == 4218.7
    assert round_one["test"]["threshold"] == 4200.0
    dates = pd.DataFrame({"seen": pd.date_range("2024-01-03", periods=40, freq="9D")})
    model = CART().fit(dates, ["a"] * 20 + ["b"] * 20)
    at = float(pd.Timestamp("2024-03-02").value // 1000)
    found = ask(Session(model), "preview", node=0, column="seen", threshold=at, snap=5 * 86_400e6)
    assert found["text"] == "seen before 2024-03-01"


def test_columns_have_histograms_and_curves():
    session = started()
    for name in TABLE:
        found = ask(session, "column", node=0, column=name)
        explanation = session.explanation
        counts = explanation.node_counts[0]
        if found["kind"] == "category":
            total = np.sum([each["counts"] for each in found["categories"]], axis=0)
            assert "sweep" not in found
        else:
            total = np.sum(found["counts"], axis=1)
            assert len(found["edges"]) == len(found["counts"][0]) + 1 <= 61
            swept = explanation.sweep(0, name)
            curve = found["sweep"]
            assert curve["thresholds"] == swept.thresholds.tolist()
            assert curve["rows_right"] == swept.rows_right.tolist()
            assert curve["best"]["rows_right"] == swept.rows_right.max()
        assert (total + found["missing"]).tolist() == [*counts.tolist(), 0]
    assert ask(session, "column", node=0, column="flipper_length_mm")["test"]["threshold"] == 206
    skewed = pd.DataFrame({"pay": np.exp(np.linspace(0, 12, 300))})
    drawn = ask(Session(CART().fit(skewed, [0] * 150 + [1] * 150)), "column", node=0, column="pay")
    assert drawn["log"]
    assert max(map(max, drawn["counts"])) <= 6  # even by logarithms


@given(
    st.lists(st.floats(-100, 100), min_size=1, max_size=60, unique=True),
    st.integers(2, 20),
    st.booleans(),
    st.data(),
)
def test_thinned_curves_keep_the_best(values, n_most, is_log, data):
    x = np.sort(np.abs(values) + 1e-3 if is_log else np.array(values))
    x = np.unique(x)
    right = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(x), max_size=len(x))))
    kept = thinned(x, right.astype(float), is_log, n_most)
    assert len(kept) <= n_most
    assert np.all(np.diff(kept) > 0)
    assert right[kept].max() == right.max()


def test_nodes_name_alternatives():
    session = started()
    found = ask(session, "node", node=0)
    wanted = session.explanation.alternatives(0, n=20)
    assert [each["text"] for each in found["alternatives"]] == [each.text for each in wanted]
    assert found["path"] == "all rows"
    below = ask(session, "node", node=1)
    assert below["path"] == found["record"]["text"]


# --- Versions and rows ----------------------------------------------------------------------------


def test_versions_side_by_side():
    session = started()
    edit(session, "prune", node=1)
    edit(session, "rename", cluster="Gentoo", name="large")
    ask(session, "undo", version=session.version)
    found = ask(session, "versions")
    assert [each["text"] for each in found["versions"]] == [
        "as it was fitted",
        "node 1 pruned",
        "Gentoo renamed to large",
    ]
    assert found["now"] == 1
    both = ask(session, "compare", one=0, other=1)
    first, second = FITTED.explanation_, session.explanation
    one, other = (np.asarray(each.leaf_reference)[each.labels] for each in (first, second))
    assert both["rows_changed"] == int((one != other).sum())
    assert sum(each["rows"] for each in both["flows"]) == both["rows_changed"]
    for flow in both["flows"]:
        assert flow["rows"] == int(((one == flow["from"]) & (other == flow["to"])).sum())
    assert len(both["one"]["nodes"]) == first.tree.n_nodes
    assert both["other"]["figures"]["rows_right"] == second.rows_right
    refused(lambda: ask(session, "compare", one=0, other=9), words=["other=9"])


def test_rows_that_are_wrong():
    session = started()
    predicted = FITTED.predict_reference(TABLE)
    wrong = np.flatnonzero(predicted != SPECIES)
    found = ask(session, "rows", wrong=True)
    assert found["total"] == len(wrong)
    assert [each["row"] for each in found["rows"]] == wrong[:50].tolist()
    used = [TABLE.columns[each] for each in FITTED.explanation_.used]
    assert found["columns"][: len(used)] == used
    assert all(each["cluster"] != each["segment"] for each in found["rows"])
    page = ask(session, "rows", page=3)
    assert page["total"] == len(TABLE)
    assert [each["row"] for each in page["rows"]] == list(range(150, 200))
    leaf = ask(session, "rows", leaf=0, cluster="Chinstrap")
    assert leaf["total"] == int(((FITTED.labels_ == 0) & (SPECIES == "Chinstrap")).sum())
    assert ask(session, "rows", segment="Gentoo")["total"] == int((predicted == "Gentoo").sum())
    assert ask(session, "rows", text="torger")["total"] == int((TABLE.island == "Torgersen").sum())
    assert ask(session, "rows", text="41.1")["total"] == int((TABLE.bill_length_mm == 41.1).sum())


def test_the_way_of_a_row():
    session = started()
    explanation = FITTED.explanation_
    visited = FITTED.decision_path(TABLE)
    for row in (0, 3, 200):
        found = ask(session, "row", id=str(row))
        assert sorted(found["nodes"]) == np.flatnonzero(visited[[row]].toarray()[0]).tolist()
        assert found["leaf"] == int(FITTED.labels_[row])
        assert found["right"] == bool(FITTED.predict_reference(TABLE)[row] == SPECIES[row])
        assert [each["column"] for each in found["values"]] == list(TABLE)
    refused(lambda: ask(session, "row", id="344"), words=["344"])
    names = np.array([f"p{n}" for n in range(len(TABLE))])
    named = Session(FITTED.edited(explanation.with_row_ids(names)))
    assert ask(named, "row", id="p3")["row"] == 3
    assert ask(named, "rows", text="p34")["total"] == 5
    refused(lambda: ask(named, "row", id="3"), words=["'3'"])


# --- Exports --------------------------------------------------------------------------------------


def test_exports_are_those_of_the_library():
    session = started()
    edit(session, "prune", node=1)
    model = session.model
    listed = {each["format"]: each for each in ask(session, "formats")["formats"]}
    assert all(each["available"] for each in listed.values())

    def text(name: str) -> str:
        return ask(session, "export", format=name)["text"]

    assert text("text") == model.to_text() + "\n"
    wanted = model.to_sql(dialect="sqlite", table="penguins", label="reference")
    assert text("sql-sqlite").strip() == wanted.strip()
    assert text("python") == model.to_python(label="reference")
    again = from_json(text("json"))
    assert again.tree_ == model.tree_
    assert [each.name for each in again.explanation_.edits] == ["prune"]
    assert (
        pd.read_csv(io.StringIO(text("rules")))["rule"].tolist() == model.rules()["rule"].tolist()
    )
    rows = pd.read_csv(io.StringIO(text("rows")))
    assert rows["segment"].tolist() == model.predict_reference(TABLE).tolist()
    assert "<html" in text("report")
    heads = {"onnx": b"\x08", "xlsx": b"PK", "png": b"\x89PNG", "pdf": b"%PDF", "pptx": b"PK"}
    for name, head in heads.items():
        found = ask(session, "export", format=name)
        assert found["name"].endswith(name)
        assert base64.b64decode(found["base64"]).startswith(head)
    dbt = zipfile.ZipFile(
        io.BytesIO(base64.b64decode(ask(session, "export", format="dbt")["base64"]))
    )
    assert any(name.endswith("penguins_clusters.sql") for name in dbt.namelist())
    refused(lambda: ask(session, "export", format="exe"), words=["format='exe'", "text"])


def test_hostile_names_cannot_run_in_spreadsheets():
    frame = pd.DataFrame({"=cmd|' /C calc'!A0": [1.0, 2.0, 8.0, 9.0]})
    session = Session(CART().fit(frame, ["=1+1", "=1+1", "b\x07", "b\x07"]), name='../../x";.csv')
    found = ask(session, "export", format="segments")
    assert found["name"] == "table.segments.csv"
    cells = pd.read_csv(io.StringIO(found["text"]), dtype=str)
    assert not any(str(each).startswith("=") for each in cells.to_numpy().ravel())
    ask(session, "export", format="xlsx")


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ([], ["JSON object"]),
        ({}, ["ask=", "question"]),
        ({"ask": "__init__"}, ["ask="]),
        ({"ask": "node"}, ["node="]),
        ({"ask": "node", "node": 99}, ["node=99"]),
        ({"ask": "node", "node": "0"}, ["node="]),
        ({"ask": "column", "node": 0, "column": ["x"]}, ["column="]),
        ({"ask": "preview", "node": 0}, ["column="]),
        ({"ask": "preview", "node": 0, "test": 3}, ["test"]),
        ({"ask": "preview", "node": 0, "test": "height > 3"}, ["no column"]),
        ({"ask": "preview", "node": 0, "column": "island", "values": [9]}, ["values"]),
        ({"ask": "preview", "node": 0, "column": "sex", "values": 0}, ["values"]),
        ({"ask": "preview", "node": 0, "column": "body_mass_g"}, ["threshold"]),
        (
            {"ask": "preview", "node": 0, "column": "body_mass_g", "threshold": "a"},
            ["threshold", "finite"],
        ),
        (
            {"ask": "preview", "node": 0, "column": "body_mass_g", "threshold": 1, "lower": 2},
            ["lower"],
        ),
        ({"ask": "edit", "version": 1, "name": "__class__"}, ["name="]),
        ({"ask": "edit", "version": 1, "name": "counted"}, ["name="]),
        ({"ask": "edit", "version": 1, "name": "prune", "arguments": [1]}, ["arguments"]),
        (
            {"ask": "edit", "version": 1, "name": "prune", "arguments": {"node": 0, "x": 1}},
            ["'x'"],
        ),
        ({"ask": "edit", "version": 1, "name": "prune"}, ["cannot be answered"]),
        ({"ask": "edit", "version": "1", "name": "prune", "arguments": {"node": 0}}, ["version"]),
        (
            {
                "ask": "edit",
                "version": 1,
                "name": "rename",
                "arguments": {"cluster": "Adelie", "name": " "},
            },
            ["name", "empty"],
        ),
        (
            {
                "ask": "edit",
                "version": 1,
                "name": "rename",
                "arguments": {"cluster": "A", "name": "x"},
            },
            ["cluster='A'"],
        ),
        (
            {
                "ask": "edit",
                "version": 1,
                "name": "split",
                "arguments": {"leaf": 77, "test": "sex = male"},
            },
            ["leaf=77"],
        ),
        ({"ask": "rows", "page": -1}, ["page"]),
        ({"ask": "rows", "cluster": "Emperor"}, ["Emperor"]),
        ({"ask": "row", "id": {}}, ["no row"]),
        ({"ask": "open", "labels": "species"}, ["drop a file"]),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(question, words):
    session = started()
    refused(lambda: session.answer(question), words=words)
    assert session.version == 1


def test_without_a_tree_there_is_an_offer():
    session = Session()
    state = ask(session, "state")
    assert (state["ready"], state["table"], state["nodes"]) == (False, None, [])
    refused(lambda: ask(session, "node", node=0), words=["open a table"])


def test_rows_of_no_cluster_are_neither_right_nor_wrong():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).round(1)
    labels = (X[:, 0] > 0).astype(int)
    labels[:7] = -1
    session = Session(BestTree().fit(X, labels))
    state = ask(session, "state")
    assert state["figures"]["clustered"] == 53
    assert state["figures"]["n_rows"] == 60
    found = ask(session, "column", node=0, column="x0")
    assert sum(found["counts"][-1]) == 7
    assert ask(session, "rows", wrong=True)["total"] == 53 - state["figures"]["rows_right"]


def test_weights_count():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 2)).round(1)
    labels, weights = (X[:, 0] > 0).astype(int), rng.integers(1, 5, 50).astype(float)
    session = Session(CART(n_leaves=3).fit(X, labels, sample_weight=weights))
    assert ask(session, "state")["figures"]["clustered"] == weights.sum()
    there = ask(session, "preview", node=0, column="x1", threshold=0.2)
    after = edit(session, "with_test", node=0, column="x1", threshold=0.2)
    assert there["figures"]["rows_right"] == after["figures"]["rows_right"]
