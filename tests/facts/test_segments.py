"""One record per cluster: figures by hand, the same from every kind of model, plain readings."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from palmerpenguins import load_penguins
from sklearn.datasets import load_wine

from facts.cases import CUSTOMERS, customers_table, customers_tree, explained, explained_tables
from spexplain import CART, BestTree, SpexClique, SpexKNN, from_json
from spexplain.facts.segments import Clusters, contrast_in_tree, segment_facts, segments_text
from spexplain.tree.joins import joined


@pytest.fixture(scope="module")
def penguins():
    table = load_penguins()
    species = table.pop("species")
    return table, species


@pytest.fixture(scope="module")
def explainer(penguins):
    return BestTree().fit(*penguins)


def test_figures_are_those_of_the_predicted_labels(explainer, penguins):
    table, species = penguins
    predicted = explainer.predict_reference(table)
    for record in explainer.segments(output="records"):
        own, selected = species == record["cluster"], predicted == record["cluster"]
        both = int((own & selected).sum())
        assert record["rows"] == own.sum()
        assert record["share"] == pytest.approx(own.mean())
        assert record["selected"] == selected.sum()
        assert record["precision"] == pytest.approx(both / selected.sum())
        assert record["recall"] == pytest.approx(both / own.sum())
        f1 = 2 * both / (own.sum() + selected.sum())
        assert record["f1"] == pytest.approx(f1)
        assert record["lift"] == pytest.approx(record["precision"] / own.mean())
        assert record["missed"] == own.sum() - both
        assert record["wrong"] == selected.sum() - both
        assert (
            record["leaves"]
            == np.flatnonzero(explainer.leaf_reference_ == record["cluster"]).tolist()
        )
        flows = {each["cluster"]: each["rows"] for each in record["missed_to"]}
        assert flows == predicted_counts(predicted[own & ~selected])
        found = {each["cluster"]: each["rows"] for each in record["wrong_from"]}
        assert found == predicted_counts(species[selected & ~own])


def predicted_counts(labels):
    return {key: int(count) for key, count in pd.Series(labels).value_counts().items()}


def test_the_table_has_the_promised_columns(explainer):
    frame = explainer.segments()
    promised = ["cluster", "rule", "rows", "share", "precision", "recall", "f1", "lift", "leaves"]
    assert list(frame.columns)[:9] == promised
    assert frame["rows"].sum() == 344
    assert list(explainer.segments(output="polars").columns) == list(frame.columns)


def test_readings_are_those_of_the_table(explainer, penguins):
    table, species = penguins
    told = {each["name"]: each for each in explainer.segment("Gentoo")["telling"]}
    flipper, own = table["flipper_length_mm"], species == "Gentoo"
    assert told["flipper_length_mm"]["inside"] == pytest.approx(flipper[own].mean())
    assert told["flipper_length_mm"]["overall"] == pytest.approx(flipper.mean())
    gap = (flipper[own].mean() - flipper[~own].mean()) / flipper.std(ddof=0)
    assert told["flipper_length_mm"]["difference"] == pytest.approx(gap)
    assert told["flipper_length_mm"]["text"] == "flipper_length_mm 217 on average, 201 overall"
    assert told["island"]["text"] == "100% of them have island = Biscoe, 49% overall"
    share = (table["island"] == "Biscoe").mean()
    assert told["island"]["overall"] == pytest.approx(share)


def test_typical_rows_are_rows_of_the_cluster_that_the_rule_selects(explainer, penguins):
    table, species = penguins
    for record in explainer.segments(output="records"):
        assert len(record["typical"]) == 3
        for typical in record["typical"]:
            assert species[typical["row"]] == record["cluster"]
            assert explainer.labels_[typical["row"]] in record["leaves"]
            for value in typical["values"]:
                given = table[value["name"]][typical["row"]]
                shown = given if isinstance(given, str) else float(value["text"])
                assert shown == given


def test_models_that_were_read_say_the_same(explainer, penguins):
    model = from_json(explainer.to_json())
    known, read = explainer.segments(output="records"), model.segments(output="records")
    for one, other in zip(known, read, strict=True):
        same = set(one) - {"typical", "note"}
        assert {key: one[key] for key in same} == {key: other[key] for key in same}
        assert other["typical"] == []
        assert "Typical rows need the training rows" in other["note"]
    nothing = from_json(explainer.to_json(profile="none"))
    assert all(each["telling"] == [] for each in nothing.segments(output="records"))
    again = from_json(model.renamed({"Adelie": "A1"}).to_json())
    assert again.segment("A1")["telling"] == explainer.segment("Adelie")["telling"]
    assert model.segments(*[None, "records"], X=penguins[0], y=penguins[1]) == known
    assert model.segment("Gentoo")["rule"] == explainer.segment("Gentoo")["rule"]
    assert model.contrast("Adelie", "Gentoo")["source"] == "tree"
    json.dumps(known, allow_nan=False)


@pytest.mark.parametrize("weight", [None, 0.01, 1000.0])
def test_values_that_few_rows_have_are_not_remembered(weight):
    """A value of a column that no test reads could name somebody."""
    table = pd.DataFrame(
        {"age": [*range(20), *range(60, 80)], "friend": ["Ann"] * 3 + ["none"] * 36 + ["Bob"]}
    )
    table["town"] = ["Ems"] * 8 + ["Bonn"] * 32  # enough rows of both
    weights = None if weight is None else np.full(40, weight)
    labels = ["young"] * 20 + ["old"] * 20
    explainer = CART(features=["age"]).fit(table, labels, sample_weight=weights)
    told = [each["text"] for each in explainer.segment("young")["telling"]]
    assert any("Ann" in text for text in told)
    text = explainer.to_json()
    assert "Ann" not in text
    known = [each["name"] for each in from_json(text).segment("young")["telling"]]
    assert known == ["age", "town"]


@pytest.mark.parametrize(
    "told",
    [
        3,
        [[3]],
        [[[0, 0, 1.0, 1.0, 1.0, 0.0, None]]],
        [[[9, 0, 1.0, 1.0, 1.0, 0.0, None, None]]],
        [[[0, 3, 1.0, 1.0, 1.0, 0.0, None, None]]],
        [[[0, 0, "x", 1.0, 1.0, 0.0, None, None]]],
        [[[0, 0, 1.0, 1.0, 1.0, 0.0, 1, None]]],
        [[[0, 1, 1.0, 1.0, 1.0, 0.0, 1, ["x"]]]],
    ],
)
def test_telling_columns_that_nobody_wrote_are_refused(explainer, told):
    document = json.loads(explainer.to_json()) | {"told": told}
    with pytest.raises(ValueError, match="told must hold"):
        from_json(json.dumps(document))


def test_other_labels_are_refused(explainer, penguins):
    model = from_json(explainer.to_json())
    with pytest.raises(ValueError, match="y must hold the labels of the training rows"):
        model.segments(X=penguins[0], y=penguins[1].str.lower())
    with pytest.raises(ValueError, match=r"cluster='Gento' is not a cluster.*did you mean Gentoo"):
        explainer.segment("Gento")
    with pytest.raises(ValueError, match="a and b must be two clusters"):
        explainer.contrast("Adelie", "Adelie")


def test_contrasts_say_how_well_they_do(explainer, penguins):
    table, species = penguins
    found = explainer.contrast("Adelie", "Gentoo")
    assert found["source"] == "rows"
    assert found["n_conditions"] <= 3
    # The rule, executed by hand.
    flipper, island = table["flipper_length_mm"], table["island"]
    assert found["rule"] == "flipper_length_mm ≤ 200 or island ≠ Biscoe"
    selected = (flipper <= 200) | (island != "Biscoe")
    assert found["recall_a"] == pytest.approx(selected[species == "Adelie"].mean())
    assert found["recall_b"] == pytest.approx((~selected)[species == "Gentoo"].mean())
    assert found["balanced"] == pytest.approx((found["recall_a"] + found["recall_b"]) / 2)


def test_contrasts_find_what_the_tree_does_not_test():
    wine = load_wine(as_frame=True)
    explainer = CART(n_leaves=2).fit(wine.data, wine.target_names[wine.target])
    found = explainer.contrast("class_0", "class_1")
    assert found["balanced"] > 0.95
    assert found["balanced"] >= contrast_of(explainer, 0, 1)["balanced"]


def contrast_of(explainer, a, b):
    explanation = explainer.explanation_
    return contrast_in_tree(Clusters.of(explanation), a, b, explanation.fields)


def test_contrasts_of_the_tree_are_what_its_tests_do():
    """Tests of the tree part the rows at least as well as they say: rows that do not get there count as wrong."""
    wine = load_wine()
    explainer = CART(n_leaves=8).fit(wine.data, wine.target)
    columns = explainer.explanation_.fields
    for a in range(3):
        for b in range(3):
            if a == b:
                continue
            found = contrast_of(explainer, a, b)
            selected = np.zeros(len(wine.data), dtype=bool)
            for part in found["alternatives"]:
                inside = np.ones(len(wine.data), dtype=bool)
                for each in part:
                    x = wine.data[:, each["feature"]]
                    ((low, high),) = each["intervals"]
                    inside &= (x > (-np.inf if low is None else low)) & (
                        x <= (np.inf if high is None else high)
                    )
                selected |= inside
            right = (selected[wine.target == a].mean() + (~selected)[wine.target == b].mean()) / 2
            assert right >= found["balanced"] - 1e-12
            assert found["n_conditions"] <= 3
            assert columns


def test_sentences_name_a_few_values_of_a_list_and_rules_all():
    at = np.arange(400)
    model = [f"model {each % 40}" for each in at]
    explainer = CART().fit(pd.DataFrame({"model": model}), np.where(at % 40 < 15, "old", "new"))
    old = sorted(f"model {each}" for each in range(15))
    listed, short = ", ".join(old), f"{', '.join(old[:6])}, … 9 more"
    contrast = explainer.contrast("old", "new")
    assert contrast["rule"] == f"model in {{{listed}}}"
    assert contrast["rule_b"] == f"model not in {{{listed}}}"
    assert contrast["text"] == (
        f"old: model in {{{short}}} (100% of them); new: model not in {{{short}}} (100% of them)."
    )
    facts = explainer.segment("old")
    assert facts["rule"] == contrast["rule"]
    assert facts["sentences"][0] == f"old: 150 rows (38%), model in {{{short}}}."
    assert facts["sentences"][-1] == f"Nearest: new. {contrast['text']}"
    assert short in explainer.stability(n=2)["tests"][0]["text"]


def test_lost_clusters_have_no_rule():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [3.0]])
    explainer = CART(n_leaves=2).fit(X, list("aabbc"))
    a, b, c = explainer.segments(output="records")
    assert (c["rule"], c["leaves"], c["recall"], c["f1"]) == ("no rule", [], 0.0, 0.0)
    assert (c["precision"], c["lift"]) == (None, None)
    assert c["missed_to"] == [{"cluster": "b", "code": 1, "name": "b", "rows": 1, "share": 1.0}]
    assert c["sentences"][0] == "c: 1 row (20%); no leaf stands for it."
    assert (a["recall"], b["wrong"]) == (1, 1)


def test_leaves_are_segments_where_there_are_no_clusters():
    X = np.concatenate([np.zeros((20, 1)), np.ones((20, 1))]) + np.linspace(0, 0.1, 40)[:, None]
    explainer = SpexKNN(2, n_neighbors=3).fit(X)
    records = explainer.segments(output="records")
    assert [each["name"] for each in records] == ["leaf 0", "leaf 1"]
    assert [each["recall"] for each in records] == [1.0, 1.0]
    assert records[0]["telling"]


def test_columns_that_number_the_rows_are_not_telling(penguins):
    table, species = penguins
    with pytest.warns(UserWarning, match="'penguin' is left out"):
        explainer = BestTree().fit(table.assign(penguin=np.arange(len(table))), species)
    for features in (None, ["island", "bill_length_mm"]):
        if features is not None:
            explainer = BestTree(features=features).fit(
                table.assign(penguin=np.arange(len(table))), species
            )
        names = [
            each["name"] for own in explainer.segments(output="records") for each in own["telling"]
        ]
        assert "penguin" not in names
        assert "flipper_length_mm" in names


def test_weights_count_as_rows():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0], [2.5]]), np.array(list("aabba"))
    weights = np.array([1, 2, 3, 1, 2])
    weighted = SpexClique().fit(X, y, sample_weight=weights)
    repeated = SpexClique().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    for one, other in zip(
        weighted.segments(output="records"), repeated.segments(output="records"), strict=True
    ):
        for key in ("rows", "share", "precision", "recall", "f1", "lift", "rule", "missed_to"):
            assert one[key] == other[key]
        assert [each["text"] for each in one["telling"]] == [
            each["text"] for each in other["telling"]
        ]


def test_every_kind_of_column_has_a_reading():
    X, labels = customers_table()
    record = explained(customers_tree(), X, labels)
    segments = segment_facts(record, X, names=CUSTOMERS)
    told = {each["name"]: each["text"] for own in segments for each in own["telling"]}
    assert any("× the average" in text for text in told.values())
    assert any("missing in" in text for text in told.values()) or "age" not in told
    text = segments_text(segments)
    assert "of them have channel = " in text


@given(explained_tables())
def test_records_of_odd_tables(case):
    X, record = case
    segments = segment_facts(record, X)
    json.dumps(segments, allow_nan=False)
    counted = sum(each["selected"] for each in segments)
    assert counted <= len(X)
    for each in segments:
        boxes = joined(record.tree, each["leaves"], [f"x{at}" for at in range(X.shape[1])])
        rows = [
            all(region.holds(float(row[feature])) for feature, region in box.items())
            for row in X
            for box in [*boxes]
        ]
        inside = np.array(rows, dtype=bool).reshape(len(X), len(boxes)).any(axis=1)
        assert int(inside.sum()) == each["selected"]


def test_rules_have_the_recall_of_their_leaves(explainer, penguins):
    counts = pd.crosstab(explainer.labels_, penguins[1])
    for rule in explainer.rules(output="records"):
        own = counts.loc[rule["leaf"], rule["reference"]]
        assert rule["recall"] == pytest.approx(own / counts[rule["reference"]].sum())


def test_zeros_and_ones_are_read_as_shares():
    random = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 40)
    member = (random.random(80) < np.where(y == "a", 0.9, 0.2)).astype(float)
    X = np.column_stack(
        [(y == "a") + random.normal(0, 0.1, 80), member, member / 2, np.arange(80) % 5 / 4]
    )
    explainer = CART(feature_names=["score", "member", "half", "rank"]).fit(X, y)
    told = {each["name"]: each["text"] for each in explainer.segment("a")["telling"]}
    share, overall = member[:40].mean(), member.mean()
    assert told["member"] == f"{share:.0%} of them have member = 1, {overall:.0%} overall"
    assert "average" in told["half"]
