"""Examples of README and pages run in an empty folder: they need nothing of the repository and leave no files."""

from pathlib import Path

import pytest
from page_files import write_files


@pytest.fixture(autouse=True)
def _empty_folder(request: pytest.FixtureRequest) -> None:
    if request.path.suffix != ".md":
        return
    folder: Path = request.getfixturevalue("tmp_path")
    settings: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
    write_files(request.path.read_text("utf-8"), folder)
    settings.chdir(folder)
    settings.setenv("MPLBACKEND", "Agg")
