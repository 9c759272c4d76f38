"""An empty cache of datasets for a test; a folder of tests takes it into its conftest."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No data folder, and an empty cache."""
    monkeypatch.delenv("SPEXPLAIN_DATA", raising=False)
    monkeypatch.setenv("SPEXPLAIN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
