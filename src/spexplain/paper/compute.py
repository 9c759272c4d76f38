"""Doing one task: a reference clustering, the scores of a tree, its price, or seconds."""

import time
import warnings
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from spexplain.aliases import Array, Ints
from spexplain.engines.base import SMALL_TABLE
from spexplain.exceptions import LeafCountWarning
from spexplain.graphs import Neighbors
from spexplain.metrics import agreement, price_of_explainability
from spexplain.metrics.price import own_centers, point_costs
from spexplain.paper.bench import Bench
from spexplain.paper.machine import load
from spexplain.paper.protocol import KernelRun, KMeansRun
from spexplain.paper.references import cluster
from spexplain.paper.tables import Task

Record = dict[str, Any]
_SLOW = 2.0  # seconds from which a step is timed once
_RUNS = 5  # of a faster step; their median counts
_WARM_ROWS = 3_000


def compute(task: Task, bench: Bench, reference: Record | None) -> Record:
    """Do a task.

    Parameters
    ----------
    task : Task
        What to compute.
    bench : Bench
        Its dataset.
    reference : dict or None
        The record of the reference clustering that the task names, if it is another task's.

    Returns
    -------
    record : dict
        Numbers, and labels for a reference clustering; it can be written as JSON.
    """
    labels = None if reference is None else np.asarray(reference["labels"])
    with warnings.catch_warnings():
        # The record tells how many leaves there are.
        warnings.simplefilter("ignore", LeafCountWarning)
        # The eigensolver stops after 20 steps, a little short of its tolerance where there are many
        # clusters.
        warnings.filterwarnings("ignore", message="\\s*Exited ", category=UserWarning)
        if task.kind == "reference":
            return _reference(task, bench)
        if task.kind == "scores":
            return _scores(task, bench, labels)
        if task.kind == "price":
            return _price(task, bench, labels)
        return _seconds(task, bench, reference, labels)


def _reference(task: Task, bench: Bench) -> Record:
    assert task.reference is not None
    labels, seconds = cluster(task.reference, bench)
    found = agreement(labels, bench.y)
    return {
        "ari": found.ari,
        "ami": found.ami,
        "seconds": seconds,
        "labels": [int(label) for label in labels],
    }


def _scores(task: Task, bench: Bench, labels: Array | None) -> Record:
    assert labels is not None
    begin = time.perf_counter()
    fitted = estimator_of(task, bench).fit(bench.X, labels)
    seconds = time.perf_counter() - begin
    clusters = fitted.labels_
    if task.leaves > 1:
        clusters = _mapped(task, bench, labels, fitted)
    found = agreement(clusters, bench.y)
    return {
        "ari": found.ari,
        "ami": found.ami,
        "ref": agreement(clusters, labels).ari,
        "leaves": fitted.n_leaves_,
        "seconds": seconds,
    }


def _mapped(task: Task, bench: Bench, labels: Array, fitted: Any) -> Array:
    """Return the cluster that each leaf stands for, by the conventions of the paper.

    ExKMC's leaves have labels of their own. Other trees with a k-means reference: the reference
    centre of least summed squared distance. With a spectral one: the commonest cluster.
    """
    if task.method == "ExKMC" or not isinstance(task.reference, KMeansRun):
        return np.asarray(fitted.predict_reference(bench.X))
    codes: Ints = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    table = np.asarray(bench.X, dtype=np.float64)
    centers = own_centers(table, codes, "kmeans")
    costs = point_costs(table, fitted.labels_, centers, "kmeans").by_center
    return np.asarray(costs.argmin(axis=1)[fitted.labels_])


def _price(task: Task, bench: Bench, labels: Array | None) -> Record:
    assert labels is not None
    fitted = estimator_of(task, bench).fit(bench.X, labels)
    clusters, given = fitted.labels_, (bench.X, fitted.labels_, labels)
    if task.method == "ExKMC":  # leaves of one centre are one cluster
        clusters = fitted.predict_reference(bench.X)
    own = None
    if task.method in ("EMN", "IMM", "ExKMC"):
        codes = np.searchsorted(np.unique(labels), fitted.leaf_reference_)
        own = price_of_explainability(*given, convention="own", leaf_centers=codes)
    return {
        "reference": price_of_explainability(*given),
        "own": own,
        "reoptimized": price_of_explainability(bench.X, clusters, labels, convention="reoptimized"),
        "leaves": fitted.n_leaves_,
    }


def _seconds(task: Task, bench: Bench, reference: Record | None, labels: Array | None) -> Record:
    if task.method.endswith("reference"):
        assert reference is not None
        assert task.reference is not None
        known, run = reference["seconds"], task.reference
        return _timed(lambda: cluster(run, bench.fresh()), known)
    if task.method == "k-NN graph build":
        assert task.n_neighbors is not None
        wanted = task.n_neighbors

        def build() -> None:
            bench.fresh().neighbors(wanted)[0].graph()

        return _timed(build, bench.neighbors(wanted)[1])
    estimator = estimator_of(task, bench)
    if bench.X.size >= SMALL_TABLE:
        _warm(task, bench, labels)
    return _timed(lambda: estimator.fit(bench.X, labels))


def _timed(step: Callable[[], Any], known: float | None = None) -> Record:
    """Return the median time of five runs; a slow step runs once, or not again if it has run."""
    if known is not None and known >= _SLOW:
        return {"seconds": known, "runs": 1, "load": load()}
    seconds: list[float] = []
    while not seconds or (len(seconds) < _RUNS and seconds[0] < _SLOW):
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
    return {"seconds": median(seconds), "runs": len(seconds), "load": load()}


def _warm(task: Task, bench: Bench, labels: Array | None) -> None:
    """Fit on some rows, so that what is compiled on first use is not timed."""
    rows = slice(None, _WARM_ROWS)
    few = Bench(bench.X[rows], bench.y[rows], bench.n_classes, "", n_jobs=bench.n_jobs)
    estimator = estimator_of(task, few).set_params(engine="histogram")
    estimator.fit(few.X, None if labels is None else labels[rows])


def estimator_of(task: Task, bench: Bench) -> Any:
    """Return the unfitted estimator of a method, with the settings of the protocol."""
    import spexplain

    options: dict[str, Any] = {"n_jobs": bench.n_jobs, "n_leaves": task.leaves * bench.n_classes}
    if task.method == "SpEx-kNN":
        assert task.n_neighbors is not None
        neighbors: Neighbors = bench.neighbors(task.n_neighbors)[0]
        return spexplain.SpexKNN(bench.n_classes, n_neighbors=neighbors, **options)
    if task.method == "Kernel IMM":
        assert isinstance(task.reference, KernelRun)
        return spexplain.KernelIMM(bench.n_classes, gamma=task.reference.gamma, **options)
    kinds: dict[str, Any] = {
        "SpEx-Clique": spexplain.SpexClique,
        # The tables of the paper do not weigh leaves by their size.
        "CART": partial(spexplain.CART, leaf_weight="none"),
        "EMN": spexplain.EMN,
        "IMM": spexplain.IMM,
        "ExKMC": spexplain.ExKMC,
    }
    return kinds[task.method](bench.n_classes, **options)
