"""The explaining methods of fitted estimators: every method of every estimator, end to end."""

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import spexplain
from spexplain import datasets
from spexplain.estimators import __all__ as names

IRIS = datasets.load("iris")
SPECIES = IRIS.target_names[IRIS.target]
COLUMNS = list(IRIS.feature_names)


@pytest.fixture(scope="module", params=names)
def explainer(request: pytest.FixtureRequest):
    estimator = getattr(spexplain, request.param)(3)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return estimator.fit(IRIS.data, SPECIES)


def test_summary_is_plain_json(explainer) -> None:
    facts = explainer.summary(feature_names=COLUMNS)
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["n_leaves"] == explainer.n_leaves_ == len(facts["leaves"])
    assert facts["method"] == type(explainer).__name__
    assert "petal" in json.dumps(facts["nodes"][0], ensure_ascii=False)


def test_report_is_written(explainer, tmp_path: Path) -> None:
    path = explainer.report(tmp_path / "report.html", title="A <title>", feature_names=COLUMNS)
    text = path.read_text(encoding="utf-8")
    assert "A &lt;title&gt;" in text
    assert not re.search(r"\b(?:src|href)=[\"']?https?:", text)
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_exports_agree(explainer) -> None:
    assert (
        spexplain.from_json(explainer.to_json()).predict(IRIS.data).tolist()
        == explainer.labels_.tolist()
    )
    space: dict = {}
    exec(explainer.to_python(), space)
    assert [space["predict"](row) for row in IRIS.data.tolist()] == explainer.labels_.tolist()
    assert explainer.to_sklearn(IRIS.data).predict(IRIS.data).tolist() == explainer.labels_.tolist()


def test_plots_return_axes(explainer) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    for axes in (
        explainer.plot(),
        explainer.plot_cuts(),
        explainer.plot_path(),
        explainer.plot_profiles(),
    ):
        axes.figure.canvas.draw()
    plt.close("all")


def test_changes_really_move_the_row(explainer) -> None:
    for row in IRIS.data[::17]:
        found = explainer.explain(row)
        assert found["leaf"] == explainer.predict([row])[0]
        for change in found["changes"]:
            moved = row.copy()
            for step in change["moves"]:
                moved[step["feature"]] = step["to"]
            assert explainer.predict([moved])[0] == change["leaf"]


def test_importances_and_notebook_form(explainer) -> None:
    importances = explainer.feature_importances_
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1)
    assert (importances >= 0).all()
    assert "<script" not in explainer._repr_html_()
    assert "leaf" in explainer._repr_html_().lower()


def test_pickles_leave_the_rows_out(explainer) -> None:
    loaded = pickle.loads(pickle.dumps(explainer))
    assert loaded.predict(IRIS.data).tolist() == explainer.labels_.tolist()
    with pytest.raises(ValueError, match="pass them as X"):
        loaded.summary()
    assert loaded.summary(IRIS.data)["n_rows"] == 150


def test_certificate(explainer) -> None:
    certificate = explainer.certificate(feature_names=COLUMNS)
    assert certificate.lower_bound <= certificate.objective + 1e-9
    assert "petal" in certificate.to_text()


def test_before_fit() -> None:
    from sklearn.exceptions import NotFittedError

    for method in (
        "summary",
        "plot",
        "plot_cuts",
        "plot_path",
        "plot_profiles",
        "certificate",
        "rules",
    ):
        with pytest.raises(NotFittedError):
            getattr(spexplain.SpexClique(), method)()
    assert "SpexClique" in spexplain.SpexClique()._repr_html_()


def test_tables_of_rules() -> None:
    explainer = spexplain.SpexClique().fit(IRIS.data, SPECIES)
    records = explainer.rules(output="records")
    assert explainer.rules(output="polars").to_dicts() == records
    assert explainer.rules().to_dict("records") == records
    with pytest.raises(ValueError, match="output='csv' must be"):
        explainer.rules(output="csv")


def test_row_must_be_one_row() -> None:
    explainer = spexplain.SpexClique().fit(IRIS.data, SPECIES)
    with pytest.raises(TypeError, match="row is a dict; pass a data frame of it"):
        explainer.explain({"a": 1})
    with pytest.raises(ValueError, match="row must be a single row, got 2"):
        explainer.explain(IRIS.data[:2])
    assert np.isfinite(explainer.explain(IRIS.data[:1])["path"][0]["margin"])


def test_frames_keep_their_names() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(IRIS.data, columns=COLUMNS)
    explainer = spexplain.SpexClique().fit(table, SPECIES)
    for facts in (explainer.summary(), explainer.summary(table)):  # warnings are errors
        assert facts["nodes"][0]["name"] == "petal length (cm)"
        assert "petal length (cm)" in facts["certificate_text"]
