import json
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from sklearn.datasets import load_iris

from show.report.summaries import (
    DEGENERATE,
    EVERY,
    explained,
    fitted,
    intervals,
    iris,
    noise,
    twins,
    without_reference,
)
from spexplain import BestTree, SpexClique
from spexplain.explanation import Explanation
from spexplain.facts import summarize
from spexplain.show.report.charts import Scale, curve_chart, cuts_chart, path_chart
from spexplain.show.report.phrases import caveats, clipped, condition_of, rule_text, verdict
from spexplain.show.report.sections import ReportFacts, cards, confusion, tree_events
from spexplain.table.reference import Reference
from spexplain.tree import Region, Tree

PLAIN = ["iris", "without_reference", "one_leaf", "one_feature", "empty_leaf", "noise", "unicode"]


@pytest.mark.parametrize("name", PLAIN)
def test_rules_are_those_of_the_summary(name):
    summary = EVERY[name]()
    source = ReportFacts.of(summary)
    for leaf in summary["leaves"]:
        assert rule_text(source.rule(leaf["node"])) == leaf["rule"]


def test_rules_of_interval_tests():
    source = ReportFacts.of(intervals())
    assert rule_text(source.rule(0)) == "all rows"
    assert rule_text(source.rule(1)) == "1 < x0 ≤ 3"
    assert rule_text(source.rule(4)) == "x0 ≤ 1 or 3 < x0 ≤ 4.5 or x0 > 6"


def test_impossible_rules_are_said_to_be_so():
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=1.0)
    tree = tree.split(1, feature=0, threshold=2.0)
    source = ReportFacts.of(explained(tree, [[0.0], [3.0]], [0, 1]))
    assert rule_text(source.rule(4)) == "no value of x0"


def test_conditions():
    assert [piece[:3] for piece in condition_of(Region(((-inf, 2.0),)), "x")] == [("", "x", " ≤ 2")]
    assert [piece[:3] for piece in condition_of(Region(((2.0, inf),)), "x")] == [("", "x", " > 2")]


def test_events_are_balanced_and_complete():
    for name in EVERY:
        summary = EVERY[name]()
        kinds = [kind for kind, _ in tree_events(ReportFacts.of(summary))]
        assert kinds.count("open") == kinds.count("close") == summary["n_leaves"] - 1
        assert kinds.count("leaf") == summary["n_leaves"]


def test_names_are_distinct_and_short():
    source = ReportFacts.of(twins())
    assert list(source.names.values()) == [
        "x [column 0]",
        "x [column 1]",
        "[column 2]",
        "[column 3]",
    ]
    assert len(set(source.labels)) == 4
    assert (
        max(len(name) for name in ReportFacts.of(DEGENERATE["very_long_names"]()).names.values())
        < 80
    )
    assert clipped("abc", 3) == "abc"


def test_the_chart_of_a_changed_tree_marks_it_beside_the_path():
    """After a refinement the path belongs to another tree; what is said of smaller trees stays right."""
    random = np.random.default_rng(7)
    X = random.normal(size=(80, 2))
    labels = (X[:, 0] + X[:, 1] > 0) + 2 * (X[:, 0] > X[:, 1])
    explainer = SpexClique(n_leaves=4).fit(X, labels)
    tree = explainer.tree_
    moved = replace(tree, threshold=tree.threshold + 0.2, value=tree.value + 0.01)
    reference = Reference.from_labels(labels, n_samples=80)
    grown = explainer.explanation_
    final = Explanation.of(moved, X, reference, grown=grown, is_refined=True)
    summary = summarize(final, X, path=final.path)
    assert summary["path"][:-1] == summarize(grown)["trees"][:-1]
    assert summary["path"][-1] == summary["trees"][-1]
    trees = summary["trees"]
    assert trees[-1]["price"] == summary["price"]
    for each in trees:
        leaves = moved.truncate(each["n_leaves"]).leaves
        assert each["fidelity"] == pytest.approx(final.node_counts[leaves].max(axis=1).sum() / 80)
        cost, least = final.node_costs[leaves].min(axis=1), final.cluster_costs.min(axis=1)
        assert each["price"] == pytest.approx(cost.sum() / least.sum())
    chart = path_chart(ReportFacts.of(summary))
    assert not chart.is_own
    assert all(panel.this is not None for panel in chart.panels)
    chart = path_chart(ReportFacts.of(summarize(grown, path=grown.path)))
    assert chart.is_own
    assert all(panel.this is None for panel in chart.panels)


def test_verdicts():
    assert (
        verdict(noise(), ["a", "b"])
        == "3 leaves reproduce the 2 clusters for 100% of the clustered rows."
    )
    assert verdict(without_reference(), []) == (
        f"A tree splits 60 rows into 4 groups, each found by at most "
        f"{without_reference()['depth']} questions."
    )
    lost = verdict(DEGENERATE["one_leaf"](), ["a", "b"])
    assert lost.startswith("1 leaf reproduces the 2 clusters for 50.0%")
    assert lost.endswith("of the rows. Cluster without a leaf of its own: b.")


def test_caveats():
    assert caveats(noise()) == [
        "3 rows of noise belong to no cluster and do not count in the fidelity."
    ]
    assert caveats(DEGENERATE["one_leaf"]()) == []
    assert "1 leaf without training rows." in caveats(DEGENERATE["empty_leaf"]())


def test_confusion_adds_up():
    for name in ("iris", "noise", "thirty_leaves", "many_leaves"):
        table = confusion(ReportFacts.of(EVERY[name]()))
        assert sum(table.totals) == table.total
        assert len(table.heads) <= 26
        for row in table.rows:
            assert sum(cell.size for cell in row.cells) == row.size


def test_cards_hold_the_largest_leaves():
    assert len(cards(ReportFacts.of(DEGENERATE["many_leaves"]()))) == 60
    for card in cards(ReportFacts.of(iris())):
        for profile in card.profiles:
            assert 0 <= profile.low <= profile.first <= profile.third <= profile.high <= 100


def test_cuts_lie_inside_their_boxes():
    chart = cuts_chart(ReportFacts.of(iris()))
    root, *others = [each for each in chart.segments if each.node in (0, 2)]
    assert {root.y1, root.y2} == {12, 372} or {root.x1, root.x2} == {58, 546}
    for segment in others:
        assert 58 <= segment.x1 <= segment.x2 <= 546
    assert sum(each.path.count("M") for each in chart.dots) == 150
    json.dumps(chart)


def test_regions_cover_the_plane_once():
    chart = cuts_chart(ReportFacts.of(intervals()))
    area = sum(each.width * each.height for each in chart.regions)
    assert area == pytest.approx((546 - 58) * (372 - 12), rel=1e-3)
    many = fitted(SpexClique(n_leaves=5), *wide())
    used = {condition["feature"] for leaf in many["leaves"] for condition in leaf["conditions"]}
    assert len(used) > 2
    assert cuts_chart(ReportFacts.of(many)).regions == []


def wide():
    X = np.random.default_rng(0).normal(size=(80, 4))
    return X, (X > 0) @ np.array([1, 2, 4, 0])


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (-1.7e308, 1.7e308), (5e-324, 1e-323), (1e17, 1e17 + 64), (3, 3), (-7, 1e6)],
)
def test_scales(low, high):
    scale = Scale.around([low, high], 0, 100)
    assert 0 <= scale(low) <= scale(high) <= 100
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 14
    assert all(0 <= tick.at <= 100 for tick in ticks)


def test_logarithmic_scales():
    scale = Scale.steep([1.0, 1000.0], 0, 100)
    assert [tick.text for tick in scale.ticks()] == ["1", "10", "100", "1000"]
    assert Scale.steep([1.0, 2.0], 0, 100).is_log is False
    assert [tick.text for tick in Scale.steep([1.0, 9.0], 0, 1).ticks()] == ["1", "2", "5"]


@pytest.mark.parametrize("goal", ["fidelity", "agreement", "conductance"])
def test_curve_of_searched_sizes(goal, tmp_path):
    X, y = load_iris(return_X_y=True)
    best = BestTree(n_leaves="auto", goal=goal).fit(X, y)
    chart = curve_chart(ReportFacts.of(best.summary()))
    assert [row.n_leaves for row in chart.rows] == [step.n_leaves for step in best.curve_]
    assert [row.is_proved for row in chart.rows] == [step.optimal for step in best.curve_]
    assert len(chart.panels[0].lines[0].dots) == len(best.curve_)
    page = best.report(tmp_path / "report.html").read_text()
    assert 'id="curve"' in page
    one = BestTree(n_leaves=3, goal=goal).fit(X, y)
    assert curve_chart(ReportFacts.of(one.summary())) is None
    assert 'id="curve"' not in one.report(tmp_path / "one.html").read_text()
