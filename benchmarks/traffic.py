"""What the Dask engine moves: bytes of all answers, and what workers really had from each other."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

N_WORKERS = 2
N_PARTITIONS = 16
N_DRAWN = 100_000  # rows that are drawn at a time


@contextmanager
def cluster(memory_limit: str) -> Iterator[Any]:
    """Start two worker processes and a client."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            processes=True,
            n_workers=N_WORKERS,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address=":0",
        ) as workers,
        Client(workers) as client,
    ):
        yield client


def sent(rows: np.ndarray, size: int) -> Any:
    """Return rows that the workers hold, as a Dask array."""
    import dask.array as da

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        return da.from_array(rows, chunks=(size, *rows.shape[1:])).persist()


def objective_of(labels: Any) -> Any:
    from spexplain.graphs import CliqueGraph
    from spexplain.objectives import spex

    return spex(CliqueGraph.from_labels(labels))


def drawn(n_rows: int, n_columns: int, n_clusters: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of one mixture with a tenth of the labels flipped: fewer rows are the first of more."""
    rng = np.random.default_rng(0)
    centers = 2.0 * rng.normal(size=(n_clusters, n_columns))
    mixing = rng.normal(size=(n_columns, n_columns)) / np.sqrt(n_columns)
    X, labels = np.empty((n_rows, n_columns), dtype=np.float32), np.empty(n_rows, dtype=np.int64)
    for start in range(0, n_rows, N_DRAWN):
        rng, room = np.random.default_rng([0, start]), min(N_DRAWN, n_rows - start)
        own = rng.integers(0, n_clusters, N_DRAWN)
        block = (centers[own] + rng.standard_normal((N_DRAWN, n_columns))) @ mixing
        block += 0.5 * rng.standard_normal(block.shape)
        own = np.where(rng.random(N_DRAWN) < 0.1, rng.integers(0, n_clusters, N_DRAWN), own)
        X[start : start + room], labels[start : start + room] = block[:room], own[:room]
    return X, labels


def traffic(sizes: list[int], n_columns: int) -> list[dict[str, Any]]:
    """Return the bytes that travel for tables of one distribution and several lengths."""
    import dask

    from spexplain.engines.dask import DaskEngine
    from spexplain.grow import grow

    records = []
    X, labels = drawn(max(sizes), n_columns)
    for n_rows in sizes:
        with dask.config.set(scheduler="threads"):
            engine = DaskEngine(rows_per_partition=-(-n_rows // N_PARTITIONS))
            search = engine.bind(X[:n_rows], objective_of(labels[:n_rows]))
            grow(search, max_leaves=10)
        moved = search.workers.traffic
        records.append(
            {
                "rows": n_rows,
                "columns": n_columns,
                "partitions": N_PARTITIONS,
                "requests": dict(moved.requests),
                "answers": dict(moved.answers),
                "between": dict(moved.between),
                "sent": dict(moved.sent),
                "histograms_bound": n_columns * 256 * 11 * 8 * moved.requests["histograms"],
            }
        )
        print(records[-1], flush=True)
    return records


def received(dask_worker: Any) -> list[tuple[str, int]]:
    """Return key and bytes of whatever a worker had from another."""
    log = dask_worker.transfer_incoming_log
    return [(str(key), int(size)) for each in log for key, size in each["keys"].items()]


def between_workers(n_rows: int, n_columns: int) -> dict[str, Any]:
    """Return what two workers really had from each other for one tree, as they logged it themselves."""
    from distributed import wait

    from spexplain.engines.dask import DaskEngine
    from spexplain.grow import grow

    whole = drawn(n_rows, n_columns)
    with cluster("4GB") as client:
        X, y = (sent(each, -(-n_rows // N_PARTITIONS)) for each in whole)
        wait([X, y])
        search = DaskEngine().bind(X, objective_of(y))
        grow(search, max_leaves=10)
        logs = client.run(received)
    moved: dict[str, int] = {}
    for key, size in (each for log in logs.values() for each in log):
        kind = key.split("-")[1] if key.startswith("spexplain-") else "rows"
        moved[kind] = moved.get(kind, 0) + size
    requests = dict(search.workers.traffic.requests)
    return {"rows": n_rows, "partitions": N_PARTITIONS, "moved": moved, "requests": requests}
