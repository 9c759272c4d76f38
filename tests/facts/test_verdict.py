"""Is it any good? Random labels are not; figures are those of refits that are made by hand."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score, balanced_accuracy_score
from sklearn.model_selection import KFold

from spexplain import CART, BestTree, SpexClique, SpexKNN, from_json
from spexplain.estimators.refits import grown_on
from spexplain.facts.segments import Clusters
from spexplain.facts.validation import dealt
from spexplain.facts.verdict import NO_BETTER, best_merge, better_than_guessing
from spexplain.show.notebook import html_repr
from spexplain.table.host import HostTable


@pytest.fixture(scope="module")
def penguins():
    table = load_penguins()
    species = table.pop("species")
    return table, species


@pytest.fixture(scope="module")
def wine():
    found = load_wine(as_frame=True)
    return found.data, found.target_names[found.target]


@pytest.mark.filterwarnings("ignore::spexplain.exceptions.LostClusterWarning")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [(60, 3, 2), (200, 6, 3), (400, 3, 5)])
def test_random_labels_are_no_better_than_guessing(seed, shape):
    n_rows, n_columns, k = shape
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(n_rows, n_columns)), random.integers(0, k, n_rows)
    for method in (CART(), BestTree(exchange="none")):
        explainer = method.fit(X, y)
        assert explainer.verdict_.level == "none"
        assert explainer.verdict_.sentences[0] == NO_BETTER
        assert from_json(explainer.to_json()).verdict_.level == "none"
        assert NO_BETTER in html_repr(explainer.outline())
        assert NO_BETTER in explainer._repr_html_()


def test_a_leaf_for_every_row_is_no_better_than_guessing():
    assert CART().fit([[1.0], [2.0]], ["a", "b"]).verdict_.level == "none"
    assert CART(n_leaves=4).fit([[1.0], [2.0], [3.0], [4.0]], list("abab")).verdict_.level == "none"


@pytest.mark.filterwarnings("ignore::spexplain.exceptions.LostClusterWarning")
@pytest.mark.parametrize(("k", "n_leaves"), [(2, 60), (5, 120), (50, 270), (150, 290)])
def test_random_labels_that_many_leaves_fit_are_no_better_than_guessing(k, n_leaves):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 10)), random.permutation(np.arange(300) % k)
    explainer = CART(n_leaves=n_leaves).fit(X, y)
    assert explainer.score(X, y) > 0.95
    assert explainer.verdict_.level == "none"


@pytest.mark.filterwarnings("ignore::spexplain.exceptions.ClusterCountWarning")
@pytest.mark.parametrize("method", [CART(), BestTree()])
@pytest.mark.parametrize("n_rows", [3, 30, 344])
def test_a_tree_that_numbers_the_rows_is_no_better_than_guessing(method, n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    explainer = method.fit(X, X[:, 0] * 1000 + 0.5)
    assert explainer.n_leaves_ == n_rows
    said = " ".join(explainer.verdict_.sentences)
    assert explainer.verdict_.level == "none"
    assert said.startswith(NO_BETTER)
    assert "100% of the rows are put into their own cluster" in said
    assert (f"There are {n_rows} clusters for {n_rows} rows" in said) == (n_rows > 20)


@pytest.mark.parametrize("seed", range(3))
def test_random_labels_of_a_table_with_many_categories_are_no_better_than_guessing(seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "model": rng.choice([f"model {each}" for each in range(38)], 234),
        "maker": rng.choice([f"maker {each}" for each in range(15)], 234),
        "year": rng.integers(1999, 2009, 234),
    })  # fmt: skip
    explainer = BestTree(random_state=0).fit(table, rng.integers(0, 3, 234))
    assert explainer.verdict_.sentences[0] == NO_BETTER


def test_real_clusters_are_better_than_guessing(penguins, wine):
    for X, y in (penguins, wine, load_iris(return_X_y=True)):
        explainer = SpexClique().fit(X, y)
        assert explainer.verdict_.level in ("good", "usable")
    # Few rows, but all of them right.
    assert SpexClique().fit([[0.0], [1.0], [5.0], [6.0]], list("aabb")).verdict_.level == "good"


def test_a_small_cluster_is_worth_finding():
    """Guessing is right for 95 %, and so is the tree; still it finds the others."""
    random = np.random.default_rng(0)
    y = (random.random(1000) < 0.05).astype(int)
    X = np.column_stack([y + random.normal(0, 0.3, 1000), random.normal(size=1000)])
    explainer = CART().fit(X, y)
    assert explainer.verdict_.level in ("weak", "usable", "good")
    assert better_than_guessing(
        Clusters.of(explainer.explanation_), explainer.explanation_.fields, 2
    )


def test_the_weakest_and_the_lost_clusters_are_named(wine):
    explainer = CART(n_leaves=2).fit(*wine)
    verdict = explainer.verdict_
    assert verdict.level == "weak"
    assert verdict.facts["lost"] == ["class_2"]
    assert any("Cluster without a leaf of its own: class_2" in each for each in verdict.sentences)
    assert any("mixes class_2 and class_1 up" in each for each in verdict.sentences)
    json.dumps(verdict.facts, allow_nan=False)
    assert str(verdict).splitlines() == list(verdict.sentences)


@pytest.mark.filterwarnings("ignore::spexplain.exceptions.LostClusterWarning")
def test_clusters_that_columns_do_not_tell_apart():
    random = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], 200)
    X = np.column_stack([(y == "c") + random.normal(0, 0.05, 600), random.normal(size=600)])
    verdict = BestTree(n_leaves=3, exchange="none").fit(X, y).verdict_
    (told,) = (each for each in verdict.sentences if "These columns do not separate" in each)
    assert {"a", "b"} <= set(told.replace(":", " ").split())
    assert sorted(verdict.facts["mixed"][0]) == ["a", "b"]
    assert any("merge a and b: 100%" in each for each in verdict.facts["next_steps"])


@pytest.mark.filterwarnings("ignore::spexplain.exceptions.LostClusterWarning")
def test_without_rows_no_verdict_says_what_columns_cannot_do():
    random = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], 200)
    X = np.column_stack([(y == "c") + random.normal(0, 0.05, 600), random.normal(size=600)])
    fitted = BestTree(n_leaves=3, exchange="none").fit(X, y)
    loaded = from_json(fitted.to_json())
    (told,) = (each for each in loaded.verdict_.sentences if "This tree mixes" in each)
    assert told.endswith("Only the rows can tell whether other tests part them.")
    assert not any("columns do not separate" in each for each in loaded.verdict_.sentences)
    assert any("columns do not separate" in each for each in fitted.verdict_.sentences)
    assert loaded.verdict_.facts["mixed"] == fitted.verdict_.facts["mixed"]


def test_without_rows_contrasts_are_those_of_the_tree_and_say_so(wine):
    explainer = CART(n_leaves=2).fit(*wine)
    loaded = from_json(explainer.to_json())
    found = loaded.contrast("class_1", "class_2")
    assert found["source"] == "tree"
    assert found["text"].endswith(
        " Only tests of the tree were compared, as the rows are not known."
    )
    assert "were compared" not in explainer.contrast("class_1", "class_2")["text"]
    (told,) = (each for each in loaded.verdict_.sentences if "This tree mixes" in each)
    assert "Only the rows can tell" in told
    assert any("What separates them: " in each for each in explainer.verdict_.sentences)


def test_next_steps_have_the_figures_of_a_refit(wine):
    X, y = wine
    explainer = CART(n_leaves=3).fit(X, y)
    steps = explainer.verdict_.facts["next_steps"]
    larger = {n: CART(n_leaves=n).fit(X, y) for n in (4, 5)}
    figures = {
        4: f"one more leaf: {np.mean(larger[4].predict_reference(X) == y):.0%}",
        5: f"two more leaves: {np.mean(larger[5].predict_reference(X) == y):.0%}",
    }
    assert steps[0] in figures.values()


def test_merges_are_counted_by_hand(wine):
    X, y = wine
    explainer = CART(n_leaves=3).fit(X, y)
    a, b, share = best_merge(Clusters.of(explainer.explanation_))
    classes = explainer.explanation_.classes
    merged = np.where(np.isin(y, [classes[a], classes[b]]), "both", y)
    table = pd.crosstab(explainer.labels_, merged)
    assert share == pytest.approx(table.max(axis=1).sum() / len(y))


def test_validation_is_what_refits_by_hand_give(penguins):
    X, y = penguins
    explainer = CART(n_leaves=3).fit(X, y)
    found = explainer.validate(X, y, cv=KFold(4, shuffle=True, random_state=3))
    predicted, agreements = np.empty(len(y), dtype=object), []
    for train, test in KFold(4, shuffle=True, random_state=3).split(X):
        fold = CART(n_leaves=3).fit(X.iloc[train], y.iloc[train])
        predicted[test] = fold.predict_reference(X.iloc[test])
        agreements.append(adjusted_rand_score(y.iloc[test], fold.predict(X.iloc[test])))
    held_out = found["held_out"]
    assert held_out["fidelity"] == pytest.approx(np.mean(predicted == y))
    assert held_out["balanced"] == pytest.approx(balanced_accuracy_score(y, predicted.astype(str)))
    assert held_out["agreement"] == pytest.approx(np.mean(agreements))
    assert found["in_sample"]["fidelity"] == pytest.approx(
        np.mean(explainer.predict_reference(X) == y)
    )
    assert found["in_sample"]["agreement"] == pytest.approx(explainer.agreement_)
    for each in found["clusters"]:
        own = y == each["cluster"]
        assert each["recall_held_out"] == pytest.approx(np.mean(predicted[own] == each["cluster"]))
        chosen = predicted == each["cluster"]
        assert each["precision_held_out"] == pytest.approx(np.mean(y[chosen] == each["cluster"]))
    assert not found["repeated_clustering"]
    assert explainer.verdict_.facts["held_out"]
    assert explainer.verdict_.facts["fidelity"] == held_out["fidelity"]
    assert explainer.summary()["validation"] == found
    json.dumps(found, allow_nan=False)
    explainer.fit(X, y)
    assert not hasattr(explainer, "validation_")


def test_validation_and_rounding_belong_to_one_tree(penguins):
    X, y = penguins
    explainer = CART(n_leaves=5, round_to=0.2).fit(X, y)
    explainer.validate(cv=3)
    assert explainer.rounding_
    edits = explainer.explanation_.prune(1), explainer.explanation_.rename("Gentoo", "large")
    for other in (explainer.truncated(2), *map(explainer.edited, edits)):
        assert "validation_" not in vars(other)
        assert not other.verdict_.facts["held_out"]
        assert other.verdict_.facts["fidelity"] == other.explanation_.rows_right / len(y)
    for n_leaves in range(1, 6):
        smaller = explainer.truncated(n_leaves)
        tests = {node["node"]: node["text"] for node in smaller.explanation_.nodes()}
        assert all(tests[each.node] == each.rounded for each in smaller.rounding_)
    assert explainer.truncated(5).rounding_ == explainer.rounding_
    assert not hasattr(explainer.edited(edits[0]), "rounding_")
    assert explainer.edited(explainer.explanation_).verdict_.facts["held_out"]


def test_folds_hold_their_share_of_every_cluster():
    codes = np.repeat([0, 1, 2, -1], [50, 7, 3, 5])
    folds = dealt(codes, 5, np.random.default_rng(0))
    assert np.array_equal(np.sort(np.concatenate(folds)), np.arange(65))
    for code, size in zip(*np.unique(codes, return_counts=True), strict=True):
        held = [np.count_nonzero(codes[rows] == code) for rows in folds]
        assert sum(held) == size
        assert max(held) - min(held) <= 1


def test_clusters_that_were_found_are_found_again():
    random = np.random.default_rng(0)
    steady = np.concatenate([random.normal(at, 0.3, (60, 2)) for at in (0, 5, 10)])
    found = CART(3, reference="kmeans", random_state=0).fit(steady).validate()
    assert found["repeated_clustering"]
    assert found["clustering_agreement"] == pytest.approx(1)
    assert found["held_out"]["fidelity"] > 0.98
    shaky = random.uniform(size=(180, 6))
    explainer = CART(5, reference="kmeans", random_state=0).fit(shaky)
    found = explainer.validate()
    assert found["clustering_agreement"] < 0.8
    assert any("clusters themselves are not stable" in each for each in found["sentences"])
    # The same clusters, given as labels, hold by themselves: only the rules are found anew.
    given = CART(5).fit(shaky, KMeans(5, random_state=0, n_init=10).fit_predict(shaky)).validate()
    assert given["clustering_agreement"] is None


def test_trees_without_clusters_are_compared_with_themselves(wine):
    explainer = SpexKNN(3).fit(wine[0])
    assert "no clusters to compare" in explainer.verdict_.sentences[0]
    found = explainer.validate(cv=3)
    assert found["repeated_clustering"]
    assert 0.8 < found["held_out"]["fidelity"] <= 1
    assert explainer.verdict_.facts["held_out"]


def test_weights_and_noise_are_validated():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 2))
    y = np.where(X[:, 0] > 0.7, "a", np.where(X[:, 0] < -0.7, "b", "-1"))
    weights = random.integers(0, 3, 120)
    with pytest.warns(UserWarning, match="-1"):
        explainer = CART(2).fit(X, y, sample_weight=weights)
    found = explainer.validate(cv=4)
    assert found["held_out"]["fidelity"] > 0.9
    assert found["rows"] == np.count_nonzero(y != "-1")


def test_what_cannot_be_validated_says_why(wine):
    X, y = wine
    explainer = CART().fit(X, y)
    model = from_json(explainer.to_json())
    for method in (model.validate, model.stability):
        with pytest.raises(ValueError, match=r"fits the method again.*ask the fitted estimator"):
            method()
    with pytest.raises(ValueError, match="needs the labels of rows other"):
        explainer.validate(X.iloc[:50])
    with pytest.raises(ValueError, match="y must hold the clusters that were explained"):
        explainer.validate(X, np.char.upper(y.astype(str)))
    with pytest.raises(ValueError, match="cv"):
        explainer.validate(cv=1)


def test_thresholds_may_move_exactly_so_far():
    X, y = load_iris(return_X_y=True)
    explainer = CART(n_leaves=4).fit(X, y)
    labels = explainer.labels_
    for test in explainer.stability(n=2)["tests"]:
        low, high = test["free"]
        for threshold, same in (
            (low, True),
            (np.nextafter(high, low), True),
            (np.nextafter(low, -9), False),
            (high, False),
        ):
            other = explainer.tree_.retested(
                {test["node"]: type(explainer.tree_.test(0))(test["feature"], upper=threshold)}
            )
            assert np.array_equal(other.apply(X), labels) == same


def test_stability_of_clear_and_of_random_clusters():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    clear = np.column_stack([y * 10 + random.normal(size=120), random.normal(size=120)])
    found = CART().fit(clear, y).stability(n=20)
    assert found["drawn"] == 20
    (test,) = found["tests"]
    assert test["same_column"] == 1
    low, high = test["interval"]
    assert 1 < low <= high < 9
    assert all(rule["together"] == 1 for rule in found["rules"])
    assert all(each["kept"] == 1 for each in found["segments"])
    noisy = CART(n_leaves=4).fit(random.normal(size=(120, 8)), random.integers(0, 2, 120))
    found = noisy.stability(n=20)
    assert min(each["same_column"] for each in found["tests"]) < 0.8
    assert any("Least steady is" in each for each in found["sentences"])
    json.dumps(found, allow_nan=False)


def test_stability_of_every_kind_of_column(penguins):
    found = CART(n_leaves=4).fit(*penguins).stability(n=5)
    texts = " ".join(each["text"] for each in found["tests"])
    assert "island" in texts
    assert "the same values" in texts
    dates = pd.DataFrame(
        {"day": pd.date_range("2024-01-01", periods=60)[np.argsort(np.arange(60) % 7)]}
    )
    days = CART(2).fit(dates, (dates["day"] < "2024-02-01").to_numpy()).stability(n=3)
    assert days["tests"][0]["free_text"].startswith("Any date after 2024-01-31, up to 2024-02-01")


def test_larger_tables_say_what_more_leaves_bring():
    """Leaves are parted further where fitting anew would take long; the figures are those of all rows."""
    digits = load_digits()
    explainer = CART(n_leaves=8).fit(digits.data, digits.target)
    fidelity = explainer.explanation_.step.fidelity
    found = explainer._larger_trees()
    assert [each.n_leaves for each in found] == [9, 10]
    assert fidelity < found[0].fidelity < found[1].fidelity < 1
    assert re.search(r"(one|two) more lea(f|ves): \d\d%", explainer.verdict_.sentences[-1])
    # Beside the method itself with more leaves.
    again = [CART(n_leaves=n).fit(digits.data, digits.target).explanation_.step for n in (9, 10)]
    assert found[1].fidelity >= again[1].fidelity - 0.03


@pytest.mark.parametrize("scale", [1, 3])
def test_leaves_that_are_parted_further_are_counted_on_all_rows(scale):
    X = np.arange(40.0)[:, None]
    codes = np.repeat([0, 1, 0, 2], 10)
    table = HostTable(X)
    leaves, stands = np.repeat([0, 1], 20), np.array([0, 0])
    weights = None if scale == 1 else np.where(codes == 2, 3.0, 1.0)
    found = grown_on(table, codes, leaves, stands, weights, None, 1)
    total = 40 if scale == 1 else 60
    one = 30 if scale == 1 else 50  # the heavier leaf is parted first
    assert found == [one / total, 1.0]
    # A leaf may be too small.
    assert max(grown_on(table, codes, leaves, stands, weights, None, 11)) < 1
    # Nothing is wrong, or nothing can be parted.
    assert grown_on(table, np.repeat([0, 1], 20), leaves, np.array([0, 1]), None, None, 1) == []
    same = grown_on(HostTable(np.zeros((40, 1))), codes, leaves, stands, None, None, 1)
    assert same in ([], [0.5, 0.5])
