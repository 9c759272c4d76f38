"""Nothing but the results is ever written: read-only installations and absent homes are fine."""

import ctypes
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import spexplain
from trust.programs import TIMEOUT, environment

_DROP = 24  # PR_CAPBSET_DROP
_MAY_WRITE_ANYWHERE = (1, 2, 3)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER

FIT = """
import sys, warnings
warnings.simplefilter("error")
import numpy as np
import spexplain
assert spexplain.__file__.startswith(sys.argv[1]), spexplain.__file__
X = np.random.default_rng(0).normal(size=(2000, 3))
y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
model = spexplain.SpexClique(3, engine="histogram", n_jobs=2).fit(X, y)
assert spexplain.from_json(model.to_json()).predict(X).tolist() == model.labels_.tolist()
from spexplain.cli.warmup import compiled_code_folder
print(model.n_leaves_, compiled_code_folder())
"""
CLI = "import sys; from spexplain.cli import main; sys.exit(main())"


def obey_permissions() -> None:
    """Give up the superuser's power to write anywhere, before the program starts."""
    if os.geteuid() == 0:
        for power in _MAY_WRITE_ANYWHERE:
            ctypes.CDLL(None).prctl(_DROP, power, 0, 0, 0)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A copy of the package in a folder that nobody may write to."""
    folder = tmp_path_factory.mktemp("installed")
    package = Path(spexplain.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, folder / "site" / "spexplain", ignore=ignored)
    places = [folder, *folder.rglob("*")]
    for place in places:
        place.chmod(place.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    probe = run_in(folder, "open(sys.argv[1] + '/probe', 'w')", str(folder))
    if probe.returncode == 0:
        pytest.skip("this system lets the tests write to folders without permission")
    yield folder
    for place in places:
        place.chmod(place.stat().st_mode | stat.S_IWUSR)


def run_in(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program that finds the package there, no home and no folder for temporary files."""
    nowhere = str(folder / "nobody" / "home")
    removed = dict.fromkeys(
        ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR")
    )
    variables = {"HOME": nowhere, "TMPDIR": str(folder), "PYTHONPATH": str(folder / "site")}
    return subprocess.run(
        [sys.executable, "-c", f"import sys\n{program}", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
        cwd=folder,
        env=environment(**removed, **variables),
        preexec_fn=obey_permissions,
    )


@pytest.mark.slow  # everything is compiled anew
def test_fits_compile_in_memory(installed):
    done = run_in(installed, FIT, str(installed))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("3 memory only: ")
    assert not list(installed.rglob("__pycache__"))


@pytest.mark.slow  # nothing is kept compiled
def test_the_command_line(installed, tmp_path):
    data = tmp_path / "table.csv"
    sizes = [37 * row % 100 for row in range(100)]  # not in the order of the rows, as ids are
    rows = "".join(f"{x},{x % 7},{'low' if x < 50 else 'high'}\n" for x in sizes)
    data.write_text("size,rest,kind\n" + rows)
    model, labels = tmp_path / "model.json", tmp_path / "labels.csv"
    options = ["--labels", "kind", "-m", "cart", "--json", str(model), "--quiet"]
    done = run_in(installed, CLI, "explain", str(data), *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert "size ≤ 49\n" in done.stdout
    done = run_in(installed, CLI, "predict", str(model), str(data), "-o", str(labels), "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert labels.read_text().splitlines()[1] == "0,low"
