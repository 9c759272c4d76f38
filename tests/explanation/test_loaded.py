"""An estimator and the model read from its JSON say the same."""

import json
from pathlib import Path

import numpy as np
import pytest

import spexplain
from spexplain import CART, EMN, BestTree, ExKMC, SpexClique, SpexKNN, datasets
from spexplain.estimators import __all__ as names
from spexplain.explanation import LoadedModel
from spexplain.facts import PathStep

IRIS = datasets.load("iris")
SPECIES = IRIS.target_names[IRIS.target]
COLUMNS = list(IRIS.feature_names)


def fits():
    yield from ((name, {"random_state": 0}, SPECIES) for name in names)
    yield "SpexKNN", {}, None
    yield "SpexClique", {"n_leaves": "auto"}, SPECIES
    yield "CART", {"refine": "agreement", "n_leaves": 5}, SPECIES
    yield "ExKMC", {"n_leaves": 6}, np.where(IRIS.data[:, 0] > 7, -1, IRIS.target)


@pytest.fixture(scope="module", params=fits(), ids=lambda fit: f"{fit[0]}-{'-'.join(fit[1])}")
def pair(request):
    name, options, labels = request.param
    fitted = getattr(spexplain, name)(3, **options).fit(IRIS.data, labels)
    return fitted, spexplain.from_json(fitted.to_json())


def test_words(pair) -> None:
    fitted, loaded = pair
    assert loaded.rules(output="records") == fitted.rules(output="records")
    assert loaded.rules(COLUMNS, output="records") == fitted.rules(COLUMNS, output="records")
    assert loaded.to_text() == fitted.to_text()
    assert loaded.to_text(COLUMNS) == fitted.to_text(COLUMNS)


def test_facts(pair) -> None:
    fitted, loaded = pair
    known, expected = loaded.outline(), fitted.outline()
    for only_time in ("engine", "n_jobs", "verbose"):  # the same model is the same file
        expected["settings"]["parameters"].pop(only_time)
    assert json.dumps(known) == json.dumps(expected)
    assert loaded.explain(IRIS.data[7]) == fitted.explain(IRIS.data[7])
    assert same_steps(loaded.path_, fitted.path_)
    assert loaded.feature_importances_.tolist() == fitted.feature_importances_.tolist()
    assert getattr(loaded, "agreement_", None) == getattr(fitted, "agreement_", None)
    assert loaded.objective_ == fitted.objective_


def same_steps(found: list[PathStep], expected: list[PathStep]) -> bool:
    return np.array_equal(np.array(found), np.array(expected), equal_nan=True)


def test_exports(pair) -> None:
    fitted, loaded = pair
    assert loaded.to_json() == fitted.to_json()
    label = "reference" if hasattr(fitted, "leaf_reference_") else "leaf"
    for dialect in ("duckdb", "sqlite"):
        options = {"dialect": dialect, "table": "t", "label": label}
        assert loaded.to_sql(**options) == fitted.to_sql(**options)
    assert loaded.to_python(label=label) == fitted.to_python(label=label)
    ours, theirs = (each.to_sklearn(label=label) for each in (fitted, loaded))
    assert ours.tree_.value.tolist() == theirs.tree_.value.tolist()
    assert ours.predict(IRIS.data).tolist() == theirs.predict(IRIS.data).tolist()
    assert loaded.to_onnx() == fitted.to_onnx()


def test_predictions(pair) -> None:
    fitted, loaded = pair
    assert loaded.predict(IRIS.data).tolist() == fitted.labels_.tolist()
    if hasattr(fitted, "leaf_reference_"):
        expected = fitted.predict_reference(IRIS.data)
        assert loaded.predict_reference(IRIS.data).tolist() == expected.tolist()


def test_smaller_trees(pair) -> None:
    fitted, loaded = pair
    for n_leaves in range(1, len(fitted.path_) + 1):
        ours, theirs = fitted.truncated(n_leaves), loaded.truncated(n_leaves)
        assert theirs.tree_ == ours.tree_
        assert theirs.to_text() == ours.to_text()
        assert isinstance(theirs, LoadedModel)


def test_pictures_and_reports(pair, tmp_path: Path) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    fitted, loaded = pair
    assert loaded._repr_html_() == fitted._html_repr()
    for method in ("plot", "plot_path"):
        ours, theirs = (getattr(each, method)() for each in pair)
        texts = [[text.get_text() for text in axes.texts] for axes in (ours, theirs)]
        assert texts[0] == texts[1]
    for axes in (loaded.plot_cuts(IRIS.data), loaded.plot_profiles(IRIS.data)):
        axes.figure.canvas.draw()
    plt.close("all")
    written = loaded.report(tmp_path / "loaded.html").read_text(encoding="utf-8")
    assert type(fitted).__name__ in written
    with_rows = loaded.summary(IRIS.data)
    assert with_rows["has_rows"]
    assert with_rows["leaves"][0]["profile"] == fitted.summary()["leaves"][0]["profile"]


@pytest.mark.parametrize("goal", ["fidelity", "balanced", "agreement", "cost", "conductance"])
def test_results_of_a_search(goal: str) -> None:
    fitted = BestTree(goal=goal, n_leaves=4).fit(IRIS.data, SPECIES)
    loaded = spexplain.from_json(fitted.to_json())
    assert loaded.goal == goal
    for name in ("value_", "bound_", "optimal_"):
        assert getattr(loaded, name) == getattr(fitted, name)
    smaller = spexplain.from_json(loaded.truncated(2).to_json())
    assert smaller.goal == goal
    assert not hasattr(smaller, "bound_")
    assert getattr(smaller, "value_", None) == getattr(fitted.truncated(2), "value_", None)


def test_other_methods_have_no_goal() -> None:
    loaded = spexplain.from_json(CART().fit(IRIS.data, SPECIES).to_json())
    for name in ("goal", "value_"):
        with pytest.raises(AttributeError, match=f"{name} is a result of BestTree"):
            getattr(loaded, name)


@pytest.mark.parametrize("method", ["summary", "plot_cuts", "plot_profiles", "certificate"])
def test_what_needs_rows_asks_for_them(method: str) -> None:
    loaded = spexplain.from_json(CART().fit(IRIS.data, SPECIES).to_json())
    with pytest.raises(ValueError, match=r"^This model does not remember its training rows; pass"):
        getattr(loaded, method)()


def test_what_a_model_cannot_know() -> None:
    loaded = spexplain.from_json(CART().fit(IRIS.data, SPECIES).to_json())
    with pytest.raises(ValueError, match=r"^A certificate is about the graph"):
        loaded.certificate(IRIS.data)
    with pytest.raises(ValueError, match=r"^X must hold the training rows"):
        loaded.summary(IRIS.data[::-1] + 1)
    assert loaded.summary(IRIS.data)["certificate"] is None


def test_rows_of_a_file_belong_to_smaller_trees_too() -> None:
    fitted = CART(3, refine="agreement").fit(IRIS.data, SPECIES)
    loaded = spexplain.from_json(fitted.to_json())
    with_leaves = loaded.explanation_.with_rows(IRIS.data).truncate(2)
    assert with_leaves.training is None
    known = loaded.with_rows(IRIS.data, SPECIES).explanation_.truncate(2)
    assert known.training is not None
    assert known.training.labels.tolist() == fitted.truncated(2).labels_.tolist()


def test_other_rows_than_the_remembered_ones_are_refused() -> None:
    fitted = CART(3).fit(IRIS.data, SPECIES)
    with pytest.raises(ValueError, match=r"^X must hold the training rows"):
        fitted.summary(IRIS.data[:10])


def test_files_of_older_versions() -> None:
    text = EMN().fit(IRIS.data, SPECIES).to_json()
    data = json.loads(text)
    del data["training"]
    old = spexplain.from_json(json.dumps(data))
    new = spexplain.from_json(text)
    # How many rows of each cluster there are is not in them, so nobody knows recalls.
    known = [{key: each[key] for key in each if key != "recall"} for each in new.rules()]
    assert old.rules() == known
    segment = old.segment("setosa")
    assert (segment["rule"], segment["recall"]) == (new.segment("setosa")["rule"], None)
    assert "does not hold the rows of each cluster" in str(segment["note"])
    with pytest.raises(ValueError, match="ask the fitted estimator"):
        old.contrast("setosa", "virginica")
    assert old.to_text() == new.to_text()
    assert old.outline()["n_rows"] == 150
    assert not hasattr(old, "agreement_")
    assert np.isnan(old.path_[-1].agreement)
    assert old.truncated(2).n_leaves_ == 2
    assert old.to_sklearn(label="reference").predict_proba(IRIS.data).max() == 1


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"extra": 1}, "training must be null, or hold exactly"),
        ({"refined": 1.5}, "refined of training"),
        ({"columns": ["a", "b", "c", "d"]}, "columns of training"),
        ({"clusters": None}, "belong together"),
        ({"clusters": {"type": "str", "labels": [1]}}, "labels of clusters of training"),
        ({"nodes": {}}, "nodes of training"),
        ({"nodes": {"codes": [9] * 5, "counts": [], "noise": []}}, "a code per node"),
        ({"scales": [1.0]}, "scales of training"),
        ({"scales": ["a", "b"]}, "must hold numbers"),
        ({"parameters": []}, "parameters of training"),
        ({"trees": [[1]]}, "trees of training"),
        ({"path": [[1]]}, "path of training"),
        ({"path": [[1, 0, 0, 0, 0, 0.5, 0]] * 3}, "path of training"),
        ({"grown": {}}, "grown of training"),
    ],
)
def test_other_entries_are_refused(entries: dict, message: str) -> None:
    data = json.loads(CART().fit(IRIS.data, SPECIES).to_json())
    data["training"] |= entries
    with pytest.raises(ValueError, match=rf"^text is not a spexplain model: .*{message}"):
        spexplain.from_json(json.dumps(data))


def test_counts_must_add_up() -> None:
    data = json.loads(CART().fit(IRIS.data, SPECIES).to_json())
    data["training"]["nodes"]["counts"][0][0] += 1
    with pytest.raises(ValueError, match="add up to the sizes of the leaves"):
        spexplain.from_json(json.dumps(data))


def test_agreement_and_path_mean_the_same_everywhere() -> None:
    for method, n_leaves in ((SpexClique, 4), (BestTree, 4), (ExKMC, 4), (EMN, 3), (CART, 4)):
        fitted = method(3, n_leaves=n_leaves).fit(IRIS.data, SPECIES)
        assert fitted.agreement_ == fitted.path_[fitted.n_leaves_ - 1].agreement
    assert SpexKNN(3).fit(IRIS.data, SPECIES).agreement_ > 0
    with pytest.raises(AttributeError, match="knows no reference clustering"):
        _ = SpexKNN(3).fit(IRIS.data).agreement_


def test_the_last_step_of_a_refined_path_is_the_fitted_tree() -> None:
    plain = CART(n_leaves=5, leaf_weight="none").fit(IRIS.data, SPECIES)
    refined = CART(n_leaves=5, leaf_weight="none", refine="agreement").fit(IRIS.data, SPECIES)
    assert refined.tree_ != plain.tree_
    assert len(refined.path_) == refined.n_leaves_ == 5
    assert refined.path_[:-1] == plain.path_[:-1]
    assert refined.path_[-1].agreement == refined.agreement_ >= plain.agreement_
    assert refined.path_[-1].objective == refined.objective_
    assert refined.truncated(5).tree_ == refined.tree_
    assert refined.truncated(4).tree_ == plain.truncated(4).tree_
