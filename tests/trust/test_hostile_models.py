"""`from_json` takes nothing but a model: everything else is refused in one sentence, soon, in little memory."""

import ast
import json
import os
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import spexplain
from spexplain import from_json
from spexplain.explanation import Explanation
from spexplain.export import serialize, to_json
from spexplain.export.serialize import MAX_DEPTH
from spexplain.facts import path, summarize
from spexplain.facts.path import path_of
from spexplain.tree import Tree
from trust.programs import run, succeed

SOURCES = sorted(Path(spexplain.__file__).parent.rglob("*.py"))


@pytest.fixture
def good() -> dict:
    tree = Tree.root(n_features=2, size=10).split(0, feature=1, threshold=0.5, sizes=(4, 6))
    labels = np.array(["low", "high"])
    model = Explanation(tree, ("width", "height"), leaf_reference=labels, leaf_purity=np.ones(2))
    return json.loads(to_json(model))


def refusal(document: object) -> str:
    """Return the one sentence with which a document is refused."""
    text = document if isinstance(document, str | bytes) else json.dumps(document)
    with pytest.raises(ValueError, match=r"^text is not a spexplain model: ") as caught:
        from_json(text)
    said = str(caught.value)
    assert len(said) < 400
    assert "\n" not in said
    assert said.endswith(".")
    return said


TREES = {
    "a child that is its own parent": {"left": [0, -1, -1]},
    "both children the same": {"right": [1, -1, -1]},
    "a child that is older": {"left": [2, -1, -1], "right": [1, -1, -1]},
    "a child beyond the end": {"right": [2_000_000_000, -1, -1]},
    "a column that is not there": {"feature": [2, -1, -1]},
    "a negative column": {"feature": [-7, -1, -1]},
    "no columns": {"n_features": 0},
    "columns as a float": {"n_features": 2.0},
    "columns as a truth value": {"n_features": True},
    "a billion columns": {"n_features": 1_000_000_000},
    "more columns than any integer": {"n_features": 10**19},
    "a threshold that is text": {"threshold": ["0.5", None, None]},
    "missing values as numbers": {"missing": [0, 0, 0]},
    "codes of a leaf": {"values": {"1": [0]}},
    "codes of no node": {"values": {"-1": [0], "9": [0], "x": [0]}},
    "codes that no column has": {"values": {"0": [0]}},
    "negative codes": {"values": {"0": [-1]}},
    "codes that are no list": {"values": {"0": 0}},
    "negative sizes": {"size": [10, -4, 14]},
    "huge sizes": {"size": [2**63, 4, 6]},
    "lists in lists": {"size": [[10], [4], [6]]},
    "too few": {"size": [10, 4]},
    "an even number of nodes": {"size": [10, 4, 6, 1]},
    "an unknown version": {"version": 99},
    "an unknown entry": {"payload": "x"},
    "another format": {"format": "pickle"},
}


@pytest.mark.parametrize("name", TREES)
def test_trees(good, name):
    good["tree"] |= TREES[name]
    refusal(good)


ENTRIES = {
    "an unknown version": {"version": 4},
    "a version that is a float": {"version": 1.5},
    "a version that is a list": {"version": [1]},
    "an entry too many": {"__class__": "os.system"},
    "names that are numbers": {"feature_names": [1, 2]},
    "too few names": {"feature_names": ["width"]},
    "names as one text": {"feature_names": "ab"},
    "a reference of another kind": {"reference": [1, 2]},
    "labels of another type": {"reference": {"type": "int", "labels": ["a", "b"], "purity": None}},
    "a type that is none": {"reference": {"type": "object", "labels": [1, 2], "purity": None}},
    "too many labels": {"reference": {"type": "str", "labels": ["a"] * 3, "purity": None}},
    "purities beyond 1": {"reference": {"type": "str", "labels": ["a", "b"], "purity": [2, 0]}},
    "too few purities": {"reference": {"type": "str", "labels": ["a", "b"], "purity": [1]}},
    "an estimator with code": {"estimator": '"""\nimport os\n"""'},
    "a version with code": {"written_by": "1.0\nimport os"},
    "a tree that is a list": {"tree": []},
    "columns that are no list": {"columns": {}},
    "too few columns": {"columns": [{}]},
    "columns that are texts": {"columns": ["number", "number"]},
    "a column of an unknown kind": {"columns": [{"kind": "code"}, {}]},
    "a column of a kind that is a list": {"columns": [{"kind": []}, {}]},
    "a column with an unknown entry": {"columns": [{"name": "x"}, {}]},
    "categories of a number": {"columns": [{"categories": ["a"]}, {}]},
    "categories that are a text": {"columns": [{"kind": "category", "categories": "ab"}, {}]},
    "categories that are null": {"columns": [{"kind": "category", "categories": [None]}, {}]},
    "categories that are lists": {"columns": [{"kind": "category", "categories": [[]]}, {}]},
    "a category twice": {"columns": [{"kind": "category", "categories": [1, 1.0]}, {}]},
    "missing values as a number": {"columns": [{"has_missing": 1}, {}]},
    "a zone of numbers": {"columns": [{"zone": "UTC"}, {}]},
    "a zone that is none": {"columns": [{"kind": "date", "zone": "Middle/Earth"}, {}]},
    "a zone outside of the folder": {"columns": [{"kind": "date", "zone": "../../etc/passwd"}, {}]},
    "a zone that is a number": {"columns": [{"kind": "date", "zone": 1}, {}]},
    "a zone that is a path": {"columns": [{"kind": "date", "zone": "/etc/passwd"}, {}]},
    "a zone with NUL": {"columns": [{"kind": "date", "zone": "a\0b"}, {}]},
    "an offset of letters": {"columns": [{"kind": "date", "zone": "+ab:cd"}, {}]},
    "an empty zone": {"columns": [{"kind": "date", "zone": ""}, {}]},
}


@pytest.mark.parametrize("name", ENTRIES)
def test_entries(good, name):
    refusal(good | ENTRIES[name])


COLUMN = {"rows": 10, "missing": 1, "counts": [4, 5], "numbers_rows": False,
          "quantiles": [0.0] * 12 + [1.0] * 9}  # fmt: skip
SEEN = {
    "no rows": {"rows": None, "columns": {}},
    "fewer rows than none": {"rows": -1, "columns": {}},
    "columns in a list": {"rows": 10, "columns": [COLUMN]},
    "a column that is not there": {"rows": 10, "columns": {"2": COLUMN}},
    "a column with another name": {"rows": 10, "columns": {"width": COLUMN}},
    "an unknown entry": {"rows": 10, "columns": {}, "sample": [[1.0, 2.0]]},
    "rows of a column": {"rows": 10, "columns": {"0": COLUMN | {"sample": [1.0]}}},
    "too few entries": {"rows": 10, "columns": {"0": {"rows": 10}}},
    "more missing than rows": {"rows": 10, "columns": {"0": COLUMN | {"missing": 11}}},
    "more counted than rows": {"rows": 10, "columns": {"0": COLUMN | {"counts": [9, 9]}}},
    "negative counts": {"rows": 10, "columns": {"0": COLUMN | {"counts": [-1, 5]}}},
    "counts as floats": {"rows": 10, "columns": {"0": COLUMN | {"counts": [4.0, 5.0]}}},
    "too many counts": {"rows": 10, "columns": {"0": COLUMN | {"counts": [4, 2, 3]}}},
    "too few quantiles": {"rows": 10, "columns": {"0": COLUMN | {"quantiles": [0.0, 1.0]}}},
    "falling quantiles": {"rows": 10, "columns": {"0": COLUMN | {"quantiles": [1.0] * 20 + [0.0]}}},
    "quantiles that are texts": {"rows": 10, "columns": {"0": COLUMN | {"quantiles": ["0"] * 21}}},
    "a truth that is a number": {"rows": 10, "columns": {"0": COLUMN | {"numbers_rows": 0}}},
    "huge counts": {"rows": 2**63, "columns": {"0": COLUMN | {"rows": 2**63}}},
}


@pytest.mark.parametrize("name", SEEN)
def test_what_was_seen(good, name):
    assert from_json(json.dumps(good | {"seen": {"rows": 10, "columns": {"0": COLUMN}}}))
    refusal(good | {"seen": SEEN[name]})


ROWS = {"values": [[None] * 10, [0.0] * 4 + [1.0] * 6], "clusters": {"type": "str", "labels": ["a", "b"]},
        "codes": [0] * 4 + [1] * 5 + [-1], "weights": [1.0] * 10, "ids": None}  # fmt: skip
BAD_ROWS = {
    "too few columns": {"values": [[0.0] * 10]},
    "too few rows": {"values": [[0.0] * 9, [0.0] * 9]},
    "columns of other lengths": {"values": [[0.0] * 10, [0.0] * 9]},
    "texts": {"values": [["0"] * 10, [0.0] * 10]},
    "truths": {"values": [[True] * 10, [0.0] * 10]},
    "rows in other leaves": {"values": [[0.0] * 10, [0.0] * 10]},
    "codes without clusters": {"clusters": None},
    "clusters without codes": {"codes": None},
    "too few codes": {"codes": [0] * 9},
    "codes of no cluster": {"codes": [2] * 10},
    "codes below noise": {"codes": [-2] * 10},
    "codes that are floats": {"codes": [0.0] * 10},
    "negative weights": {"weights": [-1.0] * 10},
    "weights that are texts": {"weights": ["1"] * 10},
    "too few weights": {"weights": [1.0]},
    "too few ids": {"ids": {"type": "str", "labels": ["x"]}},
    "ids of two types": {"ids": {"type": "str", "labels": ["x"] * 9 + [1]}},
    "an unknown entry": {"code": "import os"},
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_stored_rows(good, name):
    assert from_json(json.dumps(good | {"rows": ROWS})).explanation_.training.table is not None
    refusal(good | {"rows": ROWS | BAD_ROWS[name]})


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e400", "9" * 4999])
def test_numbers(good, number):
    refusal(json.dumps(good).replace("0.5", number))


def test_keys_that_occur_twice(good):
    text = json.dumps(good)
    refusal(text.replace('"version": 3', '"version": 3, "version": 3', 1))
    refusal(text.replace('"left":', '"left": [1, -1, -1], "left":', 1))


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"tree":'])
def test_deep_nesting(opening):
    refusal(opening * 90_000)
    refusal('{"format": "spexplain.model", "tree": ' + opening * 90_000)


# Under a limit of memory that the parsed values would burst. What is measured is the refusal.
FLOOD = """
import resource, sys, time
from spexplain import from_json
from spexplain.export import serialize

head = '{"format": "spexplain.model", "version": 3, "feature_names": ['
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
for filling in sys.argv[1:]:
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    text = head + filling * ((serialize.MAX_CHARACTERS - 1000) // len(filling)) + "0]}"
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 200_000_000, hard))
    start = time.process_time()
    try:
        from_json(text)
    except ValueError as error:
        print(error, round(time.process_time() - start, 2), sep="|")
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="limits memory as Linux does")
@pytest.mark.slow
def test_floods_of_values():
    fillings = ["0.1,", "[],", "{},", '"ab",', '"\\\\\\"",']
    answers = succeed(FLOOD, *fillings).splitlines()
    assert len(answers) == len(fillings)
    for answer in answers:
        said, seconds = answer.split("|")
        assert said.startswith("text is not a spexplain model: it holds more than")
        assert float(seconds) < 20


def test_texts_that_are_too_long(monkeypatch, good):
    monkeypatch.setattr(serialize, "MAX_CHARACTERS", 100)
    assert "longer than 100 characters" in refusal(good)


def test_separators_in_names_are_no_values(good):
    """Long names with all that is counted elsewhere: quotes, escapes, commas and brackets."""
    name = '",[{\\' * 100_000
    good["feature_names"] = ["width", name]
    text = json.dumps(good)
    assert serialize._n_values(text) == json.dumps(good | {"feature_names": ["a", "b"]}).translate(
        str.maketrans("", "", '"')
    ).count(",") + sum(
        json.dumps(good | {"feature_names": ["a", "b"]}).count(each) for each in "[{"
    )
    assert from_json(text).feature_names_in_[1] == name


def test_the_largest_models_pass():
    """A chain of many leaves and long numbers is a model like any other, and quick to read."""
    n_leaves = 20_000
    n_nodes = 2 * n_leaves - 1
    inner = np.full(n_nodes, -1)
    inner[0], inner[2:-1:2] = 1, np.arange(3, n_nodes, 2)
    feature = np.where(inner > 0, 0, -1)
    threshold = np.where(inner > 0, np.arange(n_nodes) / 3, np.nan)
    lower = np.where(inner > 0, -np.inf, np.nan)
    right = np.where(inner > 0, inner + 1, -1)
    sizes, nothing = np.ones(n_nodes, dtype=np.int64), np.full(n_nodes, np.nan)
    tree = Tree(1, feature, threshold, lower, inner, right, sizes, nothing, nothing)
    loaded = from_json(to_json(Explanation(tree)))
    assert loaded.n_leaves_ == n_leaves
    assert loaded.predict([[-1.0], [1e9]]).tolist() == [0, n_leaves - 1]


def test_model_files_are_not_read_beyond_the_limit(tmp_path):
    """The file is a hole of a terabyte."""
    model, data = tmp_path / "model.json", tmp_path / "t.csv"
    model.write_text("{")
    os.truncate(model, 1 << 40)
    data.write_text("a\n1\n")
    main = "import sys; from spexplain.cli import main; sys.exit(main())"
    done = run(main, "predict", model, data)
    assert done.returncode == 1
    assert "is longer than" in done.stderr
    assert "Traceback" not in done.stderr


FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_MODULES = {
    "pickle",
    "cPickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "yaml",
    "joblib.load",
}


def offences(tree: ast.AST) -> list[str]:
    """Return what a module does that could run somebody else's code."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names if each.name in FORBIDDEN_MODULES]
        elif isinstance(node, ast.ImportFrom) and node.module in FORBIDDEN_MODULES:
            found.append(str(node.module))
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in FORBIDDEN_CALLS or name in ("os.system", "os.popen", "joblib.load"):
                found.append(name)
            given = {each.arg: ast.unparse(each.value) for each in node.keywords}
            if given.get("shell") == "True" or given.get("allow_pickle", "False") != "False":
                found.append(f"{name} with shell or allow_pickle")
            if name in ("np.load", "numpy.load") and given.get("allow_pickle") != "False":
                found.append(f"{name} without allow_pickle=False")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_module_runs_what_it_reads(path):
    found = offences(ast.parse(path.read_text("utf-8")))
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "from marshal import loads", "eval('1')", "exec('1')", "import yaml",
        "np.load(f)", "np.load(f, allow_pickle=True)", "subprocess.run(x, shell=True)", "os.system('x')",
    ],
)  # fmt: skip
def test_offences_are_seen(source):
    assert offences(ast.parse(source))


@pytest.mark.parametrize(
    ("entry", "name"), [("estimator", "method"), ("written_by", "version"), ("version", "version")]
)
def test_refusals_quote_little(good, entry, name):
    assert f"{name}='x x" in refusal(good | {entry: 5000 * "x "}).replace(" 'x", "='x", 1)


def chain(n_leaves: int, *, n_features: int = 1, sets: bool = False) -> Tree:
    """A tree as deep as it has leaves; every test is of numbers, or of categories."""
    n_nodes = 2 * n_leaves - 1
    left = np.full(n_nodes, -1)
    left[0], left[2:-1:2] = 1, np.arange(3, n_nodes, 2)
    is_inner = left > 0
    feature = np.where(is_inner, (np.cumsum(is_inner) - 1) % n_features, -1)
    is_number = is_inner & (not sets)
    threshold = np.where(is_number, np.arange(n_nodes) / 3, np.nan)
    lower = np.where(is_number, -np.inf, np.nan)
    right = np.where(is_inner, left + 1, -1)
    size, nothing = np.ones(n_nodes, dtype=np.int64), np.full(n_nodes, np.nan)
    values = {int(node): (1,) for node in np.flatnonzero(is_inner)} if sets else {}
    return Tree(
        n_features, feature, threshold, lower, left, right, size, nothing, nothing, values=values
    )


@pytest.mark.parametrize("n_features", [1, 20])
def test_what_is_said_of_a_deep_tree_grows_with_its_nodes(n_features):
    """Not with their depths, too: 20,000 levels would be 600 million characters of indentation."""
    loaded = from_json(to_json(Explanation(chain(2000, n_features=n_features))))
    for text in (loaded.to_text(), loaded.to_sql(), loaded.to_python(), loaded.to_json()):
        assert len(text) < 4000 * (200 + 60 * n_features)
    assert "[1999] " in loaded.to_text()
    assert "[40] " not in loaded.to_text()
    assert len(loaded.rules(output="records")) == 2000


def test_the_deepest_tree_that_is_read():
    deepest = chain(MAX_DEPTH + 1)
    loaded = from_json(to_json(Explanation(deepest)))
    assert loaded.tree_.depth == MAX_DEPTH == 20_000
    assert loaded.predict([[-1.0], [np.nan]]).tolist() == [0, MAX_DEPTH]
    sentence = (
        r"A tree of 20,001 levels is too deep for JSON \(at most 20,000\); grow it with max_depth"
    )
    with pytest.raises(ValueError, match=sentence):
        to_json(Explanation(chain(MAX_DEPTH + 2)))
    document = json.loads(loaded.to_json()) | {"tree": chain(MAX_DEPTH + 2).to_dict()}
    with pytest.raises(ValueError, match=f"^text is not a spexplain model: {sentence}"):
        from_json(json.dumps(document))


def test_the_path_of_many_leaves_is_summed_up(monkeypatch):
    tree = replace(chain(60), value=np.arange(119.0) % 7, size=np.arange(119, 0, -1))
    steps = path_of(Explanation(tree))
    monkeypatch.setattr(path, "_MANY_LEAVES", 10)
    np.testing.assert_allclose(path_of(Explanation(tree)), steps)
    tracemalloc.start()
    facts = summarize(Explanation(chain(3000)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(facts["leaves"]) == 3000
    assert peak < 60e6  # a number for every pair of leaf and node would be 144 MB


def test_rows_of_a_deep_tree_cost_their_own_ways_only():
    tree = chain(20_000)
    rows = np.array([[-1.0], [2.0], [-1.0], [np.nan]])
    ends = tree.leaves[tree.apply(rows)]
    tracemalloc.start()
    visited = tree.decision_path(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert visited.nnz == (tree.node_depths[ends] + 1).sum()
    assert visited.sum(axis=1).tolist()[0] == 2
    assert peak < 10e6  # the ways of all leaves would be 1.6 GB


def test_sets_of_categories_are_looked_up_where_rows_are(monkeypatch):
    looked = []
    original = np.isin
    monkeypatch.setattr(np, "isin", lambda *given: looked.append(1) or original(*given))
    tree = chain(5000, sets=True)
    assert tree.apply([[1.0], [np.nan]]).tolist() == [0, 4999]
    assert len(looked) < 5001


def test_importances_of_many_leaves_need_no_square():
    tracemalloc.start()
    shares = from_json(to_json(Explanation(chain(20_000)))).feature_importances_
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert shares == pytest.approx([1.0])
    assert peak < 200e6  # the counts of all leaves in all nodes would be 6 GB


def test_a_long_label_of_many_leaves():
    """Once in the file, once in memory: 20,000 leaves of a label of 20,000 characters would be 1.6 GB."""
    labels = np.array(["x" * 20_000, "y"], dtype=object)[np.arange(2000) % 2]
    text = to_json(Explanation(chain(2000), leaf_reference=labels))
    tracemalloc.start()
    loaded = from_json(text)
    found = loaded.predict_reference([[-1.0], [1.0]])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.tolist() == [labels[0], labels[loaded.predict([[1.0]])[0]]]
    assert peak < 6 * len(text)
