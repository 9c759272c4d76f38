"""Files stay short enough to be read in one go."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = {".py", ".js", ".css", ".html", ".cu"}
LONGEST = 300


def test_no_file_is_longer_than_a_reader_takes():
    if not (ROOT / ".git").exists():
        pytest.skip("the list of files is in the repository only")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / name for name in listed.stdout.splitlines() if Path(name).suffix in SUFFIXES]
    assert len(files) > 300
    lengths = {
        file.name: len(file.read_text("utf-8").splitlines()) for file in files if file.exists()
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}
