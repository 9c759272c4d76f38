"""Other packages that explain clusters with a tree, all used alike: fit, labels_ (leaves), n_leaves_.

All are optional: what is not installed is left out. ``pip install spexplain[benchmark]`` brings ConTree,
STreeD and Kauri. ExKMC (the authors' package on PyPI) compiles on Python 3.10 and older only: make an
environment for it,

    python3.10 -m venv .venv-exkmc
    .venv-exkmc/bin/pip install "setuptools<70" wheel "numpy<2" scikit-learn pandas
    .venv-exkmc/bin/pip install --no-build-isolation ExKMC

and name its Python in ``SPEXPLAIN_EXKMC``. That Python runs this file, so the top imports only NumPy. All but
scikit-learn run in processes of their own, which are stopped if they take too much time or memory.
"""

import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

LIMIT = 60.0  # seconds of the solvers of optimal trees
THRESHOLDS = 20  # of each column, for STreeD; its default of five misses much
GIVEN_UP = 90  # seconds of processors after which a peer is stopped
ROOM = 16 << 30  # bytes that a peer may take


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


class NoTreeError(Exception):
    """A peer found no tree; the message says why."""


class Apart:
    """A peer in a process of its own, which may take only so much time and memory."""

    def __init__(self, name, n_leaves):
        self.name, self.n_leaves = name, n_leaves

    def fit(self, X, labels):
        """Fit the tree; sparse tables are made dense."""
        X = X.toarray() if hasattr(X, "toarray") else X
        with tempfile.TemporaryDirectory() as folder:
            given, found = Path(folder, "given.npz"), Path(folder, "found.npz")
            labels = np.unique(labels, return_inverse=True)[1]
            np.savez(given, X=X, labels=labels, n_leaves=self.n_leaves)
            command = [_python(self.name), __file__, self.name, str(given), str(found)]
            with Path(folder, "said.txt").open("w+") as said:
                child = subprocess.Popen(
                    command, env={**os.environ, "PYTHONPATH": ""}, stdout=said, stderr=said
                )
                while child.poll() is None:
                    if _seconds_of(child.pid) > GIVEN_UP:
                        child.kill()
                        child.wait()
                        raise NoTreeError(f"no tree after {GIVEN_UP} s")
                    time.sleep(0.05)
                said.seek(0)
                words = said.read()
            if "MemoryError" in words or "bad_alloc" in words:
                raise NoTreeError(f"{ROOM >> 30} GiB of memory are not enough")
            if child.returncode:
                raise RuntimeError(f"{self.name} failed: {words}")
            with np.load(found) as result:
                self.labels_, self.n_leaves_ = result["leaves"], int(result["n_leaves"])
                self.seconds_ = float(result["seconds"])
        return self


def _seconds_of(pid):
    """Return the seconds of processors that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _contree(n_leaves):
    """ConTree: the optimal tree of a depth. It takes no number of leaves: the least depth that holds as many."""
    from pycontree import ConTree

    tree = ConTree(max_depth=max(1, math.ceil(math.log2(n_leaves))), time_limit=LIMIT)

    def fit(X, labels):
        tree.fit(X, labels)
        # It says the shares of the clusters in a row's leaf, not which leaf it is.
        return _numbered(tree.predict_proba(X)), None

    return fit


def _streed(n_leaves):
    """STreeD: the optimal tree of a number of tests, on some thresholds of each column."""
    from pystreed import STreeDClassifier

    # Deeper ones do not end in a minute; a tree of few leaves is at most as deep as it has tests.
    depth = min(n_leaves - 1, max(4, math.ceil(math.log2(n_leaves))))
    tree = STreeDClassifier(
        max_depth=depth, max_num_nodes=n_leaves - 1, n_thresholds=THRESHOLDS, time_limit=LIMIT
    )

    def fit(X, labels):
        tree.fit(X, labels)
        return _numbered(tree.predict_proba(X)), tree.get_n_leaves()

    return fit


def _kauri(n_leaves):
    """Kauri: a tree that clusters by itself. It never sees the labels."""
    from gemclus.tree import Kauri

    tree = Kauri(max_clusters=n_leaves, max_leaves=n_leaves, random_state=0)
    return lambda X, labels: (tree.fit(X).labels_, None)


def _exkmc(n_leaves):
    """ExKMC, the authors' package, with the means of the clusters as centres."""
    from ExKMC.Tree import Tree

    class Clusters:  # what ExKMC asks of a k-means
        def __init__(self, X, labels):
            self.labels, self.n_clusters = labels, labels.max() + 1
            self.cluster_centers_ = np.array(
                [X[labels == each].mean(axis=0) for each in range(self.n_clusters)]
            )

        def predict(self, X):
            return self.labels

    def fit(X, labels):
        clusters = Clusters(X, labels)
        tree = Tree(clusters.n_clusters, max_leaves=max(n_leaves, clusters.n_clusters))
        tree.fit(X, clusters)
        return _leaves(tree.tree, X), None

    return fit


def _leaves(root, X):
    """Return the leaf of every row; ExKMC itself says only which cluster the leaf stands for."""
    leaves = np.zeros(len(X), dtype=int)
    open_nodes, n_leaves = [(root, np.arange(len(X)))], 0
    while open_nodes:
        node, rows = open_nodes.pop()
        if node.is_leaf():
            leaves[rows], n_leaves = n_leaves, n_leaves + 1
            continue
        is_left = X[rows, node.feature] <= node.value
        open_nodes += [(node.left, rows[is_left]), (node.right, rows[~is_left])]
    return leaves


# Each makes a function that fits a tree to a table and clusters, and returns the leaf of every row and the number of
# leaves, None if the tree does not say.
APART = {"ConTree": _contree, "STreeD": _streed, "ExKMC": _exkmc, "Kauri": _kauri}
_MODULES = {"ConTree": "pycontree", "STreeD": "pystreed", "Kauri": "gemclus"}


def installed():
    """Return the peers that can be run here: functions of the number of leaves."""
    found = {"scikit-learn": SklearnTree}
    for name in APART:
        is_there = find_spec(_MODULES[name]) if name in _MODULES else _python(name)
        if is_there:
            found[name] = partial(Apart, name)
    return found


def _python(name):
    """Return the Python that runs a peer."""
    return os.environ.get("SPEXPLAIN_EXKMC") if name == "ExKMC" else sys.executable


def _numbered(shares):
    return np.unique(np.round(shares, 12), axis=0, return_inverse=True)[1].ravel()


def _run(name, given, found):
    """Fit one peer to a stored table, and store the leaves of its rows and the seconds of all processors."""
    fit = APART[name]
    random = np.random.default_rng(0)
    fit(2)(random.random((40, 2)), np.arange(40) // 20)  # loads what it needs before the clock runs
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    with np.load(given) as data:
        X, labels, n_leaves = data["X"].astype(float), data["labels"], int(data["n_leaves"])
    begin = time.process_time()
    leaves, n_leaves = fit(n_leaves)(X, labels)
    seconds = time.process_time() - begin
    n_leaves = n_leaves or len(np.unique(leaves))
    np.savez(found, leaves=leaves.astype(int), n_leaves=n_leaves, seconds=seconds)


if __name__ == "__main__":
    _run(*sys.argv[1:])
