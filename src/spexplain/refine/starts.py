"""The trees that the search for the most faithful tree starts from."""

from collections.abc import Callable

import numpy as np

from spexplain.aliases import Ints, Matrix
from spexplain.engines import Engine
from spexplain.graphs import CliqueGraph, StarGraph
from spexplain.grow import grow
from spexplain.objectives import Objective, emn, gini_cart, spex
from spexplain.refine.exchange import Ground
from spexplain.refine.growth import AgreementSearch
from spexplain.tree import Tree

START_NAMES = ("spex", "emn", "cart", "agreement")


def started(name: str, X: Matrix, ground: Ground, engine: Engine, n_leaves: int) -> Tree:
    """Return the tree grown by one method; leaves that it cannot give are grown by agreement.

    Parameters
    ----------
    name : {"spex", "emn", "cart", "agreement"}
        The method.
    X : array of shape (n_samples, n_features)
        The table.
    ground : Ground
        The same table, sorted, and the reference clusters.
    engine : Engine
        Finds the cuts of all methods but "agreement".
    n_leaves : int
        Leaves wanted.
    """
    tree = None
    if name != "agreement":
        objective = _OBJECTIVES[name](X, ground.codes)
        search = engine.bind(X, objective, min_samples_leaf=ground.min_samples_leaf)
        tree = grow(search, max_leaves=n_leaves, max_depth=ground.max_depth)
    return grown_by_agreement(ground, n_leaves, tree)


def grown_by_agreement(ground: Ground, n_leaves: int, start: Tree | None = None) -> Tree:
    """Return a tree grown by agreement, from one leaf or from a given tree."""
    if start is not None and start.n_leaves >= n_leaves:
        return start
    search = AgreementSearch(ground.orders, ground.codes, ground.min_samples_leaf)
    return grow(search, max_leaves=n_leaves, max_depth=ground.max_depth, start=start)


def _spex(X: Matrix, codes: Ints) -> Objective:
    return spex(CliqueGraph.from_labels(codes))


def _cart(X: Matrix, codes: Ints) -> Objective:
    return gini_cart(CliqueGraph.from_labels(codes), "size")


def _emn(X: Matrix, codes: Ints) -> Objective:
    centers = [
        np.mean(X[codes == code], axis=0, dtype=np.float64) for code in range(codes.max() + 1)
    ]
    return emn(StarGraph(codes, np.stack(centers)))


_OBJECTIVES: dict[str, Callable[[Matrix, Ints], Objective]] = {
    "spex": _spex,
    "emn": _emn,
    "cart": _cart,
}
