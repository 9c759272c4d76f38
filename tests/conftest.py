"""What all tests share: the engines, and how long hypothesis searches."""

import os
import signal
from collections.abc import Iterator

# Test processes share few cores: OpenMP threads that wait for each other cost seconds. This must
# stand before NumPy and scikit-learn are loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# What other packages will drop fails in the processes that tests start as it does in the tests' own.
os.environ.setdefault("PYTHONWARNINGS", "error::FutureWarning,error::DeprecationWarning")

import pytest
from hypothesis import HealthCheck, settings

# A second browser in the same process would not start: this is the only place that takes the fixture.
from browsing import axe, browser, visit  # noqa: F401
from spexplain.engines import Engine, resolve_engine

# Background jobs of shells ignore an interrupt and those of nohup a hang-up, and so would all they start.
for number in {signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGINT)}:
    if signal.getsignal(number) is signal.SIG_IGN:
        is_interrupt = number == signal.SIGINT
        signal.signal(number, signal.default_int_handler if is_interrupt else signal.SIG_DFL)

# Modules beside the tests that assert: a failure shows the values.
pytest.register_assert_rewrite("binned", "encoded", "growing", "refusals")

settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("few", max_examples=4, deadline=None, derandomize=True)
settings.register_profile(
    "campaign", max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# Every engine that is installed: one test body serves all.
ENGINES = ["numpy", "histogram", "dask"]


# Dask takes milliseconds a request. It is compared with the definitions and with the other engines; that
# equal trees keep what must not change is left to these.
DASK_TESTS = ("test_spex_on_", "test_cart", "test_star_", "test_all_engines", "test_ex_kmc_l")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what Dask need not show."""

    def is_left_out(item: pytest.Item) -> bool:
        chosen = getattr(item, "callspec", None)
        if chosen is None or chosen.params.get("engine") != "dask":
            return False
        return not item.originalname.startswith(DASK_TESTS)

    left_out = [item for item in items if is_left_out(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not is_left_out(item)]


@pytest.fixture(params=ENGINES, scope="module")
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "numpy":
        yield resolve_engine(request.param)
        return
    if request.param == "dask":
        yield from in_partitions()
        return
    from spexplain.engines.histogram import HistogramEngine, search
    from spexplain.ledgers import bins, edges, labels

    with pytest.MonkeyPatch.context() as patch:
        # Small tables must meet what large ones meet: bounds, several blocks, few rows a bin, promises.
        patch.setattr(search, "_N_SMALL", 1)
        patch.setattr(search, "_BLOCK", 1)
        patch.setattr(search, "_N_SHARED", 0)
        patch.setattr(search, "_MUCH", 0.0)
        patch.setattr(search, "_N_BY_CODES", 0)
        patch.setattr(search, "_SHARE_BY_CODES", 0.0)
        patch.setattr(labels.CountingLedger, "rows_per_bin", 1)
        patch.setattr(edges.EdgeLedger, "rows_per_bin", 1)
        patch.setattr(edges, "_ROWS_PER_KEPT_BIN", 0)
        patch.setattr(bins, "_ROWS_PER_SORTED_BIN", 1)
        patch.setattr(labels.CountingLedger, "most_bins", 3)
        yield HistogramEngine(max_bins=5)


def in_partitions() -> Iterator[Engine]:
    """Give the Dask engine, in this process, with a few rows a partition and all that large tables meet."""
    dask = pytest.importorskip("dask")
    from spexplain.engines.dask import DaskEngine, search, zoom

    with pytest.MonkeyPatch.context() as patch, dask.config.set(scheduler="synchronous"):
        patch.setattr(search, "_FEW", 0)
        patch.setattr(search, "row_bytes", lambda tally: zoom.look_bytes(tally) // 2)
        patch.setattr(zoom, "N_PLACES", 4)
        patch.setattr(search, "N_PLACES", 4)
        yield DaskEngine(max_bins=3, rows_per_partition=7)
