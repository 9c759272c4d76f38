"""Examples of the pages run in an empty folder, so that they need nothing of the repository and leave no files."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
