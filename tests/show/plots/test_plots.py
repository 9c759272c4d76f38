"""Plots draw without a warning, inside their figure, whatever the names and however odd the tree."""

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from facts.cases import (
    CUSTOMERS,
    HOSTILE,
    customers_summary,
    customers_table,
    customers_tree,
    explained,
    explained_tables,
    hostile_summary,
    iris_explainer,
    iris_summary,
)

pytest.importorskip("matplotlib")

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text

from spexplain import CART, BestTree, SpexKNN, from_json
from spexplain.facts import summarize
from spexplain.show.plots import plot_cuts, plot_path, plot_profiles, plot_tree
from spexplain.show.plots.cuts import segments
from spexplain.show.plots.style import shortened
from spexplain.tree import Tree


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def drawn(ax: Axes) -> Axes:
    """Draw it: some warnings come only then."""
    assert isinstance(ax, Axes)
    ax.figure.canvas.draw()
    return ax


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.findobj(Text) if text.get_text()]


def check_tree(ax: Axes) -> None:
    """No box overlaps another, and all text of boxes is inside the figure."""
    ax.figure.canvas.draw()
    frames = [each.get_window_extent() for each in ax.findobj(FancyBboxPatch)]
    frames = [each for each in frames if each.width > 0]
    for first, second in combinations(frames, 2):
        assert not first.overlaps(second)
    figure = ax.figure.bbox
    for text in ax.texts:
        extent = text.get_window_extent()
        assert extent.x0 >= figure.x0 - 1
        assert extent.x1 <= figure.x1 + 1
        assert extent.y0 >= figure.y0 - 1
        assert extent.y1 <= figure.y1 + 1


@pytest.mark.parametrize("orientation", ["auto", "down", "right"])
def test_tree(orientation):
    ax = plot_tree(iris_summary(), orientation=orientation)
    check_tree(ax)
    assert {"petal length (cm) ≤ 2", "leaf 0: setosa", "50 rows (33%)"} <= set(texts(ax))


@pytest.mark.parametrize("n_leaves", [3, 12, 30])
def test_trees_of_all_sizes(n_leaves):
    rng = np.random.default_rng(n_leaves)
    X = rng.normal(size=(300, 5))
    labels = rng.integers(0, 9, size=300)
    explainer = CART(n_leaves=n_leaves).fit(X, labels)
    names = [f"a rather long feature name {column}" for column in range(5)]
    check_tree(plot_tree(summarize(explainer.explanation_, names=names)))


def test_tree_in_given_axes():
    _, (left, right) = plt.subplots(1, 2, figsize=(7, 3))
    assert plot_tree(iris_summary(), left) is left
    check_tree(left)
    plot_tree(summarize(explained(Tree.root(n_features=1, size=1), [[1.0]])), right)
    drawn(right)
    with pytest.raises(ValueError, match='"auto", "down" or "right"'):
        plot_tree(iris_summary(), orientation="up")


def test_path():
    ax = drawn(plot_path(iris_summary()))
    assert ax.get_ylabel().startswith("fidelity")
    knn = SpexKNN(3).fit(iris_explainer()[1])
    ax = drawn(plot_path(summarize(knn.explanation_, path=knn.path_)))
    assert ax.get_ylabel() == "objective"
    with pytest.raises(ValueError, match="has no path"):
        plot_path(summarize(knn.explanation_))


@pytest.mark.parametrize("goal", ["fidelity", "cost"])
def test_curve(goal):
    explainer, X, _ = iris_explainer()
    best = BestTree(n_leaves="auto", goal=goal).fit(X, explainer.reference_labels_)
    ax = drawn(best.plot_curve())
    line = ax.lines[0]
    assert line.get_xdata().tolist() == [step.n_leaves for step in best.curve_]
    assert line.get_ydata().tolist() == [step.value for step in best.curve_]
    star = ax.lines[-1]
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (best.n_leaves_, best.value_)
    again = drawn(from_json(best.to_json()).plot_curve())
    assert again.lines[0].get_ydata().tolist() == line.get_ydata().tolist()
    with pytest.raises(ValueError, match="has no curve"):
        explainer.plot_curve()


def test_profiles():
    ax = drawn(plot_profiles(iris_summary(), max_features=2))
    assert len(ax.get_xticklabels()) == 2
    assert len(ax.texts) == 6
    with pytest.raises(ValueError, match="without the training rows"):
        plot_profiles(summarize(iris_explainer()[0].explanation_))


def test_cuts():
    explainer, X, names = iris_explainer()
    ax = drawn(plot_cuts(X, explainer.tree_, explainer.reference_labels_, names=names))
    assert {ax.get_xlabel(), ax.get_ylabel()} == {"petal length (cm)", "petal width (cm)"}
    assert len(ax.lines) == 2
    ax = drawn(plot_cuts(X, explainer.tree_, features=[0, 1], max_points=20))
    assert "2 of 2 tests" in ax.get_title()
    drawn(plot_cuts(X, explainer.tree_, features=[2]))
    drawn(plot_cuts(X, explainer.tree_, np.where(explainer.labels_ == 0, -1, 4)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": [0, 1, 2]}, "one or two columns"),
        ({"features": [9]}, "one or two columns"),
        ({"labels": [1, 2]}, "one label per row"),
    ],
)
def test_bad_cuts(options, message):
    explainer, X, _ = iris_explainer()
    with pytest.raises(ValueError, match=message):
        plot_cuts(X, explainer.tree_, **options)
    with pytest.raises(ValueError, match="X must have 4 columns"):
        plot_cuts(X[:, :2], explainer.tree_)


def test_segments_stay_in_the_box_of_their_node():
    tree = Tree.root(n_features=3, size=0).split(0, feature=0, threshold=9.0, lower=6.0)
    tree = tree.split(2, feature=1, threshold=1.0)  # outside the interval: two pieces
    tree = tree.split(1, feature=2, threshold=0.0).split(5, feature=1, threshold=3.0)
    inf = np.inf
    assert [tuple(each) for each in segments(tree, [0, 1])] == [
        ("x", 6.0, -inf, inf, True),
        ("x", 9.0, -inf, inf, True),
        ("y", 1.0, -inf, 6.0, True),
        ("y", 1.0, 9.0, inf, True),
        ("y", 3.0, 6.0, 9.0, False),
    ]


def test_hostile_names():
    summary = hostile_summary()
    check_tree(plot_tree(summary))
    drawn(plot_profiles(summary))
    X = np.eye(9)
    tree = Tree.root(n_features=9, size=9).split(0, feature=5, threshold=0.5, sizes=(8, 1))
    drawn(plot_cuts(X, tree.split(1, feature=6, threshold=0.5), HOSTILE, names=HOSTILE))


@settings(max_examples=5)
@given(explained_tables())
def test_odd_trees(case):
    X, record = case
    summary = summarize(record, X)
    drawn(plot_tree(summary))
    drawn(plot_profiles(summary))
    drawn(plot_cuts(X, record.tree))
    plt.close("all")


@pytest.mark.filterwarnings("ignore::spexplain.exceptions.ClusterCountWarning")
def test_many_clusters():
    X = np.arange(40.0)[:, None]
    explainer = CART(n_leaves=40).fit(X, np.arange(40))
    check_tree(plot_tree(summarize(explainer.explanation_)))
    ax = drawn(plot_cuts(X, explainer.tree_))
    assert "and 19 more" in texts(ax)


def test_shortened():
    assert shortened("short", 10) == "short"
    assert shortened("abcdefghij", 5) == "ab…ij"
    assert shortened("a\nb", 10) == "a b"


def test_matplotlib_is_not_loaded_before_it_is_needed():
    code = "import sys, spexplain.show.plots; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "spexplain\[plot\]"'):
        plot_tree(iris_summary())


def test_columns_of_any_kind():
    X, labels = customers_table()
    tree, summary = customers_tree(), customers_summary()
    texts = {text.get_text() for text in drawn(plot_tree(summary)).texts}
    assert {node["test"] for node in summary["nodes"] if node["test"]} <= texts
    ax = drawn(plot_cuts(X, tree, labels, names=CUSTOMERS, features=[2, 0]))
    ticks = [tick.get_text() for tick in ax.get_yticklabels()]
    assert ticks == ["missing", "app", "mail", "shop", "web"]
    assert "1997-04" in [tick.get_text() for tick in ax.get_xticklabels()]
    across = {tuple(line.get_ydata()) for line in ax.lines if len(set(line.get_ydata())) == 1}
    assert across == {(0.5, 0.5), (2.5, 2.5)}  # app and missing, mail and shop, web
    for plane in ([3, 1], [0], [5, 7], [6]):
        drawn(plot_cuts(X, tree, names=CUSTOMERS, features=plane))
    ax = drawn(plot_profiles(summary))
    names = [tick.get_text() for tick in ax.get_xticklabels()]
    assert {"channel = app", "member = yes", 'contains "hockey"', "age"} <= set(names)
    assert "100%" in {text.get_text() for text in ax.texts}
