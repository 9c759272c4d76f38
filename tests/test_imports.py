"""What is optional or heavy is imported by nobody who did not ask for it."""

import subprocess
import sys

import pytest

OPTIONAL = {
    "cupy",
    "dask",
    "distributed",
    "playwright",
    "sqlglot",
    "shap",
    "onnxruntime",
    "dtreeviz",
    "duckdb",
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
for estimator in (
    spexplain.SpexClique(),
    spexplain.CART(),
    spexplain.SpexKNN(2, n_neighbors=3),
    spexplain.SpexGraph(2),
):
    estimator.fit(X, y).predict(X)
"""


# What scikit-learn itself loads where it is installed, pandas for one, is none of our doing.
SKLEARN = "import sklearn.base, sklearn.utils.validation"
# Not None in sys.modules, where older versions of scikit-learn look for pandas.
BARE = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(OPTIONAL)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


def run(code: str) -> str:
    """Return what a fresh interpreter prints."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def optional_imports(code: str, *, beyond: str = SKLEARN) -> set[str]:
    """Return the optional packages that the code loads, beyond those that other imports load."""
    report = "import sys; print(*{name.split('.')[0] for name in sys.modules})"
    loaded, by_others = (set(run(f"{each}\n{report}").split()) for each in (code, beyond))
    return OPTIONAL & (loaded - by_others)


def test_import_of_the_package():
    assert optional_imports("import spexplain") == set()


def test_bare_install():
    run(f"{BARE}\n{FIT}")


def test_small_fits():
    neighbors = "import sklearn.neighbors"  # loads rich to show progress
    assert optional_imports(FIT, beyond=neighbors) == set()


def test_the_check_can_fail():
    assert optional_imports("import polars", beyond="") == {"polars"}
    with pytest.raises(subprocess.CalledProcessError):
        run(f"{BARE}\nimport polars")


def test_the_package_loads_nothing_before_it_is_asked():
    loaded = "{name.split('.')[0] for name in sys.modules}"
    heavy = f"import sys, spexplain; print(*{loaded} & {{'numpy', 'scipy', 'sklearn'}})"
    assert run(heavy).strip() == ""


def test_every_public_name_is_there():
    import spexplain

    for name in spexplain.__all__:
        assert getattr(spexplain, name) is not None
    assert set(spexplain.__all__) <= set(dir(spexplain))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = spexplain.nothing
