"""The scripts in examples/ run as they are, warn of nothing and draw their pictures."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

EXAMPLES = Path(__file__).parents[1] / "examples"
# What each of them prints, among other things.
LINES = {
    "explain_spectral_clusters.py": "rows that the tree gives their cluster: 96.5%",
    "reference_free_knn.py": "     6      0.311         100.0%",
    "compare_methods.py": "(spectral clusters)       1.000",
}


def test_all_examples_are_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(LINES)


@pytest.mark.parametrize("name", LINES)
def test_example(name: str, tmp_path: Path) -> None:
    picture = tmp_path / "new" / "picture.png"
    # No data folder and an empty cache, as on a machine that has just cloned the project.
    environment = {key: value for key, value in os.environ.items() if key != "SPEXPLAIN_DATA"}
    environment |= {
        "SPEXPLAIN_CACHE": str(tmp_path / "cache"),
        "MPLBACKEND": "Agg",
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), str(picture)],
        capture_output=True,
        encoding="utf-8",
        env=environment,
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert LINES[name] in done.stdout
    assert done.stdout.endswith(f"picture: {picture}\n")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "cache").exists()  # nothing was downloaded
