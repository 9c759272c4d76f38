"""Examples of README and pages run in an empty folder: they need nothing of the repository and leave no files."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_files import write_files


@pytest.fixture(autouse=True)
def _as_a_reader(request: pytest.FixtureRequest) -> Iterator[None]:
    is_example = isinstance(request.node, pytest.DoctestItem)
    if is_example and request.path.suffix == ".md":
        folder: Path = request.getfixturevalue("tmp_path")
        settings: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
        write_files(request.path.read_text("utf-8"), folder)
        settings.chdir(folder)
        settings.setenv("MPLBACKEND", "Agg")
    yield
    if is_example and "matplotlib.pyplot" in sys.modules:  # many open figures are warned of
        sys.modules["matplotlib.pyplot"].close("all")
