"""The published numbers come out, to the third decimal.

ARI and AMI against the classes, REF = ARI against the reference clustering, as in the tables of
Argov and Wagner, *SpEx: A Spectral Approach to Explainable Clustering*, NeurIPS 2025.
"""

import os

import pytest
import sklearn

from spexplain import CART, datasets
from spexplain.metrics import agreement
from spexplain.paper import DATASETS, Store, published, rows_of, run
from spexplain.paper.compute import LoadedDataset, cluster, compute
from spexplain.paper.layout import UNKNOWN, Notes

pytest.importorskip("pyamg", reason="the spectral references need the extra spectral")

IN_FILES = {"R15", "Pathbased", "Ecoli", "Beans", "Newsgroups"}
CASES = [
    ("small", "R15"),
    ("small", "Pathbased"),
    ("small", "Ecoli"),
    ("small", "Iris"),
    ("small", "Cancer"),
    ("large", "Beans"),
    ("neighbors", "Ecoli"),
    ("neighbors", "Iris"),
    ("neighbors", "Cancer"),
    ("leaves", "Ecoli"),
    ("leaves", "Iris"),
    ("leaves", "Cancer"),
    ("leaves", "Beans"),
]
# What does not come out; `spexplain.paper.layout` says why.
DIFFERENT = {
    ("small", "Cancer"): {("Kernel IMM", "ari"), ("Kernel IMM", "ami"), ("Kernel IMM", "ref")},
    ("large", "Beans"): {("SpEx-Clique", "ami")},
    ("leaves", "Ecoli"): {("CART", "ari"), ("CART", "ami")},
    ("leaves", "Iris"): {("ExKMC", "ari"), ("ExKMC", "ami")},
}


def marks(dataset):
    found = []
    if dataset in IN_FILES:
        has_data = bool(os.environ.get("SPEXPLAIN_DATA"))
        reason = "SPEXPLAIN_DATA names no folder with the data files"
        found.append(pytest.mark.skipif(not has_data, reason=reason))
    if dataset in ("Beans", "Newsgroups"):
        found.append(pytest.mark.slow)
    return found


@pytest.mark.parametrize(
    ("table", "dataset"), [pytest.param(*case, marks=marks(case[1])) for case in CASES]
)
def test_published_numbers(table, dataset, tmp_path):
    results = run([table], [dataset], Store(tmp_path), n_jobs=1)
    values = [value for row in results.rows for value in results.values(row)]
    compared = [value for value in values if value.is_equal is not None]
    assert len(compared) == sum(value.published is not None for value in values) > 0
    different = [value for value in compared if not value.is_equal]
    found = {(value.row.method, value.measure) for value in different}
    assert found == DIFFERENT.get((table, dataset), set())
    assert UNKNOWN not in {Notes().reason(value) for value in different}


@pytest.mark.parametrize("dataset", [pytest.param("Newsgroups", marks=marks("Newsgroups"))])
def test_newsgroups_rows_are_filled(dataset, tmp_path):
    # The embedding is the paper's up to its last digits: close, not equal.
    results = run(["large"], [dataset], Store(tmp_path), n_jobs=1)
    values = [value for row in results.rows for value in results.values(row)]
    methods = {value.row.method for value in values if value.ours is not None}
    assert methods == {"reference", "SpEx-Clique", "SpEx-kNN", "CART", "EMN"}
    compared = [value for value in values if value.difference is not None]
    assert len(compared) == 22
    # The k-means of scikit-learn 1.6 ends in another optimum, whose explanations are others, too.
    elsewhere = {
        value.row.group
        for value in compared
        if value.row.method == "reference" and abs(value.difference) > 0.005
    }
    assert not elsewhere or (sklearn.__version__ < "1.9" and elsewhere == {"k-means"})
    assert max(abs(each.difference) for each in compared if each.row.group not in elsewhere) < 0.025
    assert results.foreign == []


@pytest.mark.parametrize("dataset", [pytest.param("Newsgroups", marks=marks("Newsgroups"))])
def test_newsgroups_with_more_leaves(dataset):
    task = next(row.task for row in rows_of("leaves", [dataset]) if row.method == "ExKMC")
    stored = datasets.load("newsgroups").kmeans
    record = compute(task, LoadedDataset.load(DATASETS[dataset], n_jobs=1), {"labels": stored})
    expected = published("leaves")[dataset, "k-means", "ExKMC", "", "ari"]
    assert record["leaves"] == 40
    assert record["ari"] == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(
    "dataset", [pytest.param(name, marks=marks(name)) for name in ("R15", "Pathbased", "Ecoli")]
)
def test_leaf_weighting_of_cart_is_not_decided_by_the_published_numbers(dataset):
    settings = DATASETS[dataset]
    bench = LoadedDataset.load(settings, n_jobs=1)
    reference, _ = cluster(settings.kmeans, bench)
    labels = CART(leaf_weight="size").fit(bench.X, reference).labels_
    with_classes = agreement(labels, bench.y)
    found = with_classes.ari, with_classes.ami, agreement(labels, reference).ari
    numbers = published("small")
    expected = [numbers[dataset, "k-means", "CART", "", name] for name in ("ari", "ami", "ref")]
    assert [round(score, 3) for score in found] == expected
