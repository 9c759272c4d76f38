"""Agreement of clusterings equals scikit-learn's numbers, from labels and from contingency tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from spexplain.metrics import agreement, agreement_of_counts


def test_agreement_of_equal_clusterings():
    assert agreement([0, 0, 1, 2], ["b", "b", "a", "c"]) == pytest.approx((1.0, 1.0, 1.0))


def test_agreement_by_hand():
    # Pairs together in both: 1; in the first: 2; in the second: 3; of 6 pairs in all.
    found = agreement([0, 0, 1, 1], ["a", "a", "a", "b"])
    expected = 2 * 3 / 6
    assert found.ari == pytest.approx((1 - expected) / ((2 + 3) / 2 - expected))
    assert found.purity == 3 / 4


def test_purity_counts_the_commonest_reference_cluster_of_each_cluster():
    assert agreement([0, 0, 0, 0], ["a", "a", "a", "b"]).purity == 3 / 4
    assert agreement(["a", "a", "a", "b"], [0, 0, 0, 0]).purity == 1


@st.composite
def clusterings(draw):
    n_rows = draw(st.integers(1, 40))
    return tuple(
        draw(arrays(np.int64, n_rows, elements=st.integers(0, draw(st.integers(0, n_rows)))))
        for _ in range(2)
    )


@given(clusterings())
def test_agreement_is_scikit_learns(pair):
    labels, reference = pair
    found = agreement(labels, reference)
    assert found.ari == pytest.approx(adjusted_rand_score(reference, labels), abs=1e-12)
    assert found.ami == pytest.approx(adjusted_mutual_info_score(reference, labels), abs=1e-11)
    table = contingency_matrix(reference, labels)
    assert found.purity == pytest.approx(table.max(axis=0).sum() / table.sum(), abs=1e-15)


@pytest.mark.parametrize("sizes", [(3, 4), (40, 7), (500, 300)])
def test_agreement_of_many_rows_is_scikit_learns(sizes):
    random = np.random.default_rng(0)
    labels = random.integers(sizes[0], size=20_000)
    reference = random.integers(sizes[1], size=20_000)
    reference = np.where(random.random(20_000) < 0.3, labels % sizes[1], reference)
    found = agreement(labels, reference)
    assert found.ari == pytest.approx(adjusted_rand_score(reference, labels), rel=1e-12)
    assert found.ami == pytest.approx(adjusted_mutual_info_score(reference, labels), abs=1e-9)


@given(clusterings(), st.integers(-(2**63), 2**63 - 50))
def test_agreement_does_not_depend_on_the_names(pair, shift):
    labels, reference = pair
    found = agreement(labels, reference)
    assert agreement(labels + np.int64(shift), reference.astype(str)) == pytest.approx(found)
    assert agreement(labels * 10**9, reference.astype(np.uint8)) == pytest.approx(found)
    assert agreement(
        labels.astype(float), reference.astype(np.uint64) + np.uint64(2**63)
    ) == pytest.approx(found)


@given(clusterings())
def test_agreement_of_counts_is_that_of_the_labels(pair):
    labels, reference = pair
    counts = np.zeros((labels.max() + 3, reference.max() + 2), dtype=np.int64)
    np.add.at(counts, (labels + 1, reference), 1)
    found = agreement(labels, reference)
    assert agreement_of_counts(counts) == found
    assert agreement_of_counts(counts.tolist()) == found
    assert agreement_of_counts(sparse.csr_array(counts)) == found


def test_agreement_of_a_table_with_many_cells_counts_only_filled_ones():
    labels = np.arange(10_000)  # of single rows: no better than chance
    assert agreement(labels, labels // 2) == pytest.approx((0.0, 0.0, 1.0), abs=1e-12)


def test_agreement_of_billions_of_rows_is_exact():
    counts = np.array([[3 * 10**9, 10**9], [2 * 10**9, 4 * 10**9]])
    small = agreement_of_counts(counts // 10**7)
    assert agreement_of_counts(counts).ari == pytest.approx(small.ari, abs=1e-2)
    assert agreement_of_counts(counts).ami == pytest.approx(small.ami, abs=1e-2)
    nearly = np.array([[4 * 10**9, 1], [0, 4 * 10**9]])
    assert 1 - agreement_of_counts(nearly).ari == pytest.approx(5e-10, rel=1e-6)


@pytest.mark.parametrize(
    ("labels", "reference", "words"),
    [
        ([0, 1], [0, 1, 2], "equal length, got 2 and 3"),
        ([], [], "labels must hold one label per row"),
        ([0, 1], [[0], [1]], "reference must hold one label per row"),
        ([0.0, np.nan], [0, 1], "labels contains NaN"),
        (np.array([0, "a"], dtype=object), [0, 1], "labels mixes labels"),
    ],
)
def test_agreement_refuses_in_one_sentence(labels, reference, words):
    with pytest.raises(ValueError, match=words) as caught:
        agreement(labels, reference)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("counts", [[[0, 0]], [3, 4], np.zeros((0, 2))])
def test_agreement_of_no_rows_is_refused(counts):
    with pytest.raises(ValueError, match="counts at least one row"):
        agreement_of_counts(counts)
