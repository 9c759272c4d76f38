"""Doing one task on one dataset: a reference clustering, the scores of a tree, its price, or seconds."""

import hashlib
import os
import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from spexplain import datasets
from spexplain.aliases import Array, Ints, Matrix
from spexplain.datasets.embedded import is_at_hand
from spexplain.datasets.registry import EMBEDDINGS
from spexplain.exceptions import LeafCountWarning
from spexplain.graphs import Neighbors
from spexplain.kernels.readiness import compiled_pays
from spexplain.metrics import agreement, price_of_explainability
from spexplain.metrics.price import own_centers, point_costs
from spexplain.paper.protocol import Dataset, KernelRun, KMeansRun, Run, SpectralRun
from spexplain.paper.tables import PaperTask

Record = dict[str, Any]
_SLOW = 2.0  # seconds from which a step is timed once
_RUNS = 5  # of a faster step; their median counts
_WARM_ROWS = 3_000


@dataclass
class LoadedDataset:
    """A dataset in memory: its table, its classes, and its neighbours, each found once.

    Attributes
    ----------
    X, y : array
        The table and its classes.
    n_classes : int
        Number of classes, and of clusters.
    digest : str
        Fingerprint of this table and these classes.
    is_papers_embedding : bool
        Whether the columns are those of the paper; if not, its numbers are not comparable.
    n_jobs : int
        Threads.
    """

    X: Matrix
    y: Array
    n_classes: int
    digest: str
    is_papers_embedding: bool = True
    n_jobs: int = -1
    _neighbors: dict[int, tuple[Neighbors, float]] = field(default_factory=dict)

    @classmethod
    def load(cls, dataset: Dataset, *, n_jobs: int = -1, embed: bool = False) -> "LoadedDataset":
        """Load a dataset; raise as :func:`spexplain.datasets.load` does where it is not at hand.

        Embeddings are made only if `embed` asks for it: that needs models, and may take hours.
        """
        if dataset.embedding and not embed and not is_at_hand(EMBEDDINGS[dataset.loads]):
            raise FileNotFoundError(
                "its embedding is neither in the data folder nor in the cache; --embed makes it."
            )
        bunch = datasets.load(dataset.loads)
        X, y = np.ascontiguousarray(bunch.data), np.asarray(bunch.target)
        digest = hashlib.blake2b(X.tobytes(), digest_size=8)
        digest.update(f"{X.shape}{X.dtype}".encode() + y.astype(np.int64).tobytes())
        words = dataset.embedding
        known = not words or any(word in bunch.DESCR for word in words)
        return cls(X, y, len(bunch.target_names), digest.hexdigest(), known, n_jobs)

    def neighbors(self, n_neighbors: int) -> tuple[Neighbors, float]:
        """Return the nearest neighbours of every row, and the seconds that it took to find them."""
        if n_neighbors not in self._neighbors:
            begin = time.perf_counter()
            found = Neighbors.of(self.X, n_neighbors, n_jobs=self.n_jobs)
            self._neighbors[n_neighbors] = found, time.perf_counter() - begin
        return self._neighbors[n_neighbors]

    def fresh(self) -> "LoadedDataset":
        """Return the same without the neighbours that have been found."""
        return replace(self, _neighbors={})


def compute(task: PaperTask, loaded: LoadedDataset, reference: Record | None) -> Record:
    """Do a task.

    Parameters
    ----------
    task : PaperTask
        What to compute.
    loaded : LoadedDataset
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
            return _reference(task, loaded)
        if task.kind == "scores":
            return _scores(task, loaded, labels)
        if task.kind == "price":
            return _price(task, loaded, labels)
        return _seconds(task, loaded, reference, labels)


def _reference(task: PaperTask, loaded: LoadedDataset) -> Record:
    assert task.reference is not None
    labels, seconds = cluster(task.reference, loaded)
    found = agreement(labels, loaded.y)
    return {
        "ari": found.ari,
        "ami": found.ami,
        "seconds": seconds,
        "labels": [int(label) for label in labels],
    }


def _scores(task: PaperTask, loaded: LoadedDataset, labels: Array | None) -> Record:
    assert labels is not None
    begin = time.perf_counter()
    fitted = estimator_of(task, loaded).fit(loaded.X, labels)
    seconds = time.perf_counter() - begin
    clusters = fitted.labels_
    if task.leaves > 1:
        clusters = _mapped(task, loaded, labels, fitted)
    found = agreement(clusters, loaded.y)
    return {
        "ari": found.ari,
        "ami": found.ami,
        "ref": agreement(clusters, labels).ari,
        "leaves": fitted.n_leaves_,
        "seconds": seconds,
    }


def _mapped(task: PaperTask, loaded: LoadedDataset, labels: Array, fitted: Any) -> Array:
    """Return the cluster that each leaf stands for, by the conventions of the paper.

    ExKMC's leaves have labels of their own. Other trees with a k-means reference: the reference
    centre of least summed squared distance. With a spectral one: the commonest cluster.
    """
    if task.method == "ExKMC" or not isinstance(task.reference, KMeansRun):
        return np.asarray(fitted.predict_reference(loaded.X))
    codes: Ints = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    table = np.asarray(loaded.X, dtype=np.float64)
    centers = own_centers(table, codes, "kmeans")
    costs = point_costs(table, fitted.labels_, centers, "kmeans").by_center
    return np.asarray(costs.argmin(axis=1)[fitted.labels_])


def _price(task: PaperTask, loaded: LoadedDataset, labels: Array | None) -> Record:
    assert labels is not None
    fitted = estimator_of(task, loaded).fit(loaded.X, labels)
    clusters, given = fitted.labels_, (loaded.X, fitted.labels_, labels)
    if task.method == "ExKMC":  # leaves of one centre are one cluster
        clusters = fitted.predict_reference(loaded.X)
    own = None
    if task.method in ("EMN", "IMM", "ExKMC"):
        codes = np.searchsorted(np.unique(labels), fitted.leaf_reference_)
        own = price_of_explainability(*given, convention="own", leaf_centers=codes)
    return {
        "reference": price_of_explainability(*given),
        "own": own,
        "reoptimized": price_of_explainability(
            loaded.X, clusters, labels, convention="reoptimized"
        ),
        "leaves": fitted.n_leaves_,
    }


def _seconds(
    task: PaperTask, loaded: LoadedDataset, reference: Record | None, labels: Array | None
) -> Record:
    if task.method.endswith("reference"):
        assert reference is not None
        assert task.reference is not None
        known, run = reference["seconds"], task.reference
        return _timed(lambda: cluster(run, loaded.fresh()), known)
    if task.method == "k-NN graph build":
        assert task.n_neighbors is not None
        wanted = task.n_neighbors

        def build() -> None:
            loaded.fresh().neighbors(wanted)[0].graph()

        return _timed(build, loaded.neighbors(wanted)[1])
    estimator = estimator_of(task, loaded)
    if compiled_pays(loaded.X.size):
        _warm(task, loaded, labels)
    return _timed(lambda: estimator.fit(loaded.X, labels))


def _timed(step: Callable[[], Any], known: float | None = None) -> Record:
    """Return the median time of five runs; a slow step runs once, or not again if it has run."""
    if known is not None and known >= _SLOW:
        return {"seconds": known, "runs": 1, "load": machine_load()}
    seconds: list[float] = []
    while not seconds or (len(seconds) < _RUNS and seconds[0] < _SLOW):
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
    return {"seconds": median(seconds), "runs": len(seconds), "load": machine_load()}


def _warm(task: PaperTask, loaded: LoadedDataset, labels: Array | None) -> None:
    """Fit on some rows, so that what is compiled on first use is not timed."""
    rows = slice(None, _WARM_ROWS)
    few = LoadedDataset(loaded.X[rows], loaded.y[rows], loaded.n_classes, "", n_jobs=loaded.n_jobs)
    estimator = estimator_of(task, few).set_params(engine="histogram")
    estimator.fit(few.X, None if labels is None else labels[rows])


def estimator_of(task: PaperTask, loaded: LoadedDataset) -> Any:
    """Return the unfitted estimator of a method, with the settings of the protocol."""
    import spexplain

    options: dict[str, Any] = {"n_jobs": loaded.n_jobs, "n_leaves": task.leaves * loaded.n_classes}
    if task.method == "SpEx-kNN":
        assert task.n_neighbors is not None
        neighbors: Neighbors = loaded.neighbors(task.n_neighbors)[0]
        return spexplain.SpexKNN(loaded.n_classes, n_neighbors=neighbors, **options)
    if task.method == "Kernel IMM":
        assert isinstance(task.reference, KernelRun)
        return spexplain.KernelIMM(loaded.n_classes, gamma=task.reference.gamma, **options)
    kinds: dict[str, Any] = {
        "SpEx-Clique": spexplain.SpexClique,
        # The tables of the paper do not weigh leaves by their size.
        "CART": partial(spexplain.CART, leaf_weight="none"),
        "EMN": spexplain.EMN,
        "IMM": spexplain.IMM,
        "ExKMC": spexplain.ExKMC,
    }
    return kinds[task.method](loaded.n_classes, **options)


def cluster(run: Run, loaded: LoadedDataset) -> tuple[Array, float]:
    """Return the labels of a reference clustering and the seconds that they took.

    Parameters
    ----------
    run : SpectralRun, KMeansRun or KernelRun
        The clustering and its settings.
    loaded : LoadedDataset
        The dataset. Neighbours that it knows already are not searched again; the seconds count the
        search all the same.

    Examples
    --------
    >>> from spexplain.paper import DATASETS
    >>> from spexplain.paper.compute import LoadedDataset
    >>> from spexplain.paper.compute import cluster
    >>> iris = DATASETS["Iris"]
    >>> labels, seconds = cluster(iris.kmeans, LoadedDataset.load(iris))
    >>> sorted(set(labels.tolist()))
    [0, 1, 2]
    """
    if isinstance(run, SpectralRun):
        return _spectral(run, loaded)
    begin = time.perf_counter()
    table = loaded.X
    if isinstance(run, KMeansRun) and run.standardize:
        from sklearn.preprocessing import StandardScaler

        table = StandardScaler().fit_transform(table)
    clusterer = clusterer_of(run, len(table), loaded.n_classes)
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


def _spectral(run: SpectralRun, loaded: LoadedDataset) -> tuple[Array, float]:
    from importlib.util import find_spec

    from spexplain.references.spectral import SpectralReference

    if find_spec("pyamg") is None:
        raise ImportError(
            'The spectral references need pyamg; install it with: pip install "spexplain[spectral]"'
        )
    neighbors, search = loaded.neighbors(run.n_neighbors)
    begin = time.perf_counter()
    clusterer = SpectralReference(
        loaded.n_classes,
        n_neighbors=run.n_neighbors,
        neighbors=neighbors,
        eigen_solver="amg",
        random_state=run.random_state,
    )
    labels = clusterer.fit_predict(loaded.X)
    return labels, search + time.perf_counter() - begin


def describe_machine() -> dict[str, str]:
    """Return the processor, its cores, and the versions that matter.

    Examples
    --------
    >>> from spexplain.paper.compute import describe_machine
    >>> list(describe_machine())
    ['processor', 'cores', 'system', 'Python', 'NumPy', 'scikit-learn', 'spexplain']
    """
    import numpy
    import sklearn

    from spexplain._version import __version__

    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": platform.system(),
        "Python": platform.python_version(),
        "NumPy": str(numpy.__version__),
        "scikit-learn": str(sklearn.__version__),
        "spexplain": __version__,
    }


def machine_load() -> float:
    """Return how many processes wanted a core in the last minute; 0 where the system does not say."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return 0.0


def _processor() -> str:
    """Return the name of the processor, where the system says it."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()
