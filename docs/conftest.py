"""Examples of the pages run in an empty folder, so that the files they write stay nowhere."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    docs = Path(__file__).parent
    for folder in (docs / "scripts", docs.parent / "examples" / "gallery"):
        monkeypatch.syspath_prepend(str(folder))
