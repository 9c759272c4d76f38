"""What is optional or heavy is imported by nobody who did not ask for it; a name means one thing."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import spexplain

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


HEAVY = {"sklearn", "scipy.stats", "scipy.special", "scipy.optimize", "pandas", "numpy.testing"}
COMMAND = """
import runpy, sys
sys.argv[0] = "spexplain"
try:
    runpy.run_module("spexplain", run_name="__main__")
except SystemExit as ending:
    assert not ending.code, ending.code
print(*sys.modules)
"""


def loaded_by(*arguments: str) -> set[str]:
    """Return the modules that a command has loaded at its end."""
    command = [sys.executable, "-W", "error", "-c", COMMAND, *arguments]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(told.splitlines()[-1].split())


def loads_at_once() -> bool:
    """Whether scikit-learn is a version that uses at its start what others only import."""
    import sklearn
    from sklearn.utils.fixes import parse_version

    return bool(parse_version(sklearn.__version__) < parse_version("1.7"))


lazy_enough = pytest.mark.skipif(
    loads_at_once(), reason="scikit-learn before 1.7 and its SciPy use these modules as they start"
)


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"{number},{number % 7},{number // 10}" for number in range(40)]
    path.write_text("\n".join(["size,rest,group", *lines]))
    return path


@lazy_enough
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("method", ["spex-clique", "best"])
def test_the_command_line_loads_no_more_than_a_tree_needs(rows, ending, method):
    polars = pytest.importorskip("polars")
    pytest.importorskip("typer")
    if ending == "parquet":
        polars.read_csv(rows).write_parquet(rows.with_suffix(".parquet"))
    table, model = str(rows.with_suffix(f".{ending}")), str(rows.with_suffix(".json"))
    explain = ("explain", table, "--labels", "group", "--method", method, "--json", model)
    assert loaded_by(*explain) & HEAVY == {"sklearn"}
    output = str(rows.with_name("labels.csv"))
    loaded = loaded_by("predict", model, table, "-o", output)
    assert loaded & HEAVY == set()
    assert "polars" in loaded


@lazy_enough
def test_what_the_command_line_put_off_works_when_it_is_used():
    pytest.importorskip("typer")
    pytest.importorskip("pandas")
    assert run(
        """
import sys
from concurrent.futures import ThreadPoolExecutor
from spexplain.cli.imports import import_lightly
import_lightly("sklearn.base")
assert not {"pandas", "scipy.stats", "scipy.special"} & set(sys.modules)
from sklearn.utils import fixes
with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(lambda _: fixes.pd.DataFrame, range(8)))
import pandas
assert found == [pandas.DataFrame] * 8
import scipy.special, scipy.stats
from scipy.stats import norm
assert scipy.special.xlogy(0, 0) == 0 and norm.cdf(0) == 0.5
from sklearn.preprocessing import QuantileTransformer
frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "b": list("xyzx")})
assert QuantileTransformer(n_quantiles=4).fit_transform(frame[["a"]]).shape == (4, 1)
from spexplain import SpexClique
print(SpexClique(2).fit(frame, [0, 0, 1, 1]).to_text())
"""
    )


def test_putting_off(tmp_path, monkeypatch):
    from spexplain.cli.imports import put_off

    (tmp_path / "outer_part").mkdir()
    (tmp_path / "outer_part" / "__init__.py").touch()
    (tmp_path / "outer_part" / "inner.py").write_text("from math import pi as value")
    monkeypatch.syspath_prepend(tmp_path)
    with put_off("outer_part.inner", "there_is_no_such_module", "math"):
        import outer_part.inner
        from outer_part import inner

        assert "there_is_no_such_module" not in sys.modules
    assert "outer_part.inner" not in sys.modules
    assert not hasattr(outer_part, "inner")
    import math

    assert inner.value == math.pi
    assert outer_part.inner is sys.modules["outer_part.inner"] is not inner
    with pytest.raises(AttributeError, match="nothing"):
        _ = inner.nothing
    with put_off("outer_part.inner"):  # loaded, so that it stays
        assert sys.modules["outer_part.inner"] is outer_part.inner
    for name in ("outer_part", "outer_part.inner"):
        monkeypatch.delitem(sys.modules, name)
    with put_off("outer_part.inner"):
        from outer_part.inner import value
    assert value == math.pi
    for name in ("outer_part", "outer_part.inner"):
        monkeypatch.delitem(sys.modules, name)


def test_names_mean_one_thing():
    """No two classes share a name, and no module is called like one of Python's own."""
    files = list(Path(spexplain.__file__).parent.rglob("*.py"))
    classes = [
        each.name
        for file in files
        for each in ast.parse(file.read_text("utf-8")).body
        if isinstance(each, ast.ClassDef)
    ]
    assert [name for name, times in Counter(classes).items() if times > 1] == []
    assert {file.stem for file in files} & set(sys.stdlib_module_names) == set()
