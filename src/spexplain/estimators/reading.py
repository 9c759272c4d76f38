"""What an estimator reads before it searches: a table, the columns that cuts may use, and the weights of rows."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from inspect import Parameter, signature
from typing import Any, ClassVar, NamedTuple

import narwhals as nw
import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.arguments import check_number, check_weights, is_integer
from spexplain.exceptions import ColumnWarning, RowOrderWarning, quoted_list, warn_caller
from spexplain.table.base import Rows, Table
from spexplain.table.columns import (
    column_names,
    column_numbers,
    is_frame,
    is_text_vectorizer,
    names_of,
)
from spexplain.table.read import read_rows, read_table
from spexplain.table.reference import Reference
from spexplain.table.suspects import suspicious_columns


class TableReader:
    """The part of an estimator that reads its table, using the parameters `features` and `feature_names`."""

    _words_for_features: ClassVar[tuple[str, ...]] = ()
    features: Sequence[int | str] | None
    feature_names: Any
    n_features_in_: int

    def __sklearn_clone__(self) -> Any:
        copied: Any = super().__sklearn_clone__()  # type: ignore[misc]
        copied.feature_names = self.feature_names  # not cloned: an unfitted vectorizer has no names
        return copied

    def _read(self, X: Any, **beside: Any) -> tuple[Table, tuple[str | int, ...] | None]:
        """Return the table, and the names of its columns if there are any; `beside` has an entry for every row."""
        _warn_of_another_order(X, beside)
        self.__dict__.pop("_given_names", None)
        table = read_table(X, self)
        names = names_of(self.feature_names, table.shape[1])
        own = _column_names(X)
        if names is None:
            return table, own
        if own not in (None, names) and all(isinstance(each, str) for each in own):
            raise ValueError(
                "feature_names names the columns of a table without names, but X has its own, such as "
                f"{own[0]!r}; leave feature_names out, or rename the columns of X."
            )
        self._given_names = names
        return table.named(names, are_words=is_text_vectorizer(self.feature_names)), names

    def _settings(self) -> dict[str, Any]:
        """Return the parameters to store in the explanation."""
        held = ("feature_names", "start")  # the explanation stores names and locks itself
        names = sorted(parameters_of(type(self)))  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names if name not in held}

    def _check_rows(self, X: Any, *, whole: bool = False) -> Rows:
        return read_rows(X, self, whole=whole)

    def _column_numbers(self) -> Ints:
        """Return the columns that cuts may use, in increasing order."""
        # KernelIMM also takes words as `features`, which name its surrogate features and not columns.
        features: Any = self.features
        is_word = isinstance(features, str) and features in self._words_for_features
        names = vars(self).get("_given_names", getattr(self, "feature_names_in_", None))
        return column_numbers(None if is_word else features, names, self.n_features_in_)

    def _searched_columns(self, table: Table, reference: Reference | None) -> Ints:
        """Return the columns that cuts may use: those asked for, or all but ids and copies of the labels."""
        columns = self._column_numbers()
        return (
            columns if self.features is not None else self._without_ids(table, columns, reference)
        )

    def _without_ids(self, table: Table, columns: Ints, reference: Reference | None) -> Ints:
        """Return the columns without row numbers, row names and copies of the labels; warn of each one left out."""
        codes = None if reference is None else reference.codes
        suspects = suspicious_columns(table, codes)
        kept = np.array([each for each in columns if each not in suspects], dtype=np.int64)
        if not len(kept):  # nothing else would be left
            return columns
        for each, reason in suspects.items():
            warn_caller(
                f"Column {table.columns[each].name!r} is left out: {reason}; name it in features= to use it.",
                ColumnWarning,
            )
        return kept


@contextmanager
def unchanged_by_failure(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was if its fit fails: a model that was fitted before stays whole."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:  # Ctrl-C, too
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def _warn_of_another_order(X: Any, beside: Mapping[str, Any]) -> None:
    """Warn of labels or weights whose index names the rows of X in another order: rows are taken by place."""
    index = getattr(X, "index", None)
    for name, each in beside.items():
        own = getattr(each, "index", None)
        if not nw.dependencies.is_pandas_index(index) or not nw.dependencies.is_pandas_index(own):
            continue
        if len(own) != len(index) or own.equals(index) or not (index.is_unique and own.is_unique):
            continue
        is_numbered = np.array_equal(np.asarray(own), np.arange(len(own)))  # as new labels are
        if not is_numbered and own.isin(index).all():
            warn_caller(
                f"The index of {name} has the rows of X in another order, but rows are matched by position; pass "
                f"{name}.loc[X.index] if the index is right.",
                RowOrderWarning,
            )


@cache
def parameters_of(kind: Any) -> Mapping[str, Parameter]:
    """Return the parameters of an estimator class; cached, as a look at the signature takes long."""
    return signature(kind).parameters


def _column_names(X: Any) -> tuple[str | int, ...] | None:
    """Return the names of a table's columns if they are texts, or if they are whole numbers."""
    if isinstance(X, Table):
        return X.names
    if is_frame(X):
        names = column_names(X)
    elif (columns := getattr(X, "columns", None)) is not None:
        names = list(columns)
    else:
        return None
    if all(isinstance(name, str) for name in names):
        return tuple(str(name) for name in names)
    return tuple(int(name) for name in names) if all(map(is_integer, names)) else None


class RowWeights(NamedTuple):
    """What the rows of a search weigh."""

    values: Floats | None = None  # None: all of them one
    rows: Ints | None = None  # their numbers in the user's table; None: all of its rows


ALL_ROWS = RowWeights()


class Searched(NamedTuple):
    """The rows of positive weight, which are all that a search sees."""

    table: Table
    reference: Reference | None  # memberships times the weights of clusters
    weights: RowWeights

    @property
    def is_plain(self) -> bool:
        """Whether every row counts once, for one cluster at most."""
        is_shared = self.reference is not None and self.reference.memberships is not None
        return self.weights.values is None and not is_shared


def searched_rows(
    table: Table, reference: Reference | None, weights: Floats | None, cluster_weight: Any
) -> Searched:
    """Return what a search sees of a table.

    Parameters
    ----------
    table : Table
        The user's table.
    reference : Reference, optional
        Its clustering, if the method looks at it.
    weights : array of shape (n_rows,), optional
        The user's weights.
    cluster_weight : None, "balanced" or dict
        The parameter of the estimator.
    """
    rows: Ints | None = None
    if weights is not None and not weights.all():
        rows = np.flatnonzero(weights)
        if len(rows) < 2:
            raise ValueError(
                "sample_weight is above 0 for one row only; at least two rows must count."
            )
        table, weights = table.part(rows), check_weights(weights[rows], len(rows))
        reference = None if reference is None else reference.rows(rows)
    if reference is None or cluster_weight is None:
        return Searched(table, reference, RowWeights(weights, rows))
    factors = cluster_factors(reference, weights, cluster_weight)
    if reference.memberships is not None:
        reference = replace(reference, memberships=reference.memberships * factors)
    else:
        own = np.append(factors, 1.0)[reference.codes]  # the last is what noise finds
        weights = own if weights is None else own * weights
    return Searched(table, reference, RowWeights(weights, rows))


def check_cluster_weight(cluster_weight: Any) -> None:
    """Refuse what is no weight of clusters."""
    if cluster_weight is None or isinstance(cluster_weight, Mapping):
        return
    if not (isinstance(cluster_weight, str) and cluster_weight == "balanced"):
        raise ValueError(
            f'cluster_weight={cluster_weight!r} must be None, "balanced" or a dict from labels to weights.'
        )


def cluster_factors(reference: Reference, weights: Floats | None, cluster_weight: Any) -> Floats:
    """Return by what the weights of every cluster's rows are multiplied."""
    if isinstance(cluster_weight, Mapping):
        labels = reference.classes.tolist()
        unknown = [label for label in cluster_weight if label not in labels]
        if unknown:
            raise ValueError(
                f"cluster_weight names {quoted_list(unknown)}, but y has no such clusters."
            )
        factors = np.array(
            [check_number("cluster_weight", cluster_weight.get(label, 1.0)) for label in labels]
        )
        if not factors.all():
            raise ValueError("cluster_weight must be above 0 for every cluster.")
        return factors
    totals = reference.amounts(weights).sum(axis=0)
    return np.where(totals > 0, totals.sum() / (len(totals) * np.where(totals > 0, totals, 1)), 1.0)


def row_mass(reference: Reference | None, weights: RowWeights) -> Floats | None:
    """Return what every row weighs where it is not shared: all that clusters have of it; None for all one."""
    if reference is None or reference.memberships is None:
        return weights.values
    mass = reference.memberships.sum(axis=1)
    mass = np.where(reference.codes < 0, 1.0, mass)  # noise is served, too
    return mass if weights.values is None else mass * weights.values


def weighted_scales(table: Table, features: Ints, weights: Floats | None) -> Floats:
    """Return the standard deviations of some columns over weighted rows; NaN elsewhere.

    Of a table in partitions those of the rows as they are.
    """
    if weights is None or table.engine == "dask":
        return table.scales(features)
    scales = np.full(table.shape[1], np.nan)
    for feature in np.unique(features).tolist():
        column = table.select([feature]).to_host()[:, 0].astype(np.float64)
        known = (weights > 0) & ~np.isnan(column)
        values, own = column[known] - column[known][0], weights[known]
        mean = np.average(values, weights=own)
        scales[feature] = np.sqrt(np.average((values - mean) ** 2, weights=own))
    return scales
