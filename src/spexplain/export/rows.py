"""Rows for a model without its estimator: the columns it knows, as finite numbers."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from spexplain.aliases import Matrix
from spexplain.table.checks import check_finite
from spexplain.table.places import is_sparse
from spexplain.table.sparse import check_entries, float_entries

if TYPE_CHECKING:
    from spexplain.explanation import Explanation


def read_rows(explanation: "Explanation", X: Any) -> Matrix:
    """Return X as a float matrix, sparse if X is, with the model's columns; refuse what is not a table of numbers.

    Columns of a data frame are taken by name where the model knows names, whatever their order;
    further columns are not read.

    Examples
    --------
    >>> import pandas as pd
    >>> from spexplain.explanation import Explanation
    >>> from spexplain.export.rows import read_rows
    >>> from spexplain.tree import Tree
    >>> model = Explanation(Tree.root(n_features=2, size=10), ("width", "height"))
    >>> read_rows(model, pd.DataFrame({"height": [1.5], "depth": [2.0], "width": [3.0]}))
    array([[3. , 1.5]])
    """
    table = float_entries(X) if is_sparse(X) else _numbers(_by_name(explanation, X))
    if table.ndim != 2:
        raise ValueError(
            f"X must be a table of rows and columns, got an array with {table.ndim} dimension(s)."
        )
    if table.shape[1] != explanation.tree.n_features:
        raise ValueError(
            f"X has {table.shape[1]} columns, but this {explanation.method} was fitted with "
            f"{explanation.tree.n_features}."
        )
    if is_sparse(table):
        check_entries(table, _text_names(explanation))
    else:
        check_finite(table, _text_names(explanation))
    return table


def _by_name(explanation: "Explanation", X: Any) -> Any:
    """Return the model's columns of a data frame; anything else as it is."""
    names = _text_names(explanation)
    columns = getattr(X, "columns", None)
    if names is None or columns is None or not all(isinstance(each, str) for each in columns):
        return X
    present = list(columns)
    counts = Counter(present)
    for name in names:
        if counts[name] != 1:
            fault = "lacks the column" if name not in counts else "has more than one column"
            raise ValueError(f"X {fault} {name!r}.")
    return X if present == list(names) else X[list(names)]


def _text_names(explanation: "Explanation") -> tuple[str, ...] | None:
    """Return the names of the columns if they are texts; others are taken in their order."""
    columns = explanation.columns
    named = columns is not None and all(isinstance(each, str) for each in columns)
    return explanation.names if named else None


def _numbers(X: Any) -> Matrix:
    """Return an array of float32 or float64."""
    try:
        table = np.asarray(X)
        if table.dtype.kind in "cmMV":
            raise ValueError(f"X holds values of type {table.dtype}; it must hold real numbers.")
        if table.dtype.kind == "f" and table.dtype.itemsize in (4, 8):
            return table
        return table.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if str(error).startswith("X holds"):
            raise
        raise ValueError(
            f"X must be a table of numbers ({error}); encode text and missing values as numbers "
            "or leave them out."
        ) from None
