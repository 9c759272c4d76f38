"""Refusals in one sentence, and tables that deserve one."""

import re

import numpy as np
import pytest

# Checks of scikit-learn that contradict what is promised here.
EXPECTED_TO_FAIL = {
    "check_dataframe_column_names_consistency": (
        "Columns are taken by name in any order, and only those that the tree tests must be there."
    ),
}


def with_entry(table: np.ndarray, row: int, column: int, entry: float) -> np.ndarray:
    changed = table.copy()
    changed[row, column] = entry
    return changed


def refused(call, *, words, error=ValueError):
    """Assert that the call fails with one sentence that holds all the words."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert not re.search(r"[.!?] [A-Z]", message), "more than one sentence"
    for word in words:
        assert word in message
