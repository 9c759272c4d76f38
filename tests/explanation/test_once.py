"""Nothing is computed twice, and nothing that was fitted changes afterwards."""

import copy
import pickle

import numpy as np
import pytest

from spexplain import CART, IMM, KernelIMM, SpexClique, SpexKNN, datasets
from spexplain.estimators.base import Explainer
from spexplain.explanation import explanation
from spexplain.facts.path import path_of
from spexplain.graphs import Neighbors

IRIS = datasets.load("iris")
SPECIES = IRIS.target_names[IRIS.target]


@pytest.mark.parametrize("method", [SpexClique, SpexKNN, IMM, KernelIMM])
def test_a_summary_asks_for_no_graph_and_changes_nothing(method, monkeypatch) -> None:
    fitted = method(3).fit(IRIS.data, SPECIES)
    before = dict(vars(fitted))

    def refuse(*_args, **_options):
        raise AssertionError("computed again")

    monkeypatch.setattr(method, "_objective", refuse)
    monkeypatch.setattr(Neighbors, "of", refuse)
    first, second = fitted.summary(), fitted.summary()
    assert first == second
    assert before.keys() == vars(fitted).keys()
    assert all(vars(fitted)[name] is value for name, value in before.items())


def test_neighbours_are_not_searched_again_after_a_pickle(monkeypatch) -> None:
    fitted = SpexKNN(3).fit(IRIS.data)
    loaded = pickle.loads(pickle.dumps(fitted))
    graph = loaded.graph_
    monkeypatch.setattr(Neighbors, "of", None)
    assert loaded.summary(IRIS.data)["nodes"] == fitted.summary()["nodes"]
    assert loaded.graph_ is graph


def test_the_path_is_computed_once(monkeypatch) -> None:
    fitted = CART(n_leaves=4).fit(IRIS.data, SPECIES)
    found = []
    monkeypatch.setattr(
        explanation, "path_of", lambda record: found.append(record) or path_of(record)
    )
    assert fitted.path_ == fitted.path_
    assert fitted.outline()["trees"] == fitted.outline()["path"]
    assert len(found) == 1


def test_copies_keep_everything() -> None:
    fitted = CART(n_leaves=5).fit(IRIS.data, SPECIES)
    for same in (copy.copy(fitted), copy.deepcopy(fitted), fitted.truncated(5)):
        assert same.summary() == fitted.summary()
    smaller = fitted.truncated(3)
    facts = smaller.summary()
    assert facts["n_leaves"] == 3
    assert facts["has_rows"]
    assert facts["certificate"] is not None
    assert smaller.path_ == fitted.path_
    assert smaller.truncated(5).tree_ == fitted.tree_
    assert fitted.n_leaves_ == 5


def test_pickles_hold_no_rows() -> None:
    X = np.random.default_rng(0).normal(size=(2000, 20))
    fitted = SpexClique().fit(X, X[:, 0] > 0)
    assert len(pickle.dumps(fitted)) < X.nbytes / 2


def test_a_failed_fit_keeps_no_rows() -> None:
    explainer = CART()
    with pytest.raises(ValueError, match="y has 3 labels"):
        explainer.fit(IRIS.data, [0, 1, 1])
    assert "_table" not in vars(explainer)


def test_errors_of_python_name_the_class_that_was_called() -> None:
    with pytest.raises(TypeError, match=r"^SpexClique\.fit\(\) missing 1 required positional"):
        SpexClique().fit()
    with pytest.raises(TypeError, match=r"^SpexClique\.fit\(\) got an unexpected keyword argument"):
        SpexClique().fit(IRIS.data, centers=1)
    with pytest.raises(TypeError, match=r"^IMM\.fit\(\) got an unexpected keyword argument 'z'"):
        IMM().fit(IRIS.data, z=1)
    with pytest.raises(
        TypeError, match=r"^CART\.__init__\(\) got an unexpected keyword.*'n_leafs'"
    ):
        CART(n_leafs=3)
    with pytest.raises(TypeError, match=r"^CART\.rules\(\) got an unexpected keyword argument"):
        CART().fit(IRIS.data, SPECIES).rules(names=[])
    assert SpexClique.fit.__doc__ == Explainer.fit.__doc__


def test_a_class_of_ones_own_is_named_too() -> None:
    class Mine(SpexClique):
        pass

    with pytest.raises(TypeError, match=r"^Mine\.fit\(\) missing"):
        Mine().fit()
    assert Mine(3).get_params()["n_clusters"] == 3
