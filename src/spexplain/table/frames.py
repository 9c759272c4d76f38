"""Tables of polars for a scikit-learn that is older than their way of telling column names."""

from typing import Any

import numpy as np
from sklearn import __version__

# Until 1.8, scikit-learn asks for names by a protocol that polars deprecated in 1.40 and dropped in 2.0.
_ASKS_BY_PROTOCOL = tuple(int(part) for part in __version__.split(".")[:2]) < (1, 9)


def readable(X: Any) -> Any:
    """Return X, or a view of it whose column names this scikit-learn finds."""
    is_polars = type(X).__module__.startswith("polars.") and hasattr(X, "columns")
    return _Named(X) if _ASKS_BY_PROTOCOL and is_polars else X


class _Named:
    """The values of a table, and its names by the old protocol."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.shape = frame.shape

    def __len__(self) -> int:
        return len(self.frame)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.frame, dtype=dtype)

    def __dataframe__(self) -> "_Named":
        return self

    def column_names(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.frame.columns)
