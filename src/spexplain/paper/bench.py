"""One dataset on the bench: its table, classes and neighbours, loaded and found once."""

import hashlib
import time
from dataclasses import dataclass, field, replace

import numpy as np

from spexplain import datasets
from spexplain.aliases import Array, Matrix
from spexplain.datasets.embedded import is_at_hand
from spexplain.datasets.registry import EMBEDDINGS
from spexplain.graphs import Neighbors
from spexplain.paper.protocol import Dataset


@dataclass
class Bench:
    """A dataset that is at hand.

    Attributes
    ----------
    X, y : array
        The table and its classes.
    n_classes : int
        Number of classes, and of clusters.
    digest : str
        Tells this table and these classes from all others.
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
    def load(cls, dataset: Dataset, *, n_jobs: int = -1, embed: bool = False) -> "Bench":
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

    def fresh(self) -> "Bench":
        """Return the same without the neighbours that have been found."""
        return replace(self, _neighbors={})
