"""The best cut on another feature."""

import numpy as np
import pytest
from hypothesis import given

from spexplain import IMM, ExKMC, ExShallow, SpexClique, SpexKNN, datasets
from spexplain.engines import NumpyEngine
from spexplain.facts import runner_ups, summarize
from spexplain.graphs import CliqueGraph
from spexplain.grow import grow
from spexplain.objectives import gini_cart, on_columns
from spexplain.objectives import spex as conductance_objective
from spexplain.tree import LEAF
from spexplain.tree.column import roundest
from strategies import labelled_tables


@given(labelled_tables())
def test_at_the_root_it_is_the_best_cut_of_the_other_columns(case):
    X, labels = case
    objective = conductance_objective(CliqueGraph.from_labels(labels))
    tree = grow(NumpyEngine().bind(X, objective), max_leaves=3)
    found = runner_ups(tree, X, objective)
    if tree.n_leaves == 1:
        assert found == {}
        return
    others = np.delete(np.arange(X.shape[1]), tree.feature[0])
    if not len(others):
        assert 0 not in found
        return
    search = NumpyEngine().bind(X[:, others], on_columns(objective, others))
    (best,) = search.best_cuts([search.root()])
    if best is None:
        assert 0 not in found
    else:
        own = X[:, others[best.feature]]
        below = own <= best.threshold
        said = roundest(float(own[below].max()), float(own[~below].min()))
        assert found[0].cut == best._replace(feature=int(others[best.feature]), threshold=said)


@given(labelled_tables())
def test_the_own_score_is_the_grown_one_and_not_above_the_runner_up(case):
    X, labels = case
    objective = gini_cart(CliqueGraph.from_labels(labels))
    tree = grow(NumpyEngine().bind(X, objective), max_leaves=4)
    for node, second in runner_ups(tree, X, objective).items():
        assert second.cut.feature != tree.feature[node]
        assert second.own_score == pytest.approx(tree.score[node])
        assert second.own_score <= second.cut.score + 1e-9


@pytest.mark.parametrize(
    "estimator",
    [IMM(), ExKMC(n_leaves=5), ExShallow(), SpexKNN(3)],
    ids=lambda each: type(each).__name__,
)
def test_methods(estimator):
    iris = datasets.load("iris")
    fitted = estimator.fit(iris.data, iris.target)
    record = fitted.explanation_
    objective = fitted._objective(iris.data, record.reference)
    found = runner_ups(fitted.tree_, iris.data, objective)
    inner = np.flatnonzero(fitted.tree_.feature != LEAF)
    assert set(found) == set(inner.tolist())
    for node, second in found.items():
        assert second.own_score == pytest.approx(fitted.tree_.score[node])
    nodes = summarize(record, runner_ups=found)["nodes"]
    assert nodes[0]["runner_up"]["text"].startswith("x3 ≤")


def test_only_the_columns_that_cuts_may_use():
    iris = datasets.load("iris")
    fitted = SpexClique(features=[0, 2]).fit(iris.data, iris.target)
    objective = fitted._objective(iris.data, fitted.explanation_.reference)
    found = runner_ups(fitted.tree_, iris.data, objective, columns=np.array([0, 2]))
    assert {second.cut.feature for second in found.values()} <= {0, 2}
