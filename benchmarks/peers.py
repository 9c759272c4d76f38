"""Other packages that explain clusters with a tree, behind one face: fit, labels_ (leaves), n_leaves_.

All are optional: what is not installed is left out. ``pip install spexplain[benchmark]`` brings ConTree,
STreeD and Kauri. ExKMC (the authors' package on PyPI) compiles on Python 3.10 and older only: make an
environment for it,

    python3.10 -m venv .venv-exkmc
    .venv-exkmc/bin/pip install "setuptools<70" wheel "numpy<2" scikit-learn pandas
    .venv-exkmc/bin/pip install --no-build-isolation ExKMC

and name its Python in ``SPEXPLAIN_EXKMC``. That Python runs this file, so it imports nothing else at the top.
"""

import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

LIMIT = 60.0  # seconds of the solvers of optimal trees
THRESHOLDS = 20  # of each column, for STreeD; its default of five misses much
MOST_KAURI = 2_000  # rows: its time and memory grow with their square


class SklearnTree:
    """scikit-learn's classification tree of a given number of leaves, fitted to the clusters."""

    objective_ = None  # it reports none

    def __init__(self, n_leaves, *, refine=None, n_jobs=None):
        from sklearn.tree import DecisionTreeClassifier

        self.tree = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0)

    def fit(self, X, labels):
        """Fit the tree; its leaves are the clusters of the rows."""
        self.labels_ = self.tree.fit(X, labels).apply(X)
        self.n_leaves_ = self.tree.get_n_leaves()
        return self


class ConTreePeer:
    """ConTree: the optimal tree of a depth. It takes no number of leaves: the least depth that holds as many."""

    def __init__(self, n_leaves, *, n_jobs=None):
        from pycontree import ConTree

        depth = max(1, math.ceil(math.log2(n_leaves)))
        self.tree = ConTree(max_depth=depth, time_limit=LIMIT)

    def fit(self, X, labels):
        """Fit the tree."""
        self.tree.fit(X, labels)
        # It does not say which leaf a row is in, but the shares of the clusters in that leaf.
        self.labels_ = _numbered(self.tree.predict_proba(X))
        self.n_leaves_ = self.labels_.max() + 1
        return self


class STreeDPeer:
    """STreeD: the optimal tree of a number of tests, on some thresholds of each column."""

    def __init__(self, n_leaves, *, n_jobs=None):
        from pystreed import STreeDClassifier

        # Deeper ones do not end in a minute; a tree of few leaves is at most as deep as it has tests.
        depth = min(n_leaves - 1, max(4, math.ceil(math.log2(n_leaves))))
        self.tree = STreeDClassifier(
            max_depth=depth,
            max_num_nodes=n_leaves - 1,
            n_thresholds=THRESHOLDS,
            time_limit=LIMIT,
        )

    def fit(self, X, labels):
        """Fit the tree."""
        self.tree.fit(X, labels)
        self.labels_ = _numbered(self.tree.predict_proba(X))
        self.n_leaves_ = self.tree.get_n_leaves()
        return self


class KauriPeer:
    """Kauri: a tree that clusters by itself. It never sees the labels."""

    def __init__(self, n_leaves, *, n_jobs=None):
        from gemclus.tree import Kauri

        self.tree = Kauri(max_clusters=n_leaves, max_leaves=n_leaves, random_state=0)

    def fit(self, X, labels):
        """Fit the tree."""
        self.labels_ = self.tree.fit(X).labels_
        self.n_leaves_ = len(np.unique(self.labels_))
        return self


class ExKMCPeer:
    """ExKMC, the authors' package, in a Python that can compile it: one leaf per cluster, means as centres."""

    def __init__(self, n_leaves, *, n_jobs=None):
        self.python = os.environ.get("SPEXPLAIN_EXKMC")
        if not self.python:
            raise ImportError("SPEXPLAIN_EXKMC names no Python that has ExKMC.")
        self.n_leaves = n_leaves

    def fit(self, X, labels):
        """Fit the tree in the other Python."""
        with tempfile.TemporaryDirectory() as folder:
            given, found = Path(folder, "given.npz"), Path(folder, "found.npz")
            np.savez(given, X=X, labels=labels, n_leaves=self.n_leaves)
            command = [self.python, __file__, str(given), str(found)]
            subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": ""})
            with np.load(found) as result:
                self.labels_, self.seconds_ = result["leaves"], float(result["seconds"])
        self.n_leaves_ = len(np.unique(self.labels_))
        return self


PEERS = {
    "scikit-learn": SklearnTree,
    "ConTree": ConTreePeer,
    "STreeD": STreeDPeer,
    "ExKMC": ExKMCPeer,
    "Kauri": KauriPeer,
}


def installed():
    """Return the peers that this Python can run."""
    found = {}
    for name, make in PEERS.items():
        try:
            make(2)
        except ImportError:
            continue
        found[name] = make
    return found


def _numbered(shares):
    return np.unique(np.round(shares, 12), axis=0, return_inverse=True)[1].ravel()


def _exkmc(given, found):
    from ExKMC.Tree import Tree

    with np.load(given) as data:
        X, labels, n_leaves = data["X"].astype(float), data["labels"], int(data["n_leaves"])
    names, labels = np.unique(labels, return_inverse=True)

    class Clusters:  # what ExKMC asks of a k-means
        n_clusters = len(names)
        cluster_centers_ = np.array([X[labels == each].mean(axis=0) for each in range(len(names))])

        def predict(self, X):
            return labels

    begin = time.process_time()
    tree = Tree(len(names), max_leaves=max(n_leaves, len(names))).fit(X, Clusters())
    seconds = time.process_time() - begin
    np.savez(found, leaves=tree.predict(X).astype(int), seconds=seconds)


if __name__ == "__main__":
    _exkmc(*sys.argv[1:])
