"""A clustering as an estimator sees it."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from spexplain.exceptions import NoiseWarning
from spexplain.explanation.explanation import majority_codes
from spexplain.table.reference import Reference, labels_of_codes


def commonest(reference: Reference, leaf_ids: list[int]) -> list:
    counts = reference.counts(np.array(leaf_ids), max(leaf_ids) + 1)
    return labels_of_codes(reference.classes, majority_codes(counts)).tolist()


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


@given(
    y=hnp.arrays(
        st.sampled_from([np.int8, np.int64, np.uint8, np.uint64]),
        st.integers(1, 40),
        elements=st.integers(0, 9) | st.integers(0, 120),
        fill=st.nothing(),
    ),
    least=st.sampled_from([0, -3, -100, 2**40]),
    noise=st.sampled_from(["ignore", "cluster", [0, 5]]),
)
@settings(deadline=None)
def test_whole_numbers_are_coded_without_sorting(y, least, noise):
    if np.iinfo(y.dtype).min <= least <= np.iinfo(y.dtype).max - 120:
        y = y + y.dtype.type(least)
    with warnings.catch_warnings():  # labels of other types are said to be noise
        warnings.simplefilter("ignore", NoiseWarning)
        slow = Reference.from_labels(
            y.astype(object), n_samples=len(y), noise=noise, must_occur=False
        )
    fast = Reference.from_labels(y, n_samples=len(y), noise=noise, must_occur=False)
    assert fast.codes.tolist() == slow.codes.tolist()
    assert fast.classes.tolist() == slow.classes.tolist()
    assert fast.classes.dtype == y.dtype
    assert fast.has_noise == slow.has_noise
    assert fast.labels is y
    assert not np.shares_memory(fast.codes, y)


@pytest.mark.parametrize("labels", [[-2, 0, 1], [False, True, True], ["a", "b", "none"]])
def test_other_labels_are_clusters(labels):
    reference = Reference.from_labels(labels, n_samples=3)
    assert not reference.has_noise
    assert reference.classes[reference.codes].tolist() == labels


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ([-1.0, 0.0, 1.0], "1 row with the label -1.0"),
        (["-1", "a", "b"], "1 row with the label '-1'"),
        ([np.nan, 0.0, 1.0], "1 row without a label"),
        ([None, "a", "b"], "1 row without a label"),
        ([pd.NA, 0, 1], "1 row without a label"),
        (np.array(["NaT", "2024-01-01", "2024-01-02"], dtype="datetime64[D]"), "1 row without"),
        ([None, -1, 3], "1 row with the label -1 and 1 row without a label"),
    ],
)
def test_noise_that_went_through_a_join_is_said(labels, told):
    with pytest.warns(
        NoiseWarning, match=f"^y: {told}.* count as noise, rows of no cluster"
    ) as said:
        reference = Reference.from_labels(labels, n_samples=3)
    assert len(said) == 1
    assert reference.has_noise
    assert reference.codes[0] == -1
    assert reference.codes[-1] == reference.n_clusters - 1


def test_noise_is_named_by_its_labels():
    y = ["a", "unclear", "b", "other"]
    assert Reference.from_labels(y, n_samples=4, noise="unclear").codes.tolist() == [0, -1, 1, 2]
    named = Reference.from_labels(y, n_samples=4, noise=["unclear", "other"])
    assert named.codes.tolist() == [0, -1, 1, -1]
    assert named.classes.tolist() == ["a", "b"]
    assert Reference.from_labels([9, 1, 2, -1], n_samples=4, noise=9).codes.tolist() == [
        -1,
        1,
        2,
        0,
    ]
    with pytest.raises(ValueError, match=r'noise=.*must be "ignore", "cluster", or a label'):
        Reference.from_labels(y, n_samples=4, noise="unknown")


def test_missing_labels_are_no_cluster():
    with pytest.raises(ValueError, match="missing labels, which cannot be a cluster"):
        Reference.from_labels(["a", None, "b"], n_samples=3, noise="cluster")


# --- Memberships ----------------------------------------------------------------------------------


def test_memberships_are_shared_rows():
    y = np.array([[0.75, 0.25, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    reference = Reference.from_labels(y, n_samples=3)
    assert reference.codes.tolist() == [0, 1, -1]
    assert reference.labels.tolist() == [0, 1, -1]
    assert reference.classes.tolist() == [0, 1]  # nobody is in the third
    assert reference.amounts(np.array([4.0, 2.0, 1.0])).tolist() == [[3, 1], [0, 2], [0, 0]]


def test_memberships_are_named_by_columns():
    frame = pd.DataFrame({"loyal": [0.9, 0.2], "new": [0.1, 0.8]})
    reference = Reference.from_labels(frame, n_samples=2)
    assert reference.labels.tolist() == ["loyal", "new"]
    assert reference.rows(np.array([1])).memberships.tolist() == [[0.2, 0.8]]
    with pytest.raises(ValueError, match="two columns of memberships of the same name"):
        Reference.from_labels(frame.set_axis(["a", "a"], axis=1), n_samples=2)


def test_memberships_of_ones_are_labels():
    reference = Reference.from_labels(np.eye(3)[[2, 0, 0]], n_samples=3)
    assert reference.memberships is None
    assert reference.codes.tolist() == [1, 0, 0]
    assert reference.classes.tolist() == [0, 2]


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
        (np.full((2, 2), "a"), r"or one column of memberships per cluster, got .* shape \(2, 2\)"),
        (np.ones((2, 2, 2)), r"y must hold one label per row of X, .* shape \(2, 2, 2\)"),
        ([[0.5, -0.5], [1.0, 0.0]], "y holds memberships that are negative, missing or infinite"),
        ([[0.5, np.nan], [1.0, 0.0]], "y holds memberships that are negative, missing or infinite"),
        (np.ones((3, 2)), "y has 3 rows of memberships, but X has 2 rows."),
        ([1, "a"], "y mixes labels"),
        ([[1], [1, 2]], "y must hold one label per row of X, got lists of unequal length."),
    ],
)
def test_refused(y, message):
    with pytest.raises(ValueError, match=message):
        Reference.from_labels(y, n_samples=2)


def test_warnings_of_programs_without_a_file():
    """As in `python -` and in consoles: there is no source to quote."""
    program = "import spexplain; spexplain.CART().fit([[0.0], [1.0], [2.0]], [0, 1, None])"
    done = subprocess.run(
        [sys.executable, "-"], input=program, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "<stdin>:1: NoiseWarning: y: 1 row without a label" in done.stderr
