"""What all tests share: the engines, and how long hypothesis searches."""

import os
from collections.abc import Iterator

# Test processes share few cores: OpenMP threads that wait for each other cost seconds. This must
# stand before NumPy and scikit-learn are loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from spexplain.engines import Engine, resolve_engine

settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True)
settings.register_profile(
    "campaign", max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# Every engine that is installed: one test body serves all.
ENGINES = ["numpy", "histogram"]


@pytest.fixture(params=ENGINES, scope="module")
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param != "histogram":
        yield resolve_engine(request.param)
        return
    from spexplain.engines import histogram, histogram_counts, histogram_node, histogram_tally

    with pytest.MonkeyPatch.context() as patch:
        # Small tables must meet what large ones meet: bounds, several blocks, few rows a bin, promises.
        patch.setattr(histogram, "_N_SMALL", 1)
        patch.setattr(histogram_node, "_BLOCK", 1)
        patch.setattr(histogram_node, "_MUCH", 0.0)
        patch.setattr(histogram_node, "_N_ZOOMED", 0)
        patch.setattr(histogram_node, "_SHARE_ZOOMED", 0.0)
        patch.setattr(histogram_tally.Tallies, "rows_per_bin", 1)
        patch.setattr(histogram_counts, "_ROWS_PER_SORTED_BIN", 1)
        patch.setattr(histogram_tally.Tallies, "most_bins", 3)
        yield histogram.HistogramEngine(max_bins=5)
