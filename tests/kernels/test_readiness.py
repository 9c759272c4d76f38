"""Compiled code is taken where it pays: by the size of the table, and by what is loaded or kept on disk."""

import os
import subprocess
import sys

import numpy as np
import pytest

from spexplain.engines import base as engines
from spexplain.engines.exhaustive import NumpyEngine
from spexplain.engines.histogram import HistogramEngine
from spexplain.graphs import CliqueGraph
from spexplain.kernels import readiness
from spexplain.kernels.readiness import compiled_pays, count_table
from spexplain.objectives import spex

COMPILED, LOADED, IMPORTED = 25_000_000, 4_000_000, 1_500_000


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """A process without Numba whose kernels are kept nowhere; the folder where they would be kept."""
    folder = tmp_path / "kernels_0"
    folder.mkdir()
    for name in ("numba", "spexplain.kernels.labels", "spexplain.kernels.edges"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(readiness, "_n_values_before", 0)
    readiness._is_on_disk.cache_clear()
    yield folder
    readiness._is_on_disk.cache_clear()


def test_compiling_pays_for_very_large_tables(fresh):
    assert not compiled_pays(LOADED)
    assert compiled_pays(COMPILED)


def test_loading_pays_for_large_tables(fresh, monkeypatch):
    (fresh / "labels.walk_labels-17.py311.nbi").touch()
    assert not compiled_pays(IMPORTED)
    assert compiled_pays(LOADED)
    assert not compiled_pays(LOADED, "edges.walk_edges")
    monkeypatch.setitem(sys.modules, "numba", None)
    assert compiled_pays(IMPORTED)


def test_one_small_kernel_pays_where_numba_runs(fresh, monkeypatch):
    monkeypatch.delitem(sys.modules, "spexplain.kernels.groups", raising=False)
    assert not compiled_pays(IMPORTED, "groups.survey_columns")
    monkeypatch.setitem(sys.modules, "numba", None)
    assert compiled_pays(IMPORTED, "groups.survey_columns")
    assert not compiled_pays(IMPORTED, "edges.walk_edges")


def test_nothing_pays_where_numba_is_switched_off(fresh, monkeypatch):
    (fresh / "labels.walk_labels-17.py311.nbi").touch()
    assert compiled_pays(COMPILED)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert not compiled_pays(COMPILED)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    assert compiled_pays(COMPILED)


def test_tables_of_any_size_are_explained_without_numba_switched_on():
    code = (
        "import numpy as np; from spexplain import SpexClique; from spexplain.kernels import labels; "
        "X = np.random.default_rng(0).normal(size=(3000, 20)); "
        "print(SpexClique().fit(X, X[:, 3] > 0).to_text())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("x3 ≤ 0")


def test_many_tables_count_like_a_large_one(fresh):
    for _ in range(2000):
        count_table(19_000)  # too small to gain anything
    assert not compiled_pays(100_000)
    for _ in range(200):
        count_table(100_000)
    assert compiled_pays(100_000)
    assert not compiled_pays(19_000)


def test_kernels_that_ran_pay_for_all_but_small_tables():
    X, labels = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50) % 2
    search = HistogramEngine().bind(X, spex(CliqueGraph.from_labels(labels)))
    search.best_cuts([search.root()])
    assert compiled_pays(50_000)
    assert not compiled_pays(5_000)


@pytest.mark.parametrize("pays", [False, True])
def test_auto_asks(monkeypatch, pays):
    asked, counted = [], []
    monkeypatch.setattr(engines, "compiled_pays", lambda *size: asked.append(size) or pays)
    monkeypatch.setattr(engines, "count_table", counted.append)
    X, labels = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50) % 2
    objective = spex(CliqueGraph.from_labels(labels))
    search = engines.resolve_engine("auto").bind(X, objective)
    engine = HistogramEngine() if pays else NumpyEngine()
    assert type(search) is type(engine.bind(X, objective))
    assert asked == [(100, "labels.walk_labels")]
    assert counted == [] if pays else [100]


def test_asking_loads_nothing():
    code = (
        "import sys; from spexplain.kernels.readiness import compiled_pays;"
        " compiled_pays(10**6); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
