"""A real cluster of processes: what is lost is computed again, what cannot be is said in one sentence."""

import gc
import os
import signal
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from cloudpickle import register_pickle_by_value

from partitioned import expected, mixture
from spexplain import SpexClique
from spexplain.engines.dask import DaskEngine
from spexplain.graphs import CliqueGraph
from spexplain.grow import grow
from spexplain.objectives import spex
from spexplain.table import partitioned as partitioned_table
from spexplain.table import workers
from spexplain.table.host import HostTable
from spexplain.table.rounding import settled

distributed = pytest.importorskip("distributed")
# Workers cannot import this file: some installed packages bring a folder of tests of their own.
register_pickle_by_value(sys.modules[__name__])
pytestmark = [
    # Processes that end leave sockets and pipes to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        distributed.LocalCluster(
            processes=True, n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def case():
    X, labels = mixture(3000)
    return X, labels, expected(X, spex(CliqueGraph.from_labels(labels)))


def test_columns_of_every_kind(client):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    frame = pd.DataFrame(
        {
            "spent": np.where(rng.random(200) < 0.2, np.nan, y + rng.normal(size=200)),
            "channel": np.array(list("abcde"))[(y + rng.integers(0, 3, 200)) % 5],
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * y + np.arange(200), "D"),
        }
    )
    found = SpexClique(n_leaves=6).fit(dd.from_pandas(frame, npartitions=4), y)
    known = SpexClique(n_leaves=6).fit(frame, y)
    assert found.tree_ == known.tree_
    assert found.explanation_.fields == known.explanation_.fields
    leaves = found.predict(dd.from_pandas(frame, npartitions=3)).compute()
    assert np.array_equal(leaves, known.labels_)


def lazily(X, make, chunks):
    """Rows that the workers make, and make again if they must; `make` takes a number and rows."""
    ends = np.cumsum([0, *chunks])
    blocks = [
        da.from_delayed(
            dask.delayed(lambda *given: make(*given))(number, X[start:stop]),  # noqa: PLW0108
            (stop - start, X.shape[1]),
            dtype=X.dtype,
        )
        for number, (start, stop) in enumerate(pairwise(ends))
    ]
    return da.concatenate(blocks)


def as_it_is(number, rows):
    return rows


def fails_once(number, rows, folder):
    mark = Path(folder) / f"{number}"
    if not mark.exists():
        mark.touch()
        raise OSError("this partition fails once")
    return rows


def always_fails(number, rows):
    raise OSError("this partition cannot be read")


def other_types(number, rows):
    return rows.astype([np.float64, np.float32][number % 2])


def grown(X, labels, **options):
    objective = spex(CliqueGraph.from_labels(labels))
    return grow(DaskEngine(**options).bind(X, objective), max_leaves=8)


@pytest.mark.parametrize("chunks", [(1000, 0, 2000), (1, 1, 2998), (1500, 1500)])
def test_partitions_empty_and_of_one_row(client, case, chunks):
    X, labels, tree = case
    assert grown(lazily(X, as_it_is, chunks), labels) == tree


def test_clusters_absent_from_some_partitions(client, case):
    X, labels, tree = case
    order = np.argsort(labels, kind="stable")
    found = SpexClique(n_leaves=8).fit(
        da.from_array(X[order], chunks=(500, 3)), da.from_array(labels[order], chunks=300)
    )
    assert found.tree_ == settled(tree, HostTable(X))


def test_number_types_differ(client, case):
    X, labels, tree = case
    assert grown(lazily(X, other_types, (700, 800, 1500)), labels) == tree
    frames = [
        pd.DataFrame(X[:900], columns=list("abc")),
        pd.DataFrame(X[900:], columns=list("abc")).astype(float),
    ]
    mixed = dd.from_delayed(
        [dask.delayed(each) for each in frames], meta=frames[1], verify_meta=False
    )
    assert grown(mixed, labels) == tree


def test_frames_of_delayed_parts_define_no_task_twice(client, case):
    """Dask may stop, or find a cycle, if two requests give one task different contents."""
    X, labels, _ = case
    frames = [
        pd.DataFrame(X[start : start + 1000], columns=list("abc")).assign(
            label=labels[start : start + 1000]
        )
        for start in range(0, 3000, 1000)
    ]
    parts = [dask.delayed(lambda each: each.copy())(each) for each in frames]
    rows = dd.from_delayed(parts, meta=frames[0])
    for columns in (list("abc"), list("ab"), list("abc")):
        found = SpexClique(n_leaves=8).fit(rows[columns], rows["label"])
        known = SpexClique(n_leaves=8).fit(pd.concat(frames)[columns], labels)
        assert found.tree_ == known.tree_
        logs = [text for _, text in client.get_scheduler_logs()]
        assert not [text for text in logs if "different `run_spec`" in text]


def test_partitions_on_disk_give_the_same_tree(client, case, monkeypatch):
    """Bins and values that do not fit into memory lie in files of the workers, and go with the fit."""
    X, labels, tree = case
    monkeypatch.setattr(partitioned_table, "_CODED_SHARE", 0.0)
    rows = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=5)
    y = dd.from_pandas(pd.Series(labels), npartitions=5)
    found = SpexClique(n_leaves=8).fit(rows, y)

    def files(dask_worker):
        return len(list(Path(dask_worker.local_directory).glob("spexplain-*.part")))

    assert sum(client.run(files).values()) == 5
    assert found.tree_ == settled(tree, HostTable(X))
    known = SpexClique(n_leaves=8).fit(pd.DataFrame(X, columns=list("abc")), labels)
    for one, other in zip(found.path_, known.path_, strict=True):
        assert one._replace(price=0) == other._replace(price=0)
        assert one.price == pytest.approx(other.price, rel=1e-9)
    assert np.allclose(found.explanation_.scales, known.explanation_.scales, equal_nan=True)
    del found
    end = time.monotonic() + 30
    while sum(client.run(files).values()) and time.monotonic() < end:
        gc.collect()  # a cycle of references may hold it until then, as with the oldest packages
        time.sleep(0.1)
    assert not sum(client.run(files).values())


def test_partition_that_fails_once(client, case, tmp_path):
    X, labels, tree = case
    rows = lazily(X, lambda number, rows: fails_once(number, rows, tmp_path), (1000, 1000, 1000))
    assert grown(rows, labels) == tree
    assert len(list(tmp_path.iterdir())) == 3


def test_partition_that_always_fails(client, case):
    X, labels, _ = case
    with pytest.raises(OSError, match="cannot be read"):
        grown(lazily(X, always_fails, (1500, 1500)), labels)


def test_text_in_a_partition(client, case):
    X, labels, _ = case
    rows = lazily(X, lambda number, rows: np.char.add(rows.astype(str), "x" * number), (1500, 1500))
    with pytest.raises(ValueError, match="encode such columns"):
        grown(rows, labels)


def test_killed_worker(client, case, monkeypatch):
    X, labels, tree = case
    rows = lazily(X, as_it_is, (600,) * 5)
    killed = []
    ask = workers.Workers.ask

    def ask_and_kill(self, kind, *arguments, **options):
        if kind == "histograms" and not killed:
            pids = client.run(os.getpid)
            killed.append(next(iter(pids.values())))
            # In the middle of the request, not before it.
            threading.Timer(0.02, os.kill, (killed[0], signal.SIGKILL)).start()
        return ask(self, kind, *arguments, **options)

    monkeypatch.setattr(workers.Workers, "ask", ask_and_kill)
    assert grown(rows, labels) == tree
    assert killed
    deadline = time.monotonic() + 30
    while len(client.scheduler_info()["workers"]) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)


def test_results_stay_lazy_and_tasks_are_named(client, case):
    X, labels, tree = case
    rows, y = da.from_array(X, chunks=(1000, 3)), da.from_array(labels, chunks=1000)
    found = SpexClique(n_leaves=8).fit(rows, y)
    assert found.tree_ == settled(tree, HostTable(X))
    assert np.array_equal(found.predict(rows).compute(), found.predict(X))
    prefixes = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    assert {"spexplain-codes", "spexplain-histograms", "spexplain-look"} <= set(prefixes)


@pytest.mark.parametrize("status", ["none", "paused"])
def test_a_cluster_that_cannot_work_is_said_and_given_up(monkeypatch, case, status):
    """Without workers, or with workers that are paused for want of memory, a fit would wait for ever."""
    X, labels, _ = case
    monkeypatch.setattr(workers, "_PATIENCE", 0.2)
    monkeypatch.setattr(workers, "_MOST_IDLE", 3)
    memory = {"distributed.worker.memory.pause": 1e-9 if status == "paused" else False}
    with (
        dask.config.set(memory),
        distributed.LocalCluster(
            processes=False,
            n_workers=int(status == "paused"),
            memory_limit="1GiB",
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster) as own,
        own.as_current(),
    ):
        if status == "paused":
            end = time.monotonic() + 60
            while workers._stalled(own) is None and time.monotonic() < end:
                time.sleep(0.1)
        why = "has no workers" if status == "none" else "are paused, for too little memory"
        rows = da.from_array(X, chunks=(1000, -1))
        with (
            pytest.warns(UserWarning, match=f"{why}; waiting"),
            pytest.raises(RuntimeError, match=f"{why}; start workers, give them more memory"),
        ):
            SpexClique().fit(rows, labels)
