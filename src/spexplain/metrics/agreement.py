"""How much two clusterings of the same rows agree."""

from typing import NamedTuple

from spexplain.aliases import Array


class Agreement(NamedTuple):
    """Likeness of two clusterings of the same rows; 1 is best."""

    ari: float  # adjusted Rand index (Hubert and Arabie)
    ami: float  # adjusted mutual information, arithmetic mean
    purity: float  # share of rows in the commonest reference cluster of their own cluster


def agreement(labels: Array, reference: Array) -> Agreement:
    """Compare a clustering with a reference clustering.

    Parameters
    ----------
    labels, reference : array of shape (n_samples,)
        Cluster labels of any type.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> from spexplain import metrics
    >>> metrics.agreement([0, 0, 1, 1], ["a", "a", "b", "b"]).ari
    1.0
    """
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
    from sklearn.metrics.cluster import contingency_matrix

    table = contingency_matrix(reference, labels)
    return Agreement(
        ari=float(adjusted_rand_score(reference, labels)),
        ami=float(adjusted_mutual_info_score(reference, labels)),
        purity=float(table.max(axis=0).sum() / table.sum()),
    )
