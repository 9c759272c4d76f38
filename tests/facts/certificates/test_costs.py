"""What IMM costs at most."""

from __future__ import annotations

import numpy as np
import pytest

from facts.certificates.instances import SLACK, n_instances
from oracles import certificates as oracle
from spexplain import Tree
from spexplain.facts.certificates import (
    certify,
    imm_bound,
)
from spexplain.graphs import StarGraph


def random_clustering(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = oracle.random_table(rng, int(rng.integers(4, 14)), int(rng.integers(1, 4)))
    centers = X[rng.choice(len(X), size=int(rng.integers(1, 5)), replace=False)]
    if rng.random() < 0.3:
        centers = np.concatenate([centers, centers[:1]])  # two centres coincide
    return X, centers, rng.integers(-1, len(centers), len(X))


def test_imm_costs_at_most_what_its_mistakes_and_its_height_allow() -> None:
    for rng in n_instances(400, 30):
        X, centers, labels = random_clustering(rng)
        tree = oracle.imm_tree(X, centers, labels)
        bound = imm_bound(X, tree, centers, labels)
        kept = labels >= 0
        assert bound.reference_cost == pytest.approx(np.abs(X - centers[labels])[kept].sum())
        center_leaf = tree.apply(centers).tolist()
        serving = [center_leaf.index(leaf) for leaf in tree.apply(X[kept])]
        assert bound.tree_cost == pytest.approx(np.abs(X[kept] - centers[serving]).sum())
        extra = oracle.mistake_sum(X, tree, centers, labels)
        assert bound.mistake_bound == pytest.approx(bound.reference_cost + extra)
        assert bound.tree_cost <= bound.mistake_bound * (1 + SLACK)
        assert bound.height_bound_applies
        assert bound.tree_cost <= bound.height_bound * (1 + SLACK)


def test_any_tree_that_parts_the_centres_keeps_the_mistake_bound() -> None:
    n_checked, n_without_promise = 0, 0
    for rng in n_instances(1000, 31):
        X, centers, labels = random_clustering(rng)
        tree = oracle.random_tree(rng, centers, len(centers))
        if not oracle.has_lone_centers(X[labels >= 0], tree, centers):
            with pytest.raises(ValueError, match="one centre in every leaf"):
                imm_bound(X, tree, centers, labels)
            continue
        bound = imm_bound(X, tree, centers, labels)
        n_checked += 1
        n_without_promise += not bound.height_bound_applies
        assert bound.tree_cost <= bound.mistake_bound * (1 + SLACK)
        if bound.height_bound_applies:
            assert bound.tree_cost <= bound.height_bound * (1 + SLACK)
    assert n_checked > 300
    assert n_without_promise > 10


def test_interval_tests_send_centres_like_rows() -> None:
    X, centers = np.array([[0.0], [2.0], [5.0]]), np.array([[2.0], [5.0]])
    tree = Tree.root(n_features=1, size=3).split(0, feature=0, threshold=3.0, lower=1.0)
    bound = imm_bound(X, tree, centers, np.array([0, 0, 1]))
    assert bound.mistakes == (1, 0, 0)
    assert (bound.reference_cost, bound.tree_cost, bound.mistake_bound) == (2.0, 5.0, 5.0)


def test_a_reference_without_cost_has_price_one_or_infinity() -> None:
    X = np.array([[0.0], [0.0], [4.0]])
    tree = Tree.root(n_features=1, size=3).split(0, feature=0, threshold=1.0)
    bound = imm_bound(X, tree, np.array([[0.0], [4.0]]), np.array([0, 0, 1]))
    assert bound.price == 1.0
    assert "price is 1" in bound.to_text()


def test_star_graphs_carry_the_cost_bound() -> None:
    rng = np.random.default_rng(32)
    X, labels = rng.normal(size=(30, 2)), rng.integers(-1, 3, 30)
    centers = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]])
    tree = oracle.imm_tree(X, centers, labels)
    graph = StarGraph(labels, centers)
    assert certify(graph, X, tree).cost == imm_bound(X, tree, centers, labels)
    assert certify(graph, X, tree.truncate(2)).cost is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"centers": [[1.0], [2.0]]}, "centers must be finite and have the 2 columns"),
        ({"labels": [0, 1]}, "labels must hold the number of its centre"),
        ({"labels": [0, 1, 2, 0]}, "labels must lie between 0 and 1"),
        ({"tree": Tree.root(n_features=3, size=4)}, "the tree tests 3"),
        ({"tree": Tree.root(n_features=2, size=4)}, "leaf 0 has none or several"),
    ],
)
def test_imm_bound_refuses_what_does_not_fit(change: dict, message: str) -> None:
    given = {
        "X": np.arange(8.0).reshape(4, 2),
        "tree": Tree.root(n_features=2, size=4).split(0, feature=0, threshold=3.0),
        "centers": [[0.0, 1.0], [6.0, 7.0]],
        "labels": [0, 0, 1, 1],
    }
    with pytest.raises(ValueError, match=message):
        imm_bound(**(given | change))
