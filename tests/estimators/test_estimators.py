"""The estimators keep scikit-learn's contract, and print what they do."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import spexplain
from refusals import EXPECTED_TO_FAIL
from spexplain import CART, IMM, BestTree, ClusterRules, SpexClique, SpexKNN, datasets, estimators
from spexplain.metrics import agreement

CLASSES = [
    each
    for name in estimators.__all__
    if isinstance(each := getattr(estimators, name), type) and issubclass(each, BaseEstimator)
]
IRIS = datasets.load("iris")
X, Y = IRIS.data, IRIS.target
NAMES = IRIS.target_names[Y]


# --- scikit-learn's contract ----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::spexplain.exceptions.LeafCountWarning")
@pytest.mark.filterwarnings("ignore::spexplain.exceptions.ClusterCountWarning")
@pytest.mark.filterwarnings("ignore::spexplain.exceptions.LostClusterWarning")
@parametrize_with_checks(
    [each() for each in CLASSES], expected_failed_checks=lambda estimator: EXPECTED_TO_FAIL
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_estimator_is_public_and_documented(cls):
    assert getattr(spexplain, cls.__name__) is cls
    doc = inspect.getdoc(cls)
    assert "Parameters" in doc
    assert "Examples" in doc
    for parameter in cls().get_params(deep=False):
        assert f"\n{parameter} : " in doc, parameter
    assert "<" not in doc.split("Examples")[0].replace("<=", "")


@pytest.mark.parametrize("cls", CLASSES)
def test_fitted_state(cls):
    fitted = cls(3, random_state=0).fit(X, Y)
    assert fitted.labels_.dtype == np.int64
    assert sorted(set(fitted.labels_)) == list(range(fitted.n_leaves_))
    assert fitted.predict(X).tolist() == fitted.labels_.tolist()
    assert clone(fitted).fit_predict(X, Y).tolist() == fitted.labels_.tolist()
    assert fitted.reference_labels_.tolist() == Y.tolist()
    assert fitted.predict_reference(X).tolist() == fitted.leaf_reference_[fitted.labels_].tolist()
    assert np.isfinite(fitted.objective_)
    assert (
        len(fitted.rules())
        == fitted.n_leaves_
        == fitted.to_text().count(": leaf ") + fitted.to_text().count(":  leaf ")
    )


@pytest.mark.parametrize("cls", CLASSES)
def test_one_row_alone_gets_the_label_it_gets_in_a_batch(cls):
    fitted = cls(3).fit(X, Y)
    alone = [int(fitted.predict(row[None])[0]) for row in X[::10]]
    assert alone == fitted.predict(X)[::10].tolist()
    assert alone == fitted.predict(X[::10]).tolist()


@pytest.mark.parametrize("cls", CLASSES)
def test_copies_behave_alike(cls):
    fitted = cls(3, random_state=0).fit(X, NAMES)
    revived = pickle.loads(pickle.dumps(fitted))
    assert revived.tree_ == fitted.tree_
    assert revived.predict_reference(X).tolist() == fitted.predict_reference(X).tolist()
    again = clone(fitted)
    assert not hasattr(again, "tree_")
    assert again.get_params() == fitted.get_params()
    assert again.set_params(n_leaves=2).fit(X, NAMES).n_leaves_ == 2


def test_refit_forgets_what_no_longer_holds():
    explainer = SpexKNN(3).fit(pd.DataFrame(X, columns=IRIS.feature_names), Y)
    assert hasattr(explainer, "leaf_reference_")
    explainer.set_params(n_clusters=2).fit(X[:, :2])
    assert explainer.n_features_in_ == 2
    assert explainer.n_leaves_ == 2
    for gone in ("leaf_reference_", "reference_labels_", "feature_names_in_"):
        assert not hasattr(explainer, gone)


@pytest.mark.parametrize("estimator", [SpexClique(), IMM(), BestTree(), ClusterRules()], ids=str)
def test_a_fit_that_fails_changes_nothing(estimator):
    frame = pd.DataFrame(X, columns=IRIS.feature_names)
    fitted = estimator.fit(frame, Y)
    before, expected = {**vars(fitted)}, fitted.predict(frame).tolist()
    for table, y in ((X[:, :2], Y[:7]), (frame[IRIS.feature_names[:3]], [1] * len(X))):
        with pytest.raises(ValueError, match=r"^y has 7 labels|two clusters or more"):
            fitted.fit(table, y)
        assert vars(fitted).keys() == before.keys()
        assert all(vars(fitted)[name] is before[name] for name in before)
        assert fitted.predict(frame).tolist() == expected


@pytest.mark.parametrize("cls", CLASSES)
def test_fit_changes_neither_table_nor_labels(cls):
    table, labels = X.copy(), Y.copy()
    table.setflags(write=False)
    labels.setflags(write=False)
    cls(3).fit(table, labels).predict(table)


def test_engine_may_be_an_object(engine):
    assert SpexClique(engine=engine).fit(X, Y).tree_ == SpexClique().fit(X, Y).tree_


# --- What is printed ------------------------------------------------------------------------------


def test_verbose_prints_one_line_per_stage(capsys):
    SpexClique(verbose=1).fit(X, Y)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert [line.split()[:2] for line in lines] == [
        ["[SpexClique]", stage] for stage in ("reference", "graph", "tree")
    ]
    assert all(line.endswith(" s") for line in lines)
    SpexClique().fit(X, Y)
    assert capsys.readouterr() == ("", "")


def test_cart_gives_the_leaves_of_scikit_learn():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(400, 5)).astype(np.float32)
    labels = (table[:, 0] > 0.2).astype(int) + 2 * (table[:, 3] + 0.5 * table[:, 1] > 0)
    tree = DecisionTreeClassifier(max_leaf_nodes=9, random_state=0).fit(table, labels)
    leaves = CART(n_leaves=9).fit(table, labels).labels_
    assert agreement(leaves, tree.apply(table)).ari == 1
    unweighted = CART(n_leaves=9, leaf_weight="none").fit(table, labels).labels_
    assert agreement(unweighted, leaves).ari < 1


def test_text_of_the_tree():
    assert SpexKNN(2).fit(X).to_text(IRIS.feature_names).splitlines() == [
        "petal length (cm) ≤ 2",
        "├─ yes: leaf 0 (50 rows)",
        "└─ no:  leaf 1 (100 rows)",
    ]
