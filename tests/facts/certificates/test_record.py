"""The record of a certificate: texts, dicts, and refusals."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np
import pytest

from oracles import certificates as oracle
from spexplain import SpexClique, SpexKNN, Tree, datasets
from spexplain.facts.certificates import (
    Certificate,
    certify,
)
from spexplain.graphs import CliqueGraph, PairGraph, ProductGraph, StarGraph, knn_graph

DOCS = Path(__file__).parents[3] / "docs" / "certificates.md"


def iris_certificate() -> Certificate:
    iris = datasets.load("iris")
    graph = CliqueGraph.from_labels(iris.target)
    tree = SpexClique().fit(iris.data, iris.target).tree_
    return certify(graph, iris.data, tree, feature_names=iris.feature_names)


def test_text_is_plain_and_narrow() -> None:
    X = np.random.default_rng(40).normal(size=(60, 2))
    explainer = SpexKNN(3, n_neighbors=5).fit(X)
    centers = np.array([[0.0, 0.0], [1.0, 1.0]])
    labels = np.repeat([0, 1], 30)
    for certificate in (
        iris_certificate(),
        certify(knn_graph(X, 5), X, explainer.tree_),
        certify(StarGraph(labels, centers), X, oracle.imm_tree(X, centers, labels)),
    ):
        text = certificate.to_text()
        assert max(map(len, text.splitlines())) <= 80
        assert "nan" not in text
    assert "petal length (cm)" in iris_certificate().to_text()


def test_dicts_survive_json() -> None:
    certificate = iris_certificate()
    data = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    assert data["gap"] == certificate.gap == certificate.objective
    assert data["best_psi"] == {"feature": 2, "threshold": 2.45, "value": 0.0}
    lonely = certify(
        CliqueGraph.from_labels([0, 1]), [[0.0], [1.0]], Tree.root(n_features=1, size=2)
    )
    data = json.loads(json.dumps(lonely.to_dict(), allow_nan=False))
    assert data["ratios"] == [None]
    assert data["psi_bound"] is None


def test_objective_is_the_estimators() -> None:
    iris = datasets.load("iris")
    explainer = SpexKNN(4, n_neighbors=10).fit(iris.data)
    certificate = certify(knn_graph(iris.data, 10), iris.data, explainer.tree_)
    assert certificate.objective == pytest.approx(explainer.objective_, rel=1e-12)


def test_only_the_named_features_count() -> None:
    iris = datasets.load("iris")
    graph, root = CliqueGraph.from_labels(iris.target), Tree.root(n_features=4, size=150)
    certificate = certify(graph, iris.data, root, features=[1, 0])
    assert certificate.smoothest_feature == 0
    assert {certificate.best_h.feature, certificate.best_psi.feature} <= {0, 1}
    assert len(certificate.ratios) == 4


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"X": [[0.0], [1.0]]}, ValueError, "the tree tests 2"),
        ({"X": [[0.0, np.nan]] * 3}, ValueError, "X contains NaN"),
        ({"X": [["a", "b"]] * 3}, ValueError, "X holds text"),
        ({"graph": np.zeros((4, 4))}, ValueError, "graph has 4 vertices"),
        ({"features": [2]}, ValueError, "features must hold column numbers, 0 to 1"),
        ({"feature_names": ["a"]}, ValueError, "feature_names has 1 entries"),
    ],
)
def test_certify_refuses_what_does_not_fit(
    change: dict, error: type[Exception], message: str
) -> None:
    given = {
        "graph": np.ones((3, 3)),
        "X": np.arange(6.0).reshape(3, 2),
        "tree": Tree.root(n_features=2, size=3),
    }
    with pytest.raises(error, match=message):
        certify(**(given | change))


def test_of_two_graphs_the_one_to_cut_little_of_is_certified() -> None:
    X = np.random.default_rng(41).normal(size=(30, 2))
    graph, tree = knn_graph(X, 4), oracle.random_tree(np.random.default_rng(42), X, 3)
    pair = PairGraph(graph, ProductGraph.from_masses(graph.degrees))
    assert certify(pair, X, tree) == certify(graph, X, tree)


def test_graphs_without_edges_are_refused() -> None:
    class Costs:
        n_samples, extra, unit = 2, None, 1.0
        degrees = sizes = np.zeros(2, dtype=np.int64)

    with pytest.raises(TypeError, match="graph is a Costs, which lists no edges"):
        certify(Costs(), [[0.0], [1.0]], Tree.root(n_features=1, size=2))


def test_the_documentation_runs() -> None:
    outcome = doctest.testfile(
        str(DOCS), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert outcome.attempted > 5
    assert outcome.failed == 0
