"""A pytest plugin: every property test gets its share of the cases, and what really ran is counted.

A case is an example that reached the body of a test and that the test did not turn down by `assume`.
`fuzz.py` loads this plugin; it is of no use alone.
"""

import json
import os
import time
from collections.abc import Callable, Generator
from functools import cache, wraps
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.errors import StopTest, UnsatisfiedAssumption

_FEWEST = 3
_QUICKEST = 0.004  # seconds; quicker tests get no more cases than tests that take so long


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what `fuzz.py` passes."""
    group = parser.getgroup("campaign")
    group.addoption("--cases", type=int, help="cases over all property tests")
    group.addoption("--counts", type=Path, help="JSON file for what was counted")
    group.addoption(
        "--costs", type=Path, help="JSON file of the seconds that a case of each test took"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Count in the process that starts the others; in a process of its own, all of it."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Counts(config.getoption("--counts")))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep property tests only."""
    items[:] = [item for item in items if hasattr(getattr(item, "obj", None), "hypothesis")]


@cache
def costs_in(path: Path) -> dict[str, float]:
    """Return the seconds that a case of each test took so far."""
    return json.loads(path.read_text())


def share(cost: float) -> float:
    """Return the weight of a test among all: every test gets about the same time, dear ones few cases."""
    return 1 / max(cost, _QUICKEST)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Generator[None, Any, Any]:
    """Run a test with its share of the cases, and count them."""
    cases, costs = item.config.getoption("--cases"), costs_in(item.config.getoption("--costs"))
    shares = {each.nodeid: share(costs.get(each.nodeid, 0.0)) for each in item.session.items}
    n_cases = max(_FEWEST, round(cases * shares[item.nodeid] / sum(shares.values())))
    test, counted = item.obj, [0]
    handle, before = test.hypothesis, (test.hypothesis.inner_test, _settings_of(test))
    handle.inner_test = _counting(handle.inner_test, counted)
    # Hypothesis fixes the settings when a test is decorated and has no public way to change them.
    test._hypothesis_internal_use_settings = settings(before[1], max_examples=n_cases)
    try:
        return (yield)
    finally:
        handle.inner_test, test._hypothesis_internal_use_settings = before
        item.user_properties.append(("cases", counted[0]))


def _settings_of(test: Any) -> settings:
    return test._hypothesis_internal_use_settings


def _counting(body: Callable[..., Any], counted: list[int]) -> Callable[..., Any]:
    @wraps(body)
    def counting(*arguments: Any, **named: Any) -> Any:
        try:
            result = body(*arguments, **named)
        except (UnsatisfiedAssumption, StopTest, pytest.skip.Exception):
            raise
        except BaseException:
            counted[0] += 1
            raise
        counted[0] += 1
        return result

    return counting


class _Counts:
    """Collects the reports of all processes and writes them as JSON."""

    def __init__(self, path: Path) -> None:
        self.path, self.tests = path, []
        self.started = time.perf_counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what ran, and what failed before it could."""
        if report.when != "call" and not report.failed:
            return
        cases = dict(report.user_properties).get("cases", 0)
        self.tests.append(
            {
                "test": report.nodeid,
                "cases": cases,
                "seconds": round(report.duration, 3),
                "outcome": report.outcome,
            }
        )

    def pytest_sessionfinish(self) -> None:
        """Write the file: under another name first, so that it is whole or not there."""
        seconds = round(time.perf_counter() - self.started, 1)
        temporary = self.path.with_name(self.path.name + ".tmp")
        temporary.write_text(json.dumps({"seconds": seconds, "tests": self.tests}, indent=1))
        os.replace(temporary, self.path)
