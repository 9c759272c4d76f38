"""Numbers of bins, and every way to search a node."""

import pytest

from spexplain.engines.histogram import search
from spexplain.ledgers import edges, labels


@pytest.fixture(params=[2, 3, 7, 255], scope="module")
def max_bins(request):
    return request.param


@pytest.fixture(params=["bounds", "codes", "sweep"], autouse=True, scope="module")
def path(request):
    """Search by bounds, by bounds in two steps, or sweep small nodes whole, which all of small tables are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_N_SHARED", 0)
        if request.param != "sweep":
            patch.setattr(search, "_N_SMALL", 1)
            patch.setattr(labels.CountingLedger, "rows_per_bin", 1)
            patch.setattr(search, "_MUCH", 0.0)
        if request.param == "codes":
            patch.setattr(labels, "_ROWS_PER_KEPT_CELL", 0.0)
            patch.setattr(edges, "_ROWS_PER_KEPT_BIN", 0)
            patch.setattr(labels.CountingLedger, "most_bins", 2)
            patch.setattr(search, "_N_BY_CODES", 0)
            patch.setattr(search, "_SHARE_BY_CODES", 0.0)
        yield request.param
