"""The reference clusterings of the protocol."""

import time
from typing import Any

import numpy as np

from spexplain.aliases import Array
from spexplain.paper.bench import Bench
from spexplain.paper.protocol import KernelRun, KMeansRun, Run, SpectralRun


def cluster(run: Run, bench: Bench) -> tuple[Array, float]:
    """Return the labels of a reference clustering and the seconds that they took.

    Parameters
    ----------
    run : SpectralRun, KMeansRun or KernelRun
        The clustering and its settings.
    bench : Bench
        The dataset. Neighbours that it knows already are not searched again; the seconds count the
        search all the same.

    Examples
    --------
    >>> from spexplain.paper import DATASETS
    >>> from spexplain.paper.bench import Bench
    >>> from spexplain.paper.references import cluster
    >>> iris = DATASETS["Iris"]
    >>> labels, seconds = cluster(iris.kmeans, Bench.load(iris))
    >>> sorted(set(labels.tolist()))
    [0, 1, 2]
    """
    if isinstance(run, SpectralRun):
        return _spectral(run, bench)
    begin = time.perf_counter()
    table = bench.X
    if isinstance(run, KMeansRun) and run.standardize:
        from sklearn.preprocessing import StandardScaler

        table = StandardScaler().fit_transform(table)
    clusterer = clusterer_of(run, len(table), bench.n_classes)
    labels = np.asarray(clusterer.fit_predict(table))
    return labels, time.perf_counter() - begin


def clusterer_of(run: KMeansRun | KernelRun, n_rows: int, n_clusters: int) -> Any:
    """Return the unfitted clusterer of a run."""
    if isinstance(run, KernelRun):
        from spexplain.references import KernelKMeans

        start: Any = "k-means++"
        if run.start is not None:
            start = np.random.default_rng(run.start).integers(n_clusters, size=n_rows)
        return KernelKMeans(n_clusters, gamma=run.gamma, init=start, random_state=run.random_state)
    from sklearn.cluster import KMeans, MiniBatchKMeans

    if run.mini_batch:  # scikit-learn's own number of starts
        return MiniBatchKMeans(n_clusters, random_state=run.random_state)
    return KMeans(
        n_clusters, n_init=run.n_init, max_iter=run.max_iter, random_state=run.random_state
    )


def _spectral(run: SpectralRun, bench: Bench) -> tuple[Array, float]:
    from importlib.util import find_spec

    from spexplain.references.spectral import SpectralReference

    if find_spec("pyamg") is None:
        raise ImportError(
            'The spectral references need pyamg; install it with: pip install "spexplain[spectral]"'
        )
    neighbors, search = bench.neighbors(run.n_neighbors)
    begin = time.perf_counter()
    clusterer = SpectralReference(
        bench.n_classes,
        n_neighbors=run.n_neighbors,
        neighbors=neighbors,
        eigen_solver="amg",
        random_state=run.random_state,
    )
    labels = clusterer.fit_predict(bench.X)
    return labels, search + time.perf_counter() - begin
