"""What all tests share: the engines, and how long hypothesis searches."""

import os

# Test processes share few cores: OpenMP threads that wait for each other cost seconds. This must
# stand before NumPy and scikit-learn are loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from spexplain.engines import Engine, NumpyEngine

settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True)
settings.register_profile(
    "campaign", max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# Every engine that is installed: one test body serves all.
ENGINES: dict[str, Engine] = {"numpy": NumpyEngine()}


@pytest.fixture(params=ENGINES.values(), ids=ENGINES.keys(), scope="session")
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.param
    return found
