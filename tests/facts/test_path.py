"""One fit answers all numbers of leaves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from spexplain import CART, EMN, IMM, ExKMC, SpexClique, SpexKNN, datasets, metrics
from spexplain.facts.path import PathStep, plateau
from strategies import labels_for, tables

ignore_leaf_count = pytest.mark.filterwarnings("ignore::spexplain.exceptions.LeafCountWarning")


@ignore_leaf_count
@given(data=st.data())
@pytest.mark.parametrize("method", [SpexClique, CART, EMN, ExKMC])
def test_truncated_is_the_same_as_grown_with_fewer_leaves(
    method: type, data: st.DataObject
) -> None:
    X = data.draw(tables())
    labels = data.draw(labels_for(len(X)))
    full = method(n_leaves=6).fit(X, labels)
    n_leaves = data.draw(st.integers(1, full.n_leaves_))
    short, grown = full.truncated(n_leaves), method(n_leaves=n_leaves).fit(X, labels)
    assert short.tree_ == grown.tree_
    assert short.labels_.tolist() == grown.labels_.tolist()
    assert short.leaf_reference_.tolist() == grown.leaf_reference_.tolist()
    assert short.objective_ == pytest.approx(grown.objective_)
    assert short.predict(X).tolist() == short.labels_.tolist()


@ignore_leaf_count
@given(data=st.data())
def test_steps_of_the_path(data: st.DataObject) -> None:
    X = data.draw(tables(min_rows=4))
    labels = data.draw(labels_for(len(X), noise=False))
    explainer = SpexClique(n_leaves=6).fit(X, labels)
    for step in explainer.path_:
        small = explainer.truncated(step.n_leaves)
        assert step.objective == pytest.approx(small.objective_)
        assert step.agreement == pytest.approx(adjusted_rand_score(labels, small.labels_))
        assert step.fidelity == pytest.approx(metrics.agreement(small.labels_, labels).purity)
        price = metrics.price_of_explainability(X, small.labels_, labels)
        if np.isfinite(price) and price < 1e6:
            assert step.price == pytest.approx(price, rel=1e-5, abs=1e-5)
        assert step.depth == small.tree_.depth
    sizes = [step.explanation_size for step in explainer.path_]
    assert sizes == sorted(sizes)


def test_large_tables_are_summed_by_the_kernel() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2200, 500)).astype(np.float32)
    labels = np.where(rng.random(2200) < 0.1, -1, rng.integers(0, 3, 2200))
    explainer = SpexClique(engine="numpy").fit(X, labels)
    known = labels >= 0
    price = metrics.price_of_explainability(X[known], explainer.labels_[known], labels[known])
    assert explainer.path_[-1].price == pytest.approx(price)


def test_path_without_reference_has_no_agreement() -> None:
    iris = datasets.load("iris")
    steps = SpexKNN(3).fit(iris.data).path_
    assert [step.n_leaves for step in steps] == [1, 2, 3]
    assert np.isnan([steps[-1].agreement, steps[-1].fidelity, steps[-1].price]).all()


def test_given_centres_set_the_price() -> None:
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    step = IMM().fit(X, [0, 0, 1, 1], centers=[[0.0], [10.0]]).path_[-1]
    assert step.price == 1.0


def steps_with(fidelity: list[float]) -> list[PathStep]:
    return [PathStep(n, 0.0, 0.0, f, 1.0, 1, 1.0) for n, f in enumerate(fidelity, 1)]


@pytest.mark.parametrize(
    ("fidelity", "chosen"),
    [
        ([0.4, 0.7, 0.9, 0.905, 0.906], 3),
        ([0.4, 0.4, 0.9, 0.9], 3),  # a step that pays only together with the next
        ([1.0], 1),
        ([0.5, 0.6, 0.7], 3),
    ],
)
def test_auto_stops_on_the_plateau(fidelity: list[float], chosen: int) -> None:
    assert plateau(steps_with(fidelity)) == chosen


def test_auto_finds_the_clusters() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 50)
    X = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[labels] + rng.normal(size=(150, 2))
    assert SpexClique(n_leaves="auto").fit(X, labels).n_leaves_ == 3
    assert SpexKNN(3, n_leaves="auto").fit(X).n_leaves_ == 3


def test_truncated_refuses_other_numbers() -> None:
    explainer = CART().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="n_leaves=3 must lie between 1 and"):
        explainer.truncated(3)
