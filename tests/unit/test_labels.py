"""A clustering as an estimator sees it."""

import numpy as np
import pandas as pd
import pytest

from spexplain.table.reference import Reference


def commonest(reference: Reference, leaf_ids: list[int]) -> list:
    counts = reference.counts(np.array(leaf_ids), max(leaf_ids) + 1)
    return reference.majority(counts).tolist()


def test_codes_follow_the_sorted_labels():
    reference = Reference.from_labels(["b", "a", "b", "c"], n_samples=4)
    assert reference.codes.tolist() == [1, 0, 1, 2]
    assert reference.classes.tolist() == ["a", "b", "c"]
    assert reference.n_clusters == 3
    assert reference.labels.tolist() == ["b", "a", "b", "c"]


@pytest.mark.parametrize("dtype", [np.int8, np.int64])
def test_minus_one_is_noise(dtype):
    labels = np.array([5, -1, 7, 5], dtype=dtype)
    ignored = Reference.from_labels(labels, n_samples=4)
    assert ignored.codes.tolist() == [0, -1, 1, 0]
    assert ignored.classes.tolist() == [5, 7]
    kept = Reference.from_labels(labels, n_samples=4, noise="cluster")
    assert kept.codes.tolist() == [1, 0, 2, 1]
    assert kept.classes.tolist() == [-1, 5, 7]


@pytest.mark.parametrize("labels", [[-2, 0, 1], [-1.0, 0.0, 1.0], ["-1", "0", "1"]])
def test_other_labels_are_clusters(labels):
    assert Reference.from_labels(labels, n_samples=3).codes.tolist() == [0, 1, 2]


def test_all_noise():
    reference = Reference.from_labels([-1, -1], n_samples=2)
    assert reference.n_clusters == 0
    assert commonest(reference, [0, 1]) == [-1, -1]


@pytest.mark.parametrize(
    "y", [np.array([[1], [2]]), pd.DataFrame({"cluster": [1, 2]})], ids=["array", "frame"]
)
def test_one_column_is_as_good_as_a_list(y):
    assert Reference.from_labels(y, n_samples=2).codes.tolist() == [0, 1]


def test_majority_takes_the_lowest_of_equals():
    reference = Reference.from_labels(["b", "a", "b", "a", "c"], n_samples=5)
    assert commonest(reference, [0, 0, 1, 2, 2]) == ["a", "b", "a"]


def test_noise_does_not_vote():
    reference = Reference.from_labels([-1, -1, 3, 4, -1], n_samples=5)
    assert commonest(reference, [0, 0, 0, 1, 2]) == [3, 4, -1]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2, 3], "y has 3 labels, but X has 2 rows."),
        (np.ones((2, 2)), r"y must hold one label per row of X, got an array of shape \(2, 2\)."),
        ([1.0, np.nan], "y holds missing labels"),
        ([None, "a"], "y holds missing labels"),
        ([pd.NA, 1], "y holds missing labels"),
        ([1, "a"], "y mixes labels"),
        ([[1], [1, 2]], "y must hold one label per row of X, got lists of unequal length."),
    ],
)
def test_refused(y, message):
    with pytest.raises(ValueError, match=message):
        Reference.from_labels(y, n_samples=2)
