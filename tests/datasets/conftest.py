"""No data folder, an empty cache, and a server in place of the sources."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from served import (
    Server,
)
from spexplain.datasets import registry
from spexplain.datasets.registry import TABLES, TextTable


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No data folder, and an empty cache, whose path is given."""
    monkeypatch.delenv("SPEXPLAIN_DATA", raising=False)
    cache = tmp_path / "cache"
    monkeypatch.setenv("SPEXPLAIN_CACHE", str(cache))
    return cache


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    # A proxy of the environment cannot reach the server of the test.
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server()
    yield server
    server.close()


@pytest.fixture
def serve(
    server: Server, no_data: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., TextTable]:
    """A function that lets the server stand in for the source of a dataset."""

    def put(
        name: str, content: bytes, *, sha256: str | None = "right", table: TextTable | None = None
    ) -> TextTable:
        table = table or TABLES[name]
        if sha256 == "right":
            sha256 = hashlib.sha256(content).hexdigest()
        server.files[f"/{table.source.name}"] = content
        url = f"{server.address}/{table.source.name}"
        source = replace(table.source, urls=(url,), checksum=sha256)
        table = replace(table, source=source)
        monkeypatch.setitem(registry.TABLES, name, table)
        return table

    return put
