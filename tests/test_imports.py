"""What is optional or heavy is imported by nobody who did not ask for it."""

import subprocess
import sys

import pytest

OPTIONAL = {
    "cupy",
    "dask",
    "distributed",
    "faiss",
    "jinja2",
    "matplotlib",
    "numba",
    "onnx",
    "pandas",
    "polars",
    "pooch",
    "pyamg",
    "rich",
    "skl2onnx",
    "typer",
}
FIT = """
import numpy as np, spexplain
X = np.arange(20.0).reshape(10, 2)
y = np.repeat([0, 1], 5)
spexplain.{estimator}.fit(X, y).predict(X)
"""


# What scikit-learn itself loads, if it is there (pandas, since 1.8), is none of our doing.
SKLEARN = "import sklearn.base, sklearn.neighbors, sklearn.utils.validation"
BARE = f"import sys; sys.modules.update(dict.fromkeys({sorted(OPTIONAL)}))"


def run(code: str) -> str:
    """Return what a fresh interpreter prints."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def optional_imports(code: str) -> set[str]:
    """Return the optional packages that the code loads, beyond those that scikit-learn does."""
    report = "import sys; print(*{name.split('.')[0] for name in sys.modules})"
    loaded, by_sklearn = (set(run(f"{each}\n{report}").split()) for each in (code, SKLEARN))
    return OPTIONAL & (loaded - by_sklearn)


def test_import_of_the_package():
    assert optional_imports("import spexplain") == set()


def test_bare_install():
    # None in sys.modules makes an import fail as if the package were absent.
    run(f"{BARE}\n{FIT.format(estimator='SpexClique()')}")


@pytest.mark.parametrize(
    "estimator", ["SpexClique()", "CART()", "SpexKNN(2, n_neighbors=3)", "SpexGraph(2)"]
)
def test_small_fit(estimator):
    assert optional_imports(FIT.format(estimator=estimator)) == set()


def test_the_check_can_fail():
    assert optional_imports("import polars") == {"polars"}
    with pytest.raises(subprocess.CalledProcessError):
        run(f"{BARE}\nimport polars")
