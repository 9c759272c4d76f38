"""The same bits whatever the number of threads, however often, in either engine."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from spexplain import SpexClique
from spexplain.engines import exhaustive as numpy_engine
from spexplain.engines.histogram import search
from spexplain.ledgers import labels as ledger_labels
from trust.jobs import METHODS, bits, fit_bits, fitted, table

REPETITIONS = 2


@pytest.fixture
def shared(monkeypatch):
    """Let threads share small tables too, and count what they are handed."""
    monkeypatch.setattr(search, "_N_SHARED", 0)
    monkeypatch.setattr(search, "_N_VISITS", 1)
    monkeypatch.setattr(search, "_BLOCK", 64)
    monkeypatch.setattr(ledger_labels, "_N_VISITS", 0)
    monkeypatch.setattr(ledger_labels, "_BLOCK", 2)
    monkeypatch.setattr(numpy_engine, "_BLOCK", 1 << 11)
    handed = []
    submit = ThreadPoolExecutor.submit

    def counted(self, *args, **options):
        handed.append(args[0])
        return submit(self, *args, **options)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", counted)
    return handed


@pytest.mark.parametrize("method", METHODS)
def test_threads_and_repetitions(shared, method):
    expected = fit_bits(method, n_jobs=1)
    assert not shared  # one thread means no other
    for n_jobs in (2, 8):
        for _ in range(REPETITIONS):
            assert fit_bits(method, n_jobs=n_jobs) == expected
    if method not in ("random cuts",):  # drawn one after the other
        assert shared


@pytest.mark.parametrize("method", METHODS)
def test_threads_of_the_exhaustive_engine(shared, method):
    expected = fit_bits(method, n_jobs=1, engine="numpy")
    assert fit_bits(method, n_jobs=8, engine="numpy") == expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", ["clique", "imm", "cart"])
def test_large_tables_as_they_are(method, dtype):
    """Nothing is patched: a root of more values than one thread takes alone."""
    n_rows = search._N_SHARED // 9 + 1000
    expected = fit_bits(method, n_jobs=1, n_rows=n_rows, dtype=dtype)
    for n_jobs in (2, 8):
        assert fit_bits(method, n_jobs=n_jobs, n_rows=n_rows, dtype=dtype) == expected


@pytest.mark.parametrize("reference", ["spectral", "kmeans", "kmedians", "kernel_kmeans"])
def test_references_repeat(reference):
    X, _ = table(400)
    fits = [
        SpexClique(3, reference=reference, random_state=5, n_jobs=n_jobs).fit(X)
        for n_jobs in (1, 2, 8, 1)
    ]
    assert len({bits(each) for each in fits}) == 1


def test_digests_tell_fits_apart():
    """A digest that never differs would prove nothing."""
    digests = {method: fit_bits(method) for method in ("clique", "cart", "emn")}
    assert len(set(digests.values())) == 3
    estimator = fitted("clique")
    before, tree = bits(estimator), estimator.tree_
    estimator.tree_ = replace(tree, threshold=np.nextafter(tree.threshold, np.inf))
    assert bits(estimator) != before
