"""`ClusterClassifier`: a classifier to scikit-learn in all respects; and what explainers say to its scores."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from palmerpenguins import load_penguins
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.metrics import accuracy_score, get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from refusals import refused
from spexplain import CART, IMM, BestTree, ClusterClassifier, SpexKNN, from_json
from spexplain.exceptions import NoiseWarning

PENGUINS = load_penguins()
TABLE, SPECIES = PENGUINS.drop(columns="species"), PENGUINS["species"]

FAILURES = {
    "SpexKNN": {
        "check_classifiers_train": "SpexKNN grows its tree without the labels, which it only names leaves by."
    }
}


@pytest.mark.filterwarnings("ignore::spexplain.exceptions.LeafCountWarning")
@pytest.mark.filterwarnings("ignore::spexplain.exceptions.LostClusterWarning")
@parametrize_with_checks(
    [
        ClusterClassifier(),
        ClusterClassifier(CART(n_leaves=8)),
        ClusterClassifier(IMM()),
        ClusterClassifier(SpexKNN(n_leaves=8)),
    ],
    expected_failed_checks=lambda each: FAILURES.get(type(each.explainer).__name__, {}),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def fitted(**options):
    return ClusterClassifier(CART(n_leaves=4, **options)).fit(TABLE, SPECIES)


def test_it_answers_as_its_explainer_does():
    model = fitted()
    explainer = model.explainer_
    assert is_classifier(model)
    assert model.classes_.tolist() == ["Adelie", "Chinstrap", "Gentoo"]
    assert model.predict(TABLE).tolist() == explainer.predict_reference(TABLE).tolist()
    assert model.apply(TABLE).tolist() == explainer.labels_.tolist()
    assert model.apply(TABLE).tolist() == explainer.apply(TABLE).tolist()
    assert model.score(TABLE, SPECIES) == explainer.score(TABLE, SPECIES) == 331 / 344
    assert model.feature_importances_.tolist() == explainer.feature_importances_.tolist()
    assert model.feature_names_in_.tolist() == TABLE.columns.tolist()
    assert model.n_features_in_ == 7
    assert "Adelie" in model._repr_html_()


def test_shares_are_those_of_the_rows_of_the_leaf():
    model = fitted()
    shares, leaves = model.predict_proba(TABLE), model.apply(TABLE)
    for leaf in range(4):
        own = SPECIES[leaves == leaf].value_counts(normalize=True)
        wanted = [own.get(each, 0.0) for each in model.classes_]
        np.testing.assert_allclose(shares[leaves == leaf], [wanted] * int((leaves == leaf).sum()))


def test_the_decision_path_ends_in_the_leaf():
    model = fitted()
    path, tree = model.decision_path(TABLE), model.explainer_.tree_
    assert path.shape == (344, tree.n_nodes)
    assert (path.toarray()[:, 0] == 1).all()
    last = path.toarray()[:, tree.leaves]
    assert last.argmax(axis=1).tolist() == model.apply(TABLE).tolist()
    assert (last.sum(axis=1) == 1).all()
    assert from_json(model.explainer_.to_json()).decision_path(TABLE).sum() == path.sum()


@pytest.mark.parametrize(
    "labels",
    [
        [-1, 1, 1, -1],
        [-1.0, 1.0, 1.0, -1.0],
        ["-1", "b", "b", "-1"],
        [True, False, False, True],
        [2**60, 7, 7, 2**60],
    ],
)
def test_every_label_is_a_class_of_its_own_type(labels):
    X, y = [[1.0], [5.0], [6.0], [0.0]], np.array(labels)
    model = ClusterClassifier(CART()).fit(X, y)
    assert model.predict(X).tolist() == labels
    assert model.predict(X).dtype == model.classes_.dtype == y.dtype


def test_labels_that_are_named_as_noise_are_no_class():
    X, y = [[1.0], [2.0], [3.0], [4.0], [8.0]], np.array(["a", "a", "b", "b", "none"])
    model = ClusterClassifier(CART(noise="none", n_leaves=3)).fit(X, y)
    assert model.classes_.tolist() == ["a", "b"]
    assert set(model.predict(X)) == {"a", "b"}
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.explainer_.score(X, y) == model.explainer_.score(X[:4], y[:4]) == 1


def test_cross_validation_knows_clusters_not_leaves():
    model = ClusterClassifier(CART(n_leaves=4))
    found = cross_val_predict(model, TABLE, SPECIES, cv=5)
    assert set(found) == set(SPECIES)
    by_hand = np.empty(len(TABLE), dtype=object)
    for train, rest in StratifiedKFold(5).split(TABLE, SPECIES):
        by_hand[rest] = (
            clone(model).fit(TABLE.iloc[train], SPECIES.iloc[train]).predict(TABLE.iloc[rest])
        )
    assert found.tolist() == by_hand.tolist()
    scores = cross_validate(
        model, TABLE, SPECIES, cv=5, scoring=["accuracy", "f1_macro", "roc_auc_ovr"]
    )
    assert scores["test_accuracy"].mean() == pytest.approx(np.mean(found == SPECIES), abs=0.01)
    assert (scores["test_roc_auc_ovr"] > 0.9).all()


def test_grid_search_calibration_and_pipelines():
    numbers = TABLE.select_dtypes("number").dropna()
    species = SPECIES[numbers.index]
    pipeline = make_pipeline(StandardScaler(), ClusterClassifier(BestTree()))
    grid = {"clusterclassifier__explainer__n_leaves": [2, 4]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(numbers, species)
    assert search.best_params_ == {"clusterclassifier__explainer__n_leaves": 4}
    calibrated = CalibratedClassifierCV(ClusterClassifier(CART(n_leaves=4)), cv=3)
    shares = calibrated.fit(numbers, species).predict_proba(numbers)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert accuracy_score(species, calibrated.predict(numbers)) > 0.9


@pytest.mark.parametrize("asks_explainer", [False, True])
def test_metadata_is_routed(asks_explainer):
    weights = np.where(SPECIES == "Chinstrap", 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        explainer = CART(n_leaves=3)
        if asks_explainer:
            model = ClusterClassifier(explainer.set_fit_request(sample_weight=True))
        else:
            model = ClusterClassifier(explainer).set_fit_request(sample_weight=True)
        model = model.set_score_request(sample_weight=True)
        found = cross_validate(
            model, TABLE, SPECIES, cv=3, params={"sample_weight": weights}, return_estimator=True
        )
        first = next(StratifiedKFold(3).split(TABLE, SPECIES))
    train, rest = first
    own = clone(model).fit(TABLE.iloc[train], SPECIES.iloc[train], sample_weight=weights[train])
    assert own.explainer_.tree_ == found["estimator"][0].explainer_.tree_
    score = own.score(TABLE.iloc[rest], SPECIES.iloc[rest], sample_weight=weights[rest])
    assert score == found["test_score"][0]


def test_copies_behave_alike():
    model = fitted()
    revived = pickle.loads(pickle.dumps(model))
    assert revived.predict(TABLE).tolist() == model.predict(TABLE).tolist()
    assert revived.predict_proba(TABLE).tolist() == model.predict_proba(TABLE).tolist()
    assert not hasattr(clone(model), "explainer_")
    assert not hasattr(clone(model), "n_features_in_")


def test_refusals():
    X = [[0.0], [1.0], [2.0]]
    refused(lambda: ClusterClassifier().fit(X, None), words=["y"])
    refused(lambda: ClusterClassifier().fit(X, [1, 1, 1]), words=["one class"])
    refused(
        lambda: ClusterClassifier(KMeans()).fit(X, [0, 1, 1]), words=["explainer"], error=TypeError
    )
    for missing in (None, np.nan):
        y = np.array(["a", "b", missing], dtype=object)
        refused(lambda y=y: ClusterClassifier().fit(X, y), words=["y contains NaN", "leave out"])
    hidden = np.ma.MaskedArray([0, 1, 1], [False, False, True])
    refused(lambda: ClusterClassifier().fit(X, hidden), words=["y contains NaN", "leave out"])
    with pytest.raises(ValueError, match="Unknown label type"):
        ClusterClassifier().fit(X, [0.5, 0.25, 0.125])


# --- What explainers say --------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "balanced_accuracy", "recall_micro"])
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_scores_that_would_compare_leaf_ids_with_labels_are_refused(scoring, in_pipeline):
    numbers = TABLE.select_dtypes("number").dropna()
    species = SPECIES[numbers.index]
    model = CART(n_leaves=3)
    model = make_pipeline(StandardScaler(), model) if in_pipeline else model
    model.fit(numbers, species)
    words = ["leaf ids", "ClusterClassifier(CART(...))"]
    refused(lambda: get_scorer(scoring)(model, numbers, species), words=words)
    with pytest.raises(ValueError, match="leaf ids"):  # no NaN, whatever `error_score` says
        cross_val_score(model, numbers, species, scoring=scoring, cv=2)
    grid = {"cart__n_leaves" if in_pipeline else "n_leaves": [2, 3]}
    for several in (scoring, [scoring, "adjusted_rand_score"]):
        search = GridSearchCV(model, grid, scoring=several, refit=False, cv=2)
        with pytest.raises(ValueError, match="leaf ids"):
            search.fit(numbers, species)


def test_scores_of_clusterings_stay_possible():
    model = CART(n_leaves=3).fit(TABLE, SPECIES)
    rand = get_scorer("adjusted_rand_score")(model, TABLE, SPECIES)
    assert rand == pytest.approx(model.agreement_)
    found = cross_validate(
        model,
        TABLE,
        SPECIES,
        scoring=["adjusted_rand_score", "v_measure_score"],
        cv=StratifiedKFold(3),
    )
    assert (found["test_adjusted_rand_score"] > 0.5).all()
    classifier = ClusterClassifier(CART(n_leaves=3)).fit(TABLE, SPECIES)
    accuracy = get_scorer("accuracy")(classifier, TABLE, SPECIES)
    assert accuracy == model.score(TABLE, SPECIES)


def test_grid_search_of_an_explainer_takes_its_fidelity():
    cv = StratifiedKFold(3)
    search = GridSearchCV(CART(), {"n_leaves": [2, 4]}, cv=cv).fit(TABLE, SPECIES)
    classifier = GridSearchCV(ClusterClassifier(CART()), {"explainer__n_leaves": [2, 4]}, cv=cv)
    assert search.best_score_ == classifier.fit(TABLE, SPECIES).best_score_


@settings(deadline=None)
@given(st.lists(st.sampled_from([-1, 0, 1]), min_size=12, max_size=12), st.data())
def test_score_is_the_share_of_clustered_rows_in_leaves_of_their_cluster(codes, data):
    y = np.array(codes)
    y[:2] = 0, 1
    X = np.arange(12.0)[:, None] % 5
    weights = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=12, max_size=12)), dtype=float
    )
    weights[0] = 1.0
    model = CART().fit(X, y)
    right = [int(a == b) for a, b in zip(model.predict_reference(X), y, strict=True)]
    total = sum(w for w, label in zip(weights, y, strict=True) if label >= 0)
    found = sum(w * r for w, r, label in zip(weights, right, y, strict=True) if label >= 0)
    assert model.score(X, y, sample_weight=weights) == pytest.approx(found / total)


def test_scores_need_labels_of_the_clusters():
    model = CART(n_leaves=3).fit(TABLE, SPECIES)
    refused(lambda: model.score(TABLE), words=["CART.score", "y"])
    refused(lambda: model.score(TABLE, np.arange(344)), words=["type", "Adelie"])
    refused(lambda: model.score(TABLE[:2], ["a"]), words=["1 labels", "2 rows"])
    unseen = pd.Series(["Emperor", *SPECIES[1:4]])
    assert model.score(TABLE[:4], unseen) == 0.75
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoiseWarning)
        assert model.score(TABLE, SPECIES) > 0.9
