"""A run keeps what it has finished, goes on where it stopped, and says what it lacks."""

import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from spexplain.paper import DATASETS, Store, rows_of
from spexplain.paper import results as runner
from spexplain.paper import run as run_paper
from spexplain.paper.compute import LoadedDataset
from spexplain.paper.tables import tasks_of

pytest.importorskip("pyamg", reason="the spectral references need the extra spectral")

NAMES = ["Iris"]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells")


@pytest.fixture
def computed(monkeypatch):
    """The tasks that are really computed, as a list that grows."""
    tasks, compute = [], runner.compute

    def spy(task, loaded, reference):
        tasks.append(task)
        return compute(task, loaded, reference)

    monkeypatch.setattr(runner, "compute", spy)
    return tasks


def test_an_interrupted_run_goes_on_where_it_stopped(store, computed, monkeypatch):
    counted = runner.compute

    def interrupted(task, loaded, reference):
        if len(computed) == 4:
            raise KeyboardInterrupt
        return counted(task, loaded, reference)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "compute", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_paper(["price", "leaves"], NAMES, store, n_jobs=1)
    assert len(list(store.folder.glob("*.json"))) == 4
    first = computed.copy()
    results = run_paper(["price", "leaves"], NAMES, store, n_jobs=1)
    assert set(first).isdisjoint(computed[4:])
    assert len(computed) == len(set(computed)) == len(tasks_of(results.rows))
    assert results.n_computed == len(computed) - 4
    again = run_paper(["price", "leaves"], NAMES, store, n_jobs=1)
    assert again.n_computed == 0
    assert again.records == results.records


def test_a_killed_process_loses_one_cell_at_most(store, computed, tmp_path):
    pytest.importorskip("typer", reason="needs the extra cli")
    command = [sys.executable, "-m", "spexplain", "paper", "--datasets", "iris", "--jobs", "1"]
    child = subprocess.Popen(
        [*command, "--tables", "small,neighbors,runtime", "--out", str(tmp_path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 60
    while len(list(store.folder.glob("*.json"))) < 3 and time.monotonic() < end:
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait(timeout=30)
    n_kept = len(list(store.folder.glob("*.json")))
    results = run_paper(["small", "neighbors", "runtime"], NAMES, store, n_jobs=1)
    total = len(
        tasks_of(rows_of("small", NAMES) + rows_of("neighbors", NAMES) + rows_of("runtime", NAMES))
    )
    assert 3 <= n_kept < total
    assert len(computed) == total - n_kept
    assert len(results.records) == total
    assert all(
        value.ours is not None
        for row in results.rows
        for value in results.values(row)
        if value.published is not None
    )


def test_equal_tasks_of_several_tables_are_done_once(store, computed):
    run_paper(["price"], NAMES, store, n_jobs=1)
    assert sum(task.kind == "reference" for task in computed) == 1


def test_a_record_is_taken_only_for_what_it_was_made_for(store, monkeypatch):
    task = rows_of("price", NAMES)[0].task
    store.put(task, "data", {"reference": 1.5})
    assert store.get(task, "data") == {"reference": 1.5}
    assert store.get(task, "other data") is None
    assert store.get(replace(task, leaves=2), "data") is None
    assert store.get(replace(task, reference=DATASETS["Iris"].kmeans), "data") is None
    monkeypatch.setattr("spexplain.paper.results.__version__", "another")
    assert store.get(task, "data") is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"of": 1}', '{"record": {}}'])
def test_a_damaged_file_is_computed_again(store, computed, content):
    run_paper(["leaves"], ["Cancer"], store, n_jobs=1)
    n_before = len(computed)
    next(store.folder.glob("*scores-exkmc*")).write_text(content)
    run_paper(["leaves"], ["Cancer"], store, n_jobs=1)
    assert [task.method for task in computed[n_before:]] == ["ExKMC"]


def test_progress_is_told(store):
    told = []
    run_paper(["price"], NAMES, store, n_jobs=1, advance=lambda *step: told.append(step))
    assert told[-1] == (6, 6, "done")
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)


def test_datasets_that_are_not_at_hand(store, tmp_path, monkeypatch):
    monkeypatch.setenv("SPEXPLAIN_DATA", str(tmp_path))
    monkeypatch.setenv("SPEXPLAIN_CACHE", str(tmp_path))
    results = run_paper(["price"], ["Iris", "MNIST", "Cifar"], store, n_jobs=1)
    assert list(results.absent) == ["MNIST", "Cifar"]
    assert {row.dataset for row in results.rows} == {"Iris"}


def test_an_embedding_that_is_not_the_papers(monkeypatch, store):
    iris = LoadedDataset.load(DATASETS["Iris"], n_jobs=1)
    monkeypatch.setattr(
        LoadedDataset, "load", lambda dataset, **_: replace(iris, is_papers_embedding=False)
    )
    results = run_paper(["leaves"], ["Cifar"], store, n_jobs=1)
    assert results.foreign == ["Cifar"]
    assert not any(value.comparable for row in results.rows for value in results.values(row))


def test_a_missing_package_is_named_once(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyamg", None)
    results = run_paper(["leaves"], ["Cancer"], store, n_jobs=1)
    assert len(results.failed) == 1
    assert 'pip install "spexplain[spectral]"' in results.failed[0]
    ours = {row.group: results.values(row)[0].ours for row in results.rows}
    assert ours["spectral"] is None
    assert ours["k-means"] is not None


def test_prices_keep_their_order(store):
    results = run_paper(["price"], ["Iris", "Cancer"], store, n_jobs=1)
    for row in results.rows:
        reference, own, reoptimized = (value.ours for value in results.values(row))
        assert reoptimized <= reference + 1e-12
        assert (own is None) == (row.method in ("SpEx-Clique", "CART"))
        assert own is None or own >= reference - 1e-12
        assert np.isfinite(reference)


def test_timing_repeats_fast_steps(store):
    results = run_paper(["runtime"], NAMES, store, n_jobs=1)
    records = [record for task, record in results.records.items() if task.kind == "seconds"]
    assert len(records) == 7
    assert all(record["runs"] == 5 and record["seconds"] > 0 for record in records)
