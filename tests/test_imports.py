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


def optional_imports(code: str) -> set[str]:
    """Return the optional packages that a fresh interpreter has loaded after this code."""
    script = f"{code}\nimport sys; print(*(name.split('.')[0] for name in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    return OPTIONAL & set(run.stdout.split())


def test_import_of_the_package():
    assert optional_imports("import spexplain") == set()


@pytest.mark.parametrize(
    "estimator", ["SpexClique()", "CART()", "SpexKNN(2, n_neighbors=3)", "SpexGraph(2)"]
)
def test_small_fit(estimator):
    assert optional_imports(FIT.format(estimator=estimator)) == set()


def test_the_check_can_fail():
    assert optional_imports("import pandas") == {"pandas"}
