"""Numbers of bins, and every way to search a node."""

import pytest

from spexplain.engines.histogram import engine as histogram
from spexplain.engines.histogram import node, tally


@pytest.fixture(params=[2, 3, 7, 255], scope="module")
def max_bins(request):
    return request.param


@pytest.fixture(params=["bounds", "zoom", "sweep"], autouse=True, scope="module")
def path(request):
    """Search by bounds, by bounds in two steps, or sweep small nodes whole, which all of small tables are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node, "_N_SHARED", 0)
        if request.param != "sweep":
            patch.setattr(histogram, "_N_SMALL", 1)
            patch.setattr(tally.Tallies, "rows_per_bin", 1)
            patch.setattr(node, "_MUCH", 0.0)
        if request.param == "zoom":
            patch.setattr(tally, "_ROWS_PER_KEPT_CELL", 0.0)
            patch.setattr(tally.Tallies, "most_bins", 2)
            patch.setattr(node, "_N_ZOOMED", 0)
            patch.setattr(node, "_SHARE_ZOOMED", 0.0)
        yield request.param
