"""Columns of every kind: trees are those of the definitions, whichever engine grows them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles import definitions as oracle
from oracles import kinds as oracle_kinds
from spexplain import CART, SpexClique, SpexGraph
from spexplain.tree import LEAF
from strategies import adjacencies_for, labels_for

pytestmark = [
    pytest.mark.filterwarnings("ignore::spexplain.exceptions.LeafCountWarning"),
    pytest.mark.filterwarnings("ignore::spexplain.exceptions.LostClusterWarning"),
]
LIMITS = st.fixed_dictionaries(
    {"n_leaves": st.integers(1, 7), "max_depth": st.none() | st.integers(1, 3)},
    optional={"min_samples_leaf": st.integers(1, 3)},
)


@st.composite
def kind_columns(draw: st.DrawFn, n_rows: int) -> list[Any]:
    """Numbers or texts with ties, some missing, perhaps all."""
    values = draw(
        st.sampled_from(
            [
                st.integers(0, 2),
                st.integers(-9, 9).map(lambda each: each / 4),
                st.sampled_from("ab"),
                st.sampled_from("abcdef"),
                st.sampled_from("abcdef"),
                st.just(1),
                st.just("a"),
            ]
        )
    )
    gaps = draw(
        st.sampled_from([st.just(False), st.sampled_from([False, False, True]), st.just(True)])
    )
    return [None if draw(gaps) else draw(values) for _ in range(n_rows)]


def frame_of(columns: list[list[Any]]) -> pd.DataFrame:
    """A data frame of the columns: texts as they are, numbers as floats."""
    return pd.DataFrame(
        {
            f"c{number}": pd.Series(each, dtype=object if oracle_kinds.is_of_texts(each) else float)
            for number, each in enumerate(columns)
        }
    )


@st.composite
def kind_tables(draw: st.DrawFn, *, max_rows: int = 12) -> list[list[Any]]:
    """Up to three columns of which not all are constant."""
    n_rows = draw(st.integers(2, max_rows))
    columns = draw(st.lists(kind_columns(n_rows), min_size=1, max_size=3))
    assume(any(len(set(each)) > 1 for each in columns))
    return columns


@st.composite
def labelled(draw: st.DrawFn) -> tuple[list[list[Any]], np.ndarray]:
    """A table and a clustering of its rows, often of two clusters."""
    columns = draw(kind_tables())
    labels = draw(labels_for(len(columns[0])))
    return columns, np.minimum(labels, draw(st.sampled_from([1, 4])))


@st.composite
def joined(draw: st.DrawFn) -> tuple[list[list[Any]], np.ndarray]:
    """A table and a graph over its rows."""
    columns = draw(kind_tables())
    adjacency = draw(adjacencies_for(len(columns[0])))
    assume(adjacency.any())
    return columns, adjacency


def members_of(tree: Any, n_rows: int, leaves: np.ndarray) -> dict[int, list[int]]:
    """The training rows of every node."""
    rows: dict[int, list[int]] = {node: [] for node in range(tree.n_nodes)}
    for row in range(n_rows):
        node = int(tree.leaves[leaves[row]])
        while node >= 0:
            rows[node].append(row)
            node = int(tree.parents[node])
    return rows


def check(
    model: Any,
    columns: list[list[Any]],
    method: oracle.Method,
    profile: oracle_kinds.Profile,
    limits: dict[str, Any],
) -> None:
    """Every node of the fitted tree is what the definitions say, and so is where unknown values go."""
    named = {"max_leaves" if key == "n_leaves" else key: limits[key] for key in limits}
    try:
        splits = oracle_kinds.grow(columns, method, profile, **named)
    except oracle_kinds.AmbiguousOrderError:
        assume(False)
    frame = frame_of(columns)
    tree = model.fit(frame).tree_ if not hasattr(model, "tree_") else model.tree_
    members = members_of(tree, len(frame), model.predict(frame))
    assert model.predict(frame).tolist() == model.labels_.tolist()
    expected = {0: list(range(len(frame)))}
    assert [leaf.number for leaf, _ in splits] == np.argsort(
        np.where(tree.left == LEAF, tree.n_nodes, tree.left), kind="stable"
    )[: len(splits)].tolist()
    for number, (leaf, cut) in enumerate(splits):
        node, young = leaf.number, 2 * number + 1
        expected[young], expected[young + 1] = sorted(cut.left), sorted(cut.right)
        assert tree.feature[node] == cut.column
        assert tree.score[node] == pytest.approx(cut.score, abs=1e-9)
        check_unknown(model, columns[cut.column], node, leaf.members, cut)
    assert tree.n_leaves == len(splits) + 1
    assert members == expected
    for node, rows in members.items():
        assert tree.size[node] == len(rows)
        assert tree.value[node] == pytest.approx(method.value(rows), abs=1e-9)


def check_unknown(
    model: Any, column: list[Any], node: int, members: list[int], cut: oracle_kinds.Cut
) -> None:
    """What no row of a node has goes to its larger side."""
    test = model.tree_.test(node)
    is_left_larger = len(cut.left) >= len(cut.right)
    if all(column[row] is not None for row in members):
        assert test.missing == is_left_larger
    if test.values is not None:
        categories = model.explanation_.fields[test.feature].categories
        assert categories == tuple(sorted({each for each in column if each is not None}))
        for code, value in enumerate(categories):
            if all(column[row] != value for row in members):
                assert (code in test.values) == is_left_larger


@given(labelled(), LIMITS)
def test_trees_of_cliques(engine, case, limits):
    columns, labels = case
    model = SpexClique(engine=engine, **limits).fit(frame_of(columns), labels)
    profile = oracle_kinds.cluster_profile(labels.tolist())
    check(model, columns, oracle.spex_clique(labels.tolist()), profile, limits)


@pytest.mark.parametrize("leaf_weight", ["size", "none"])
@given(labelled(), LIMITS)
def test_trees_of_cart(engine, leaf_weight, case, limits):
    columns, labels = case
    model = CART(engine=engine, leaf_weight=leaf_weight, **limits).fit(frame_of(columns), labels)
    profile = oracle_kinds.cluster_profile(labels.tolist())
    check(model, columns, oracle.gini_cart(labels.tolist(), leaf_weight), profile, limits)


@given(joined(), LIMITS)
def test_trees_of_graphs(engine, case, limits):
    columns, adjacency = case
    model = SpexGraph(engine=engine, graph=adjacency, **limits).fit(frame_of(columns))
    check(model, columns, oracle.spex(adjacency), oracle_kinds.edge_profile(adjacency), limits)


@given(st.data())
def test_runs_hold_the_best_of_all_sets_for_two_clusters(data):
    n_rows = data.draw(st.integers(4, 14))
    values = st.lists(st.sampled_from("abcdefg") | st.none(), min_size=n_rows, max_size=n_rows)
    column = data.draw(values)
    labels = np.minimum(data.draw(labels_for(n_rows)), 1)
    assume(len(set(column)) > 1)
    method = oracle.gini_cart(labels.tolist())
    node = list(range(n_rows))
    scores = [
        method.score(left, [x for x in node if x not in left])
        for left in oracle_kinds.all_sets(column, node)
    ]
    assume(any(score is not None for score in scores))
    model = CART(n_leaves=2).fit(frame_of([column]), labels)
    assert model.tree_.score[0] == pytest.approx(min(x for x in scores if x is not None), abs=1e-12)
