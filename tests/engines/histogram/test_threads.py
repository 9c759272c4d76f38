"""Threads share work and end with it; small fits import no compiler."""

import subprocess
import sys
import threading

import pytest

from binned import heavy_tailed
from growing import grown
from spexplain.engines.histogram import HistogramEngine, scores, search
from spexplain.graphs import CliqueGraph
from spexplain.objectives import spex
from spexplain.table import coding as binning
from spexplain.threads import Threads


@pytest.mark.parametrize("stage", ["bin", "bound", "helper"])
def test_interrupts_leave_no_threads(stage, monkeypatch):
    X, labels = heavy_tailed(n_rows=3000, n_features=70)
    before = set(threading.enumerate())
    has_waited = []

    def interrupted(*arguments):
        has_waited.append(True)
        in_main = threading.current_thread() is threading.main_thread()
        if in_main != (stage == "helper") and len(has_waited) > 1:
            raise KeyboardInterrupt

    where = "code_features" if stage == "bin" else "bound"
    module = binning if stage == "bin" else scores.CompiledScores
    monkeypatch.setattr(search, "_BLOCK", 20)  # several blocks: threads have work to share
    real = getattr(module, where)
    monkeypatch.setattr(module, where, lambda *each: (interrupted(), real(*each))[1])

    def fit_again_and_again():
        for _ in range(99):
            grown(HistogramEngine(n_jobs=3), X, spex(CliqueGraph.from_labels(labels)))

    with pytest.raises(KeyboardInterrupt):
        fit_again_and_again()
    # Nobody waits for helpers after Ctrl-C: they end with what they are at.
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=60)
    assert set(threading.enumerate()) <= before


def test_threads_share_work_and_pass_on_errors():
    threads = Threads(3)
    assert threads.map(lambda task: task * task, list(range(50))) == [i * i for i in range(50)]
    with pytest.raises(ZeroDivisionError), threads:
        threads.map(lambda task: 1 // task, [1, 2, 0, 3])
    assert threads.map(lambda task: -task, [1, 2]) == [-1, -2]


def test_small_fits_import_no_compiler():
    program = (
        "import sys, numpy as np; from spexplain import SpexClique; "
        "X = np.arange(40.0).reshape(20, 2); SpexClique(2).fit(X, np.arange(20) // 10); "
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
