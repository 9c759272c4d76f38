"""Dask without processes, for the tests that need none."""

from collections.abc import Iterator

import pytest

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")


@pytest.fixture
def synchronous() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield
