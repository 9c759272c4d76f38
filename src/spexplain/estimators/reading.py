"""How estimators read tables: names, kinds, and the columns that an explanation may use."""

from collections.abc import Mapping, Sequence
from functools import cache
from inspect import Parameter, signature
from typing import Any, ClassVar

import numpy as np

from spexplain.aliases import Ints
from spexplain.arguments import is_integer
from spexplain.exceptions import ColumnWarning, warn_caller
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

    def _read(self, X: Any) -> tuple[Table, tuple[str | int, ...] | None]:
        """Return the table, and the names of its columns if there are any."""
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
