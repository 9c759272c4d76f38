import json
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from show.report.summaries import (
    DEGENERATE,
    EVERY,
    explained,
    fitted,
    intervals,
    iris,
    iris_fit,
    noise,
    twins,
    without_reference,
)
from spexplain import SpexClique
from spexplain.explanation import Explanation
from spexplain.facts import summarize
from spexplain.show.report.cards import cards
from spexplain.show.report.cuts_chart import cuts_chart
from spexplain.show.report.outline import smaller_trees, tree_events
from spexplain.show.report.path_chart import path_chart
from spexplain.show.report.phrases import caveats, clipped, condition_of, rule_text, verdict
from spexplain.show.report.scales import Scale
from spexplain.show.report.source import Source
from spexplain.show.report.tables import confusion
from spexplain.table.reference import Reference
from spexplain.tree import Tree

PLAIN = ["iris", "without_reference", "one_leaf", "one_feature", "empty_leaf", "noise", "unicode"]


@pytest.mark.parametrize("name", PLAIN)
def test_rules_are_those_of_the_summary(name):
    summary = EVERY[name]()
    source = Source.of(summary)
    for leaf in summary["leaves"]:
        assert rule_text(source.rule(leaf["node"])) == leaf["rule"]


def test_rules_of_interval_tests():
    source = Source.of(intervals())
    assert rule_text(source.rule(0)) == "all rows"
    assert rule_text(source.rule(1)) == "1 < x0 ≤ 3"
    assert rule_text(source.rule(4)) == "x0 ≤ 1 or 3 < x0 ≤ 4.5 or x0 > 6"


def test_impossible_rules_are_said_to_be_so():
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=1.0)
    tree = tree.split(1, feature=0, threshold=2.0)
    source = Source.of(explained(tree, [[0.0], [3.0]], [0, 1]))
    assert rule_text(source.rule(4)) == "no value of x0"


def test_conditions():
    assert condition_of([(-inf, 2.0)], "x") == [("", "x", " ≤ 2")]
    assert condition_of([(2.0, inf)], "x") == [("", "x", " > 2")]


def test_events_are_balanced_and_complete():
    for name in EVERY:
        summary = EVERY[name]()
        kinds = [kind for kind, _ in tree_events(Source.of(summary))]
        assert kinds.count("open") == kinds.count("close") == summary["n_leaves"] - 1
        assert kinds.count("leaf") == summary["n_leaves"]


def test_names_are_distinct_and_short():
    source = Source.of(twins())
    assert list(source.names.values()) == [
        "x [column 0]",
        "x [column 1]",
        "[column 2]",
        "[column 3]",
    ]
    assert len(set(source.labels)) == 4
    assert max(len(name) for name in Source.of(DEGENERATE["very_long_names"]()).names.values()) < 80
    assert clipped("abc", 3) == "abc"


def test_smaller_trees_are_those_of_the_path():
    summary = iris()
    trees = smaller_trees(summary)
    assert [tree["n_leaves"] for tree in trees] == [1, 2, 3, 4]
    for tree, step in zip(trees, summary["path"], strict=True):
        assert tree == pytest.approx(step)
        smaller = iris_fit()[0].truncated(tree["n_leaves"])
        assert tree["depth"] == smaller.tree_.depth


def test_smaller_trees_of_a_changed_tree_do_not_borrow_a_price():
    """After a refinement the path belongs to another tree; what the nodes say stays right."""
    random = np.random.default_rng(7)
    X = random.normal(size=(80, 2))
    labels = (X[:, 0] + X[:, 1] > 0) + 2 * (X[:, 0] > X[:, 1])
    explainer = SpexClique(n_leaves=4).fit(X, labels)
    tree = explainer.tree_
    moved = replace(tree, threshold=tree.threshold + 0.2, value=tree.value + 0.01)
    final = Explanation.of(moved, X, Reference.from_labels(labels, n_samples=80))
    summary = summarize(final, X, path=explainer.path_)
    trees = smaller_trees(summary)
    assert trees[-1]["price"] == summary["price"]
    for tree in trees:
        counts = final.truncate(tree["n_leaves"]).leaf_counts
        assert tree["fidelity"] == pytest.approx(counts.max(axis=1).sum() / 80)
        assert (tree["price"] is None) == (tree["n_leaves"] < 4)
    chart = path_chart(Source.of(summary), trees)
    assert not chart.is_own
    assert all(panel.this is not None for panel in chart.panels)


def test_verdicts():
    assert verdict(noise()) == "3 leaves reproduce the 2 clusters for 100% of the clustered rows."
    assert verdict(without_reference()) == (
        f"A tree parts 60 rows into 4 groups, each found by at most "
        f"{without_reference()['depth']} questions."
    )
    assert verdict(DEGENERATE["one_leaf"]()).startswith(
        "1 leaf reproduces the 2 clusters for 50.0%"
    )


def test_caveats():
    assert caveats(noise(), ["a", "b"]) == [
        "3 rows of noise belong to no cluster and do not count in the fidelity."
    ]
    assert caveats(DEGENERATE["one_leaf"](), ["a", "b"]) == [
        "Cluster without a leaf of its own: b."
    ]
    assert "1 leaf without training rows." in caveats(DEGENERATE["empty_leaf"](), ["a", "b"])


def test_confusion_adds_up():
    for name in ("iris", "noise", "thirty_leaves", "many_leaves"):
        table = confusion(Source.of(EVERY[name]()))
        assert sum(table.totals) == table.n_rows
        assert len(table.heads) <= 26
        for row in table.rows:
            assert sum(cell.size for cell in row.cells) == row.size


def test_cards_hold_the_largest_leaves():
    assert len(cards(Source.of(DEGENERATE["many_leaves"]()))) == 60
    for card in cards(Source.of(iris())):
        for profile in card.profiles:
            assert 0 <= profile.low <= profile.first <= profile.third <= profile.high <= 100


def test_cuts_lie_inside_their_boxes():
    chart = cuts_chart(Source.of(iris()))
    root, *others = [each for each in chart.segments if each.node in (0, 2)]
    assert {root.y1, root.y2} == {12, 372} or {root.x1, root.x2} == {58, 546}
    for segment in others:
        assert 58 <= segment.x1 <= segment.x2 <= 546
    assert sum(each.path.count("M") for each in chart.dots) == 150
    json.dumps(chart)


def test_regions_cover_the_plane_once():
    chart = cuts_chart(Source.of(intervals()))
    area = sum(each.width * each.height for each in chart.regions)
    assert area == pytest.approx((546 - 58) * (372 - 12), rel=1e-3)
    many = fitted(SpexClique(n_leaves=5), *wide())
    used = {condition["feature"] for leaf in many["leaves"] for condition in leaf["conditions"]}
    assert len(used) > 2
    assert cuts_chart(Source.of(many)).regions == []


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
