"""The reference clustering as an estimator sees it: labels 0..k-1, the caller's own names for them, and noise."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from spexplain.aliases import Array, Floats, Ints, NoisePolicy
from spexplain.table.places import on_host

NOISE = -1


@dataclass(frozen=True, eq=False)
class Reference:
    """A clustering to explain.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        The caller's labels.
    codes : array of int, shape (n_samples,)
        The same as 0..k-1 in sorted order of the labels; -1 for noise.
    classes : array of shape (k,)
        The caller's label of each code.
    centers : array of float, shape (k, n_features), optional
        A centre for each code, for the methods that need centres.
    has_noise : bool
        Whether some rows belong to no cluster.
    """

    labels: Array
    codes: Ints
    classes: Array
    centers: Floats | None = None
    has_noise: bool = False

    @property
    def n_clusters(self) -> int:
        """Number of clusters, noise not counted."""
        return len(self.classes)

    @classmethod
    def from_labels(cls, y: Any, *, n_samples: int, noise: NoisePolicy = "ignore") -> Self:
        """Return the reference of labels of any type; refuse missing or misshapen ones."""
        labels = _as_array(on_host(y))
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim != 1:
            raise ValueError(
                f"y must hold one label per row of X, got an array of shape {labels.shape}."
            )
        if len(labels) != n_samples:
            raise ValueError(f"y has {len(labels)} labels, but X has {n_samples} rows.")
        if _has_missing(labels):
            raise ValueError(
                "y holds missing labels; drop those rows, or mark noise with the integer label -1."
            )
        try:
            classes, codes = np.unique(labels, return_inverse=True)
        except TypeError:
            raise mixed_labels() from None
        n_noise = count_noise(classes, noise)
        return cls(
            labels, codes.astype(np.int64) - n_noise, classes[n_noise:], has_noise=bool(n_noise)
        )

    def counts(self, leaf_ids: Ints, n_leaves: int) -> Ints:
        """Return the number of rows of every cluster in every leaf, shape (n_leaves, k); no noise."""
        known = self.codes >= 0
        cells = leaf_ids[known] * self.n_clusters + self.codes[known]
        flat = np.bincount(cells, minlength=n_leaves * self.n_clusters)
        return flat.reshape(n_leaves, self.n_clusters).astype(np.int64)

    def majority(self, counts: Ints) -> Array:
        """Return the commonest label of each leaf, ties to the lowest; -1 where a leaf has no clustered row."""
        if not self.n_clusters:
            return np.full(len(counts), NOISE)
        winners = self.classes[counts.argmax(axis=1)]
        only_noise = counts.sum(axis=1) == 0
        return np.where(only_noise, NOISE, winners) if only_noise.any() else winners


def count_noise(classes: Array, noise: NoisePolicy) -> int:
    """Return how many of the sorted distinct labels mean rows of no cluster: 1 or 0."""
    is_noise = classes.dtype.kind == "i" and len(classes) > 0 and classes[0] == NOISE
    return int(noise == "ignore" and is_noise)


def mixed_labels() -> ValueError:
    """Return the refusal of labels that have no order."""
    return ValueError(
        "y mixes labels that cannot be sorted together; convert them to one type, for example to strings."
    )


def _as_array(y: Any) -> Array:
    """Return labels as an array; a list of mixed types is not silently turned into text."""
    try:
        labels = np.asarray(y)
    except ValueError:
        raise ValueError(
            "y must hold one label per row of X, got lists of unequal length."
        ) from None
    if labels.dtype.kind == "U" and isinstance(y, list | tuple):
        kept = np.asarray(y, dtype=object)
        if not all(isinstance(each, str) for each in kept.ravel()):
            return kept
    return labels


def _has_missing(labels: Array) -> bool:
    if labels.dtype.kind in "mM":
        return bool(np.isnat(labels).any())
    if labels.dtype.kind == "f":
        return bool(np.isnan(labels).any())
    if labels.dtype.kind == "O":
        # NaN and pandas' NA differ from themselves (or refuse to say); None is None.
        return any(each is None or _is_na(each) for each in labels)
    return False


def _is_na(label: Any) -> bool:
    try:
        return bool(label != label)  # noqa: PLR0124
    except TypeError:
        return True
