"""The reference clustering as an estimator sees it: codes 0..k-1, the caller's labels for them, and noise."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints, NoisePolicy
from spexplain.exceptions import (
    ClusterCountWarning,
    NoiseWarning,
    quoted,
    warn_caller,
)
from spexplain.table.columns import is_missing, unmasked
from spexplain.table.storage import (
    is_collection,
    is_on_device,
    look_up,
    on_host,
    remember_copy,
)

NOISE = -1
_LONG_TEXT = 256  # characters
_FEW_LABELS = 20  # which may be clusters in tables of any length
# Rows per label below which labels are not clusters; numbers with decimals, which few clusters have, need more rows.
_ROWS_PER_LABEL, _ROWS_PER_FRACTION = 2, 10
_MOST_FRACTIONS = 1000  # that may be clusters, however many rows there are
_FEW_INTEGERS = (
    1 << 16
)  # between the least and the greatest label, for codes to be looked up in a table


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
    memberships : array of float, shape (n_samples, k), optional
        How much of each row belongs to every cluster, where rows are shared between clusters.
    """

    labels: Array
    codes: Ints
    classes: Array
    centers: Floats | None = None
    has_noise: bool = False
    memberships: Floats | None = None

    @property
    def n_clusters(self) -> int:
        """Number of clusters, noise not counted."""
        return len(self.classes)

    @classmethod
    def from_labels(
        cls, y: Any, *, n_samples: int, noise: NoisePolicy = "ignore", must_occur: bool = True
    ) -> Self:
        """Return the reference of labels of any type, or of memberships; refuse misshapen ones.

        Labels named as noise must occur, unless the rows are not those of a fit.
        """
        y = unmasked(y)
        coded = _coded_integers(y, n_samples, noise, must_occur=must_occur)
        if coded is not None:
            return cls(*coded)
        labels = _as_array(on_host(y))
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim == 2 and labels.dtype.kind in "buif":
            return cls._of_memberships(labels, getattr(y, "columns", None), n_samples)
        if labels.ndim != 1:
            raise ValueError(
                "y must hold one label per row of X, or one column of memberships per cluster, got an array of "
                f"shape {labels.shape} and dtype {labels.dtype}."
            )
        if len(labels) != n_samples:
            raise ValueError(f"y has {len(labels)} labels, but X has {n_samples} rows.")
        is_noise = noise_rows(labels, noise, must_occur=must_occur)
        try:
            classes, places = np.unique(labels[~is_noise], return_inverse=True)
        except TypeError:
            raise mixed_labels() from None
        if classes.dtype.kind == "U":
            classes = text_array(classes)  # labels of leaves may differ much in length
        codes = np.full(n_samples, NOISE, dtype=np.int64)
        codes[~is_noise] = places
        return cls(labels, codes, classes, has_noise=bool(is_noise.any()))

    @classmethod
    def _of_memberships(cls, given: Array, columns: Any, n_samples: int) -> Self:
        """Return the reference of rows that are shared between clusters."""
        if len(given) != n_samples:
            raise ValueError(f"y has {len(given)} rows of memberships, but X has {n_samples} rows.")
        memberships = given.astype(np.float64)
        if not np.isfinite(memberships).all() or memberships.min(initial=0.0) < 0:
            raise ValueError(
                "y holds memberships that are negative, missing or infinite; every row needs one number of at "
                "least 0 per cluster."
            )
        n_clusters = memberships.shape[1]
        classes = np.arange(n_clusters)
        if columns is not None:
            classes = _as_array(list(columns))
            if len(set(classes.tolist())) < n_clusters:
                raise ValueError("y has two columns of memberships of the same name; rename one.")
        codes = np.where(memberships.any(axis=1), memberships.argmax(axis=1), NOISE)
        is_hard = (
            np.all((memberships == 0) | (memberships == 1)) and (memberships.sum(axis=1) <= 1).all()
        )
        return cls(
            labels_of_codes(classes, codes),
            codes,
            classes,
            has_noise=bool((codes < 0).any()),
            memberships=None if is_hard else memberships,
        ).weighed(None)

    def weighed(self, weights: Floats | None) -> Self:
        """Return the reference without clusters whose rows all have weight 0.

        Codes of a table in partitions are loaded into memory, where the weights are.
        """
        if is_collection(self.codes):
            return replace(self, codes=np.asarray(self.codes, dtype=np.int64)).weighed(weights)
        if weights is None and self.memberships is None:
            totals = np.bincount(self.codes[self.codes >= 0], minlength=self.n_clusters)
        else:
            totals = self.amounts(weights).sum(axis=0)
        kept = np.flatnonzero(totals > 0)
        if len(kept) == self.n_clusters:
            return self
        place = np.full(self.n_clusters + 1, NOISE)  # noise finds the last one
        place[kept] = np.arange(len(kept))
        shared = self.memberships
        return replace(
            self,
            codes=place[self.codes],
            classes=self.classes[kept],
            memberships=None if shared is None else shared[:, kept],
        )

    def amounts(self, weights: Floats | None = None) -> Floats:
        """Return what every row adds to each cluster, shape (n_samples, k)."""
        if self.memberships is not None:
            found = self.memberships
        else:
            found = np.zeros((len(self.codes), self.n_clusters))
            known = np.flatnonzero(self.codes >= 0)
            found[known, self.codes[known]] = 1.0
        return found if weights is None else found * weights[:, None]

    def rows(self, chosen: Array) -> Self:
        """Return the reference of some rows only, with the same clusters."""
        shared = self.memberships
        return replace(
            self,
            labels=self.labels[chosen],
            codes=self.codes[chosen],
            memberships=None if shared is None else shared[chosen],
        )

    def counts(self, leaf_ids: Ints, n_leaves: int) -> Ints:
        """Return the number of rows of every cluster in every leaf, shape (n_leaves, k); no noise."""
        known = self.codes >= 0
        cells = leaf_ids[known] * self.n_clusters + self.codes[known]
        flat = np.bincount(cells, minlength=n_leaves * self.n_clusters)
        return flat.reshape(n_leaves, self.n_clusters).astype(np.int64)


def _coded_integers(
    y: Any, n_samples: int, noise: NoisePolicy, *, must_occur: bool
) -> tuple[Any, ...] | None:
    """Return labels, codes, classes, no centres, and whether there is noise; None for other labels.

    Labels that are whole numbers in a small range are counted and looked up instead of sorted, where they are stored.
    """
    if not (isinstance(y, np.ndarray) or is_on_device(y)):
        return None
    if y.shape != (n_samples,) or y.dtype.kind not in "iu" or not n_samples:
        return None
    least, most = int(y.min()), int(y.max())
    if most - least >= min(_FEW_INTEGERS, 4 * n_samples) or most >= 2**63:
        return None
    places = y.astype(np.int64) - least
    present = (least + np.flatnonzero(on_host(np.bincount(places)))).astype(y.dtype)
    is_noise = noise_rows(present, noise, must_occur=must_occur, counts_rows=False)
    classes = present[~is_noise]
    code_of = np.full(most - least + 1, NOISE, dtype=np.int64)
    code_of[classes.astype(np.int64) - least] = np.arange(len(classes))
    found = look_up(code_of, places)
    codes: Ints = found
    labels: Any = y
    if is_on_device(y):
        short = found.astype(np.int16 if len(classes) < 2**15 else np.int32)  # few bytes to send
        codes = short.get().astype(np.int32)  # half the memory that the host writes to first
        remember_copy(codes, short)
        is_same = np.array_equal(code_of[present.astype(np.int64) - least], present)
        labels = codes if is_same else on_host(y)
    return labels, codes, classes, None, bool(is_noise.any())


def labels_of_codes(classes: Array, codes: Ints) -> Array:
    """Return the label of every code; noise is -1 among numbers, "-1" among texts, and None among others.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.table.reference import labels_of_codes
    >>> labels_of_codes(np.array(["a", "b"]), np.array([1, -1])).tolist()
    ['b', '-1']
    """
    if not len(classes):
        return np.full(len(codes), NOISE)
    labels: Array = classes[np.maximum(codes, 0)]
    if (codes >= 0).all():
        return labels
    if classes.dtype.kind in "if":
        return np.where(codes < 0, classes.dtype.type(NOISE), labels)
    if classes.dtype.kind == "u":
        return np.where(codes < 0, NOISE, labels.astype(np.int64))
    if classes.dtype.kind == "U":
        return np.where(codes < 0, str(NOISE), labels)
    named = labels.astype(object)
    named[codes < 0] = str(NOISE) if all(isinstance(each, str) for each in classes) else None
    return named


def noise_rows(
    labels: Array, noise: NoisePolicy, *, counts_rows: bool = True, must_occur: bool = True
) -> Bools:
    """Return which labels mean noise; warn unless it is the integer -1 or the caller named them.

    Parameters
    ----------
    labels : array of shape (n,)
        The caller's labels.
    noise : {"ignore", "cluster"}, label or list of labels
        "ignore" means -1, -1.0, "-1" and missing labels; "cluster" means none; given labels mean themselves
        and missing ones.
    counts_rows : bool, default=True
        Whether the labels are those of all rows, which the warning then counts, or only the distinct ones.
    must_occur : bool, default=True
        Whether labels that are named as noise must be among them.
    """
    is_missing = missing_labels(labels)
    if isinstance(noise, str) and noise == "cluster":
        if is_missing.any():
            check_missing(noise)
        return is_missing
    if isinstance(noise, str) and noise == "ignore":
        is_minus_one = _equal(labels, NOISE) | _equal(labels, str(NOISE))
        found = is_missing | is_minus_one
        if found.any() and labels.dtype.kind != "i":
            warn_of_noise(labels[is_minus_one], int(is_missing.sum()), counts_rows=counts_rows)
        return found
    named = _named_noise(noise)
    is_named = np.zeros(len(labels), dtype=np.bool_)
    for label in named:
        is_named |= _equal(labels, label)
    if must_occur and not is_named.any():
        raise ValueError(
            f'noise={quoted(noise)} must be "ignore", "cluster", or a label (or a list of labels) of y that means '
            "rows of no cluster."
        )
    if is_missing.any():
        warn_of_noise(labels[:0], int(is_missing.sum()))
    return is_named | is_missing


def check_missing(noise: NoisePolicy) -> None:
    """Refuse missing labels where noise is to be a cluster."""
    if isinstance(noise, str) and noise == "cluster":
        raise ValueError(
            'y holds missing labels, which cannot be a cluster (noise="cluster"); give them a label, or pass '
            'noise="ignore".'
        )


def _named_noise(noise: Any) -> list[Any]:
    """Return the labels that the caller named as noise."""
    if isinstance(noise, str) or not isinstance(noise, Iterable):
        return [noise]
    return list(noise)


def _equal(labels: Array, label: Any) -> Bools:
    """Return which labels are equal to one, whatever their types."""
    if labels.dtype.kind == "O":
        return np.array([_same(each, label) for each in labels], dtype=np.bool_)
    is_text, is_time = labels.dtype.kind in "UT", labels.dtype.kind in "mM"
    if is_text != isinstance(label, str) or is_time != isinstance(
        label, np.datetime64 | np.timedelta64
    ):
        return np.zeros(len(labels), dtype=np.bool_)
    return np.asarray(labels == label, dtype=np.bool_)


def _same(one: Any, other: Any) -> bool:
    try:
        return isinstance(one, str) == isinstance(other, str) and bool(one == other)
    except (TypeError, ValueError):
        return False


def warn_of_noise(labels: Array, n_missing: int, *, counts_rows: bool = True) -> None:
    """Warn which labels, if any, were taken to mean noise, and how many are missing."""
    told = []
    if len(labels):
        rows = _counted(len(labels)) if counts_rows else "rows"
        told.append(f"{rows} with the label {quoted(np.asarray(labels[0]).item())}")
    if n_missing:
        told.append(f"{_counted(n_missing)} without a label")
    warn_caller(
        f"y: {' and '.join(told)} count as noise, rows of no cluster; the parameter noise can name other labels, or "
        "make noise a cluster.",
        NoiseWarning,
    )


def has_label_per_row(n_labels: int, n_rows: int) -> bool:
    """Whether there are so many different labels that nearly every row has its own.

    Examples
    --------
    >>> from spexplain.table.reference import has_label_per_row
    >>> has_label_per_row(344, 344), has_label_per_row(100, 344), has_label_per_row(8, 8)
    (True, False, False)
    """
    return n_labels > max(_FEW_LABELS, n_rows // _ROWS_PER_LABEL)


def warn_of_labels(classes: Array, n_rows: int) -> None:
    """Warn if labels look like row numbers or a measurement.

    Parameters
    ----------
    classes : array of shape (k,)
        The different labels, without noise.
    n_rows : int
        Number of rows.
    """
    is_measured = False
    if classes.dtype.kind == "f" and (classes != np.floor(classes)).any():
        most = min(n_rows // _ROWS_PER_FRACTION, _MOST_FRACTIONS)
        is_measured = len(classes) > max(_FEW_LABELS, most)
    if is_measured or has_label_per_row(len(classes), n_rows):
        warn_caller(
            f"y has {len(classes):,} different labels in {n_rows:,} rows, like row numbers or a measurement and "
            "unlike clusters; cut it into ranges, or pass cluster labels.",
            ClusterCountWarning,
        )


def _counted(n_rows: int) -> str:
    return "1 row" if n_rows == 1 else f"{n_rows:,} rows"


def mixed_labels() -> ValueError:
    """Return the error for labels that cannot be sorted."""
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
    if labels.dtype.kind == "U" and not isinstance(y, np.ndarray) and labels.ndim == 1:
        kept = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y, dtype=object)
        if not all(isinstance(each, str) for each in kept):
            return kept
        return text_array(kept)
    return labels


def text_array(texts: Iterable[str]) -> Array:
    r"""Return texts as an array: of fixed width, unless one is long or ends in NUL, which NumPy drops.

    In an array of fixed width, every entry takes as much memory as the longest.

    Examples
    --------
    >>> from spexplain.table.reference import text_array
    >>> text_array(["a", "bc"]), text_array(["a", "a\0"])
    (array(['a', 'bc'], dtype='<U2'), array(['a', 'a\x00'], dtype=object))
    """
    kept: Array = np.array(list(texts), dtype=object)
    if any(len(each) > _LONG_TEXT or each.endswith("\0") for each in kept):
        return kept
    return kept.astype(str)


def missing_labels(labels: Array) -> Bools:
    """Return which labels are missing: None, NaN, NaT or pandas' NA."""
    if labels.dtype.kind in "mM":
        return np.asarray(np.isnat(labels))
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind == "O":
        return np.array([is_missing(each) for each in labels], dtype=np.bool_)
    return np.zeros(len(labels), dtype=np.bool_)
