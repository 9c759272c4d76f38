"""Hypothesis strategies: small tables, labels, graphs and trees full of ties and degenerate parts."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from spexplain.tree import Tree

# Short binary fractions: every sum of them is exact in floats, so that the oracle is exact too.
DYADIC_WEIGHTS = (0.25, 0.5, 1.0, 1.0, 1.0, 1.75, 2.0, 3.0, 10.0)


def columns(n_rows: int) -> st.SearchStrategy[list[int]]:
    """Columns with many ties, with few, and constant ones."""
    return st.one_of(
        st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows),
        st.lists(st.integers(-40, 40), min_size=n_rows, max_size=n_rows),
        st.integers(-3, 3).map(lambda value: [value] * n_rows),
    )


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    min_rows: int = 2,
    max_rows: int = 12,
    max_columns: int = 3,
    scale: float = 0.25,
) -> np.ndarray:
    """Tables of float32 or float64 in which not all rows are equal."""
    n_rows = draw(st.integers(min_rows, max_rows))
    drawn = draw(st.lists(columns(n_rows), min_size=1, max_size=max_columns))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    X = (np.array(drawn).T * scale).astype(dtype)
    assume(np.any(X[0] != X))
    return X


@st.composite
def labels_for(draw: st.DrawFn, n_rows: int, *, noise: bool = True) -> np.ndarray:
    """Cluster codes 0..k-1, singleton clusters among them, and -1 for noise; at least two clusters."""
    drawn = draw(st.lists(st.integers(-1 if noise else 0, 4), min_size=n_rows, max_size=n_rows))
    classes = sorted(set(drawn) - {-1})
    assume(len(classes) >= 2)
    return np.array([classes.index(each) if each >= 0 else -1 for each in drawn])


@st.composite
def adjacencies_for(draw: st.DrawFn, n_vertices: int, *, any_weight: bool = False) -> np.ndarray:
    """Symmetric weights, mostly zero: disconnected graphs with isolated vertices are common."""
    vertex = st.integers(0, n_vertices - 1)
    weight = st.floats(1e-3, 1e3) if any_weight else st.sampled_from(DYADIC_WEIGHTS)
    edges = draw(st.lists(st.tuples(vertex, vertex, weight), max_size=3 * n_vertices))
    adjacency = np.zeros((n_vertices, n_vertices))
    for x, y, w in edges:
        if x != y:
            adjacency[x, y] = adjacency[y, x] = w
    return adjacency


@st.composite
def labelled_tables(draw: st.DrawFn, *, noise: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """A table and a clustering of its rows."""
    X = draw(tables())
    return X, draw(labels_for(len(X), noise=noise))


@st.composite
def graph_tables(draw: st.DrawFn, *, any_weight: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """A table and a graph over its rows."""
    X = draw(tables())
    return X, draw(adjacencies_for(len(X), any_weight=any_weight))


@st.composite
def trees(draw: st.DrawFn, *, n_features: int = 2) -> Tree:
    """Trees of ordinary and interval tests, with thresholds on the grid of the tables."""
    tree = Tree.root(n_features=n_features, size=9, value=0.5)
    for _ in range(draw(st.integers(0, 5))):
        threshold = draw(st.integers(-4, 4)) / 2
        below = draw(st.none() | st.integers(1, 4))
        tree = tree.split(
            int(draw(st.sampled_from(tree.leaves.tolist()))),
            feature=draw(st.integers(0, n_features - 1)),
            threshold=threshold,
            lower=-np.inf if below is None else threshold - below / 2,
            sizes=(4, 5),
            score=draw(st.none() | st.floats(-1, 1)) or np.nan,
            values=(0.25, 0.1),
        )
    return tree


@st.composite
def kernel_problems(draw: st.DrawFn, *, noise: bool = True) -> tuple[np.ndarray, np.ndarray, float]:
    """Tables, labels and a width of the kernel."""
    X = draw(tables(max_rows=10))
    return X, draw(labels_for(len(X), noise=noise)), draw(st.sampled_from([0.25, 1.0, 40.0]))
