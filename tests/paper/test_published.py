"""The published numbers are all there, and every one has a row that is computed."""

import pytest

from spexplain.paper import DATASETS, TABLES, published, rows_of
from spexplain.paper.published_numbers import PRINTED, lines

SIZES = {"small": 165, "large": 110, "neighbors": 54, "leaves": 64, "runtime": 70}


@pytest.mark.parametrize("table", PRINTED)
def test_complete(table):
    numbers = published(table)
    assert len(numbers) == len(lines(table)) == SIZES[table]
    places = {row.place(measure) for row in rows_of(table) for measure in TABLES[table].measures}
    # Only a reference clustering is not compared with itself.
    missing = {place for place in places - set(numbers) if place[2] != "reference"}
    assert set(numbers) <= places
    assert not missing
    assert {place[0] for place in numbers} <= set(DATASETS)


@pytest.mark.parametrize("table", ["small", "large", "neighbors", "leaves"])
def test_scores_are_scores(table):
    assert all(-1 <= value <= 1 for value in published(table).values())


def test_single_numbers():
    assert published("small")["Cancer", "spectral", "CART", "", "ari"] == 0.683
    assert published("leaves")["Cifar", "spectral", "CART", "", "ari"] == 0.135
    assert published("neighbors")["Iris", "spectral", "SpEx-kNN", "50", "ref"] == 0.756
    assert published("runtime")["Caltech101", "tree", "EMN", "", "seconds"] == 940
    assert published("price") == {}


def test_datasets_of_the_paper():
    # The paper's own table of datasets leaves out two that its results have.
    assert {line["dataset"] for line in lines("datasets")} == set(DATASETS) - {"R15", "Pathbased"}
