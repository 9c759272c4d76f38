"""Edits of an explanation: each returns a new one with new figures, and adds a line to its journal."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.arguments import check_choice, check_integer
from spexplain.engines import resolve_engine
from spexplain.engines.categories import KindSearch
from spexplain.exceptions import quoted_list
from spexplain.explanation.branches import Branches, Ordered, branches_of, routed
from spexplain.explanation.explanation import (
    Edit,
    Explanation,
    Training,
    check_cluster_name,
    majority_codes,
    noise_of,
)
from spexplain.grow import grow
from spexplain.metrics.agreement import whole_counts
from spexplain.objectives import gini_cart, spex
from spexplain.refine.best_tree import Improver, started
from spexplain.refine.goals import cliques
from spexplain.refine.rows import sorted_table
from spexplain.table.base import Table
from spexplain.table.columns import column_numbers
from spexplain.table.host import HostTable
from spexplain.table.reference import Reference
from spexplain.table.rounding import settled
from spexplain.table.views import SearchColumns, order_by_profile, written_out
from spexplain.threads import Threads, count_threads
from spexplain.tree import LEAF, Column, Test, Tree, python_value
from spexplain.tree.conditions import read_test
from spexplain.tree.reshaping import Reshaped, ancestors, below, leaves_below, reshaped

if TYPE_CHECKING:
    from collections.abc import Iterable

METHODS = ("cart", "spex", "best")
_NOTES = ("lock", "unlock", "rename")  # edits that leave every row where it is
_N_SHARED = 1 << 20  # rows times columns; from here on, threads share the columns
# Results of a fit that do not hold for an edited tree.
_UNKNOWN: dict[str, Any] = {
    "leaf_reference": None,
    "leaf_purity": None,
    "grown": None,
    "is_refined": False,
    "steps": None,
    "own_steps": None,
    "goal": None,
    "leaves_for_all": None,
}
_PASSES = 3  # rounds of exchanges and refinement in "best"


class Alternative(NamedTuple):
    """Another test for a node, and its effect."""

    test: Test
    text: str
    column: str
    score: float  # fidelity of the whole tree with this test
    rows_right: float  # rows of the table, or their weight, whose leaf stands for their cluster
    rows_changed: int  # rows that would take the other branch


class Preview(NamedTuple):
    """The effect of another test for a node."""

    test: Test
    text: str
    explanation: Explanation  # with its figures, but without rows
    rows_changed: int  # rows that would take the other branch; for a leaf, those that pass
    turned: bool  # whether the branches would swap sides


class Sweep(NamedTuple):
    """The effect of every threshold of a column at a node: entry i is the test ``x <= thresholds[i]``."""

    thresholds: Floats  # the largest value that passes each test
    next_values: Floats  # the smallest value that does not; thresholds in between do the same
    rows_left: Ints
    rows_right: Floats  # whose leaf stands for their cluster, in the whole tree
    rows_changed: Ints  # rows that would change their branch
    smallest_leaf: Ints  # rows of the smallest leaf below the node
    purity: Floats  # of the leaves below the node: the sum of the squares of their counts, divided by their sizes


# --- Shared by all edits --------------------------------------------------------------------------


def _node(explanation: Explanation, node: Any, *, inner: bool | None = None) -> int:
    """Return the number of a node; refuse an invalid number, or a leaf where a test is needed."""
    tree = explanation.tree
    check_integer("node", node, 0)
    if node >= tree.n_nodes:
        raise ValueError(f"node={node} must be below {tree.n_nodes}, the number of nodes.")
    is_leaf = tree.feature[node] == LEAF
    if inner is True and is_leaf:
        raise ValueError(
            f"node={node} is leaf {explanation.leaf_ids[int(node)]}, which has no test; use split."
        )
    return int(node)


def _leaf(explanation: Explanation, leaf: Any) -> int:
    """Return the node of a leaf that is given by its id."""
    check_integer("leaf", leaf, 0)
    if leaf >= explanation.tree.n_leaves:
        raise ValueError(
            f"leaf={leaf} must be below {explanation.tree.n_leaves}, the number of leaves."
        )
    return int(explanation.tree.leaves[leaf])


def _check_unlocked(explanation: Explanation, nodes: "Iterable[int]") -> None:
    held = sorted(set(nodes) & explanation.locked)
    if held:
        raise ValueError(f"Node {held[0]} is locked; unlock it first.")


def _rows(explanation: Explanation) -> tuple[Table, Training]:
    """Return the training table; refuse a model that does not hold it."""
    training = explanation.training
    if training is None or training.table is None:
        raise ValueError(
            "This edit counts rows, which a model read from a file or a pickle does not hold; call "
            "with_rows(X, y) first."
        )
    return training.table, training


def _column(explanation: Explanation, column: Any) -> int:
    """Return the number of a column that is given by name or number."""
    names = None if explanation.columns is None else list(explanation.names)
    (found,) = column_numbers([column], names or explanation.names, explanation.tree.n_features)
    return int(found)


def _forbidden_columns(explanation: Explanation, node: int) -> frozenset[int]:
    """Return the columns that tests of a node may not use."""
    found: set[int] = set()
    for each in (*ancestors(explanation.tree, node), node):
        found |= explanation.forbidden.get(each, frozenset())
    return frozenset(found)


def _read(explanation: Explanation, condition: Any, node: int) -> Test:
    """Return the test for a condition at a node."""
    if isinstance(condition, Test):
        found = condition
    else:
        columns = explanation.fields
        table = None if explanation.training is None else explanation.training.table
        if table is not None:  # categories of columns that no test uses so far
            columns = tuple(
                own if at in explanation.used else replace(given, name=own.name)
                for at, (own, given) in enumerate(zip(columns, table.columns, strict=True))
            )
        found = read_test(condition, columns)
        column = columns[found.feature]
        if not column.has_missing and not str(condition).endswith("missing"):
            found = replace(found, missing=_larger_side_passes(explanation, found, node))
    if found.feature in _forbidden_columns(explanation, node):
        raise ValueError(
            f"Column {explanation.names[found.feature]!r} is forbidden at node {node}."
        )
    return found


def _larger_side_passes(explanation: Explanation, test: Test, node: int) -> bool:
    """Whether missing values, none of which occurred in training, pass the test: they go to the larger side."""
    training = explanation.training
    if training is None or training.table is None:
        return False
    x = training.table.column(test.feature)[explanation.rows_of(node)]
    n_passing = int(np.count_nonzero(replace(test, missing=False).passes(x)))
    return 2 * n_passing >= len(x)


def _committed(
    before: Explanation, after: Explanation, name: str, /, **arguments: Any
) -> Explanation:
    """Return an edited explanation whose journal holds the edit."""
    edit = Edit(name, arguments)
    if name not in _NOTES:  # proofs about the tree before the edit do not hold for this one
        after = replace(after, goal=None, leaves_for_all=None)
    past = (*before.past, packed(before))
    return replace(after, edits=(*before.edits, edit), past=past, future=())


def _rebuilt(
    explanation: Explanation, shape: Reshaped, *, labels: Ints | None = None, empty: bool = False
) -> Explanation:
    """Return the explanation of a tree of another shape, counted anew from the rows."""
    table, training = _rows(explanation)
    reference = training.reference
    about: dict[str, Any] = {
        "columns": explanation.columns,
        "parameters": explanation.parameters,
        "method": explanation.method,
        "version": explanation.version,
        "training": replace(training, searched=None, graph=None, objective=None),
        "locked": shape.moved(explanation.locked),
        "forbidden": _moved(explanation.forbidden, shape),
    }
    if labels is None and isinstance(table, HostTable):
        labels = routed(table, shape.tree, np.arange(len(table))).astype(np.int64)
    found = Explanation.of(
        shape.tree, table, reference, weights=training.weights, leaves=labels, **about
    )
    if not empty and (found.tree.size[found.tree.leaves] == 0).any():
        raise ValueError(
            "This edit would leave a leaf without rows; prune or regrow the branch that it is in first."
        )
    if reference is not None:
        found = found.with_codes(_kept_codes(explanation, found, shape))
    used = sorted({*found.used, *explanation.used})
    described = table.settled_columns(used)
    scales = table.scales(np.array(used, dtype=np.int64))
    if training.weights is not None and explanation.scales is not None:
        scales = np.where(np.isnan(explanation.scales), scales, explanation.scales)
    return replace(found, described=described, scales=scales)


def _moved(forbidden: Mapping[int, frozenset[int]], shape: Reshaped) -> dict[int, frozenset[int]]:
    return {shape.homes[node]: each for node, each in forbidden.items() if node in shape.homes}


def _kept_codes(before: Explanation, after: Explanation, shape: Reshaped) -> Ints:
    """Return the clusters that nodes stand for: as before if a node's rows are the same, else the commonest one."""
    codes: Ints = majority_codes(after.node_counts)
    if before.node_codes is None or before.node_counts.shape[1] != after.node_counts.shape[1]:
        return codes
    for old, new in shape.homes.items():
        if np.array_equal(before.node_counts[old], after.node_counts[new]):
            codes[new] = before.node_codes[old]
    return codes


def _reduced(explanation: Explanation, shape: Reshaped) -> Explanation:
    """Return the explanation of a tree that lost branches; its nodes keep their figures."""
    old_of = {new: old for old, new in shape.homes.items()}
    kept = np.array([old_of[new] for new in range(shape.tree.n_nodes)])
    tree = replace(shape.tree, size=explanation.tree.size[kept])
    arrays: dict[str, Any] = {
        name: None if value is None else value[kept]
        for name in ("node_codes", "node_counts", "node_noise", "node_weights", "node_costs")
        for value in [getattr(explanation, name)]
    }
    if explanation.node_codes is None and explanation.leaf_reference is not None:
        raise ValueError(
            "This edit needs the counts of clusters, which this model does not hold; call with_rows(X, y) first."
        )
    training = explanation.training
    if training is not None:
        new_id = {int(node): leaf for leaf, node in enumerate(tree.leaves)}
        home = np.zeros(explanation.tree.n_leaves, dtype=np.int64)
        for leaf, node in enumerate(explanation.tree.leaves.tolist()):
            at = node
            while shape.homes.get(at) not in new_id:
                at = int(explanation.tree.parents[at])
            home[leaf] = new_id[shape.homes[at]]
        labels = home[np.asarray(training.labels)]
        training = replace(training, labels=labels, searched=None, graph=None, objective=None)
    return replace(
        explanation,
        tree=tree,
        training=training,
        **_UNKNOWN,
        locked=shape.moved(explanation.locked),
        forbidden=_moved(explanation.forbidden, shape),
        **arrays,
    )


def recounted(explanation: Explanation, training: Training) -> Explanation:
    """Return the explanation of the same tree, counted on given rows."""
    same = replace(explanation, training=training, locked=frozenset(), forbidden={})
    found = _rebuilt(same, reshaped(explanation.tree), empty=True)
    tree = replace(found.tree, value=explanation.tree.value, score=explanation.tree.score)
    kept = {
        name: getattr(explanation, name)
        for name in ("locked", "forbidden", "edits", "past", "future")
    }
    if training.reference is None:  # figures about clusters stay
        names = (
            "classes",
            "node_codes",
            "node_counts",
            "node_noise",
            "leaf_reference",
            "leaf_purity",
        )
        kept |= {name: getattr(explanation, name) for name in names}
        tree = replace(tree, size=explanation.tree.size)
    return replace(found, tree=tree, **kept)


# --- Edits of the tree ----------------------------------------------------------------------------


def with_test(explanation: Explanation, node: int, condition: "str | Test") -> Explanation:
    """Return the explanation with another test of an inner node."""
    node = _node(explanation, node, inner=True)
    _check_unlocked(explanation, [node])
    test = _read(explanation, condition, node)
    after = _with_test(explanation, node, test)
    return _committed(explanation, after, "with_test", node=node, condition=_test_text(after, test))


def _with_test(explanation: Explanation, node: int, test: Test) -> Explanation:
    """Return the explanation with another test of a node, or a split of a leaf."""
    _, training = _rows(explanation)
    if training.reference is None:  # without clusters, all rows are sent through the tree
        return _rebuilt(explanation, _unclustered(explanation, node, test))
    change = _changed(explanation, node, test)
    labels = _new_labels(explanation, node, change)
    return _rebuilt(explanation, change.shape, labels=labels)


def _unclustered(explanation: Explanation, node: int, test: Test) -> Reshaped:
    tree = explanation.tree
    if tree.feature[node] == LEAF:
        return reshaped(tree, grafts={node: reshaped(_stump(tree.n_features, test)).tree})
    turned = {node} if _swaps_sides(explanation, node, test) else frozenset[int]()
    return reshaped(tree, tests={node: test}, turned=turned)


def _swaps_sides(explanation: Explanation, node: int, test: Test) -> bool:
    """Whether the branches swap sides with a new test, as in "x > 750" after "x <= 752", so that most rows stay."""
    table, _ = _rows(explanation)
    rows, now = explanation.rows_of(node), explanation.tree.test(node)
    before, after = (each.passes(table.column(each.feature)[rows]) for each in (now, test))
    return 2 * int(np.count_nonzero(before != after)) > len(rows)


def split(explanation: Explanation, leaf: int, condition: "str | Test") -> Explanation:
    """Return the explanation with a leaf split by a test."""
    node = _leaf(explanation, leaf)
    _check_unlocked(explanation, [node])
    test = _read(explanation, condition, node)
    after = _with_test(explanation, node, test)
    return _committed(
        explanation, after, "split", leaf=int(leaf), condition=_test_text(after, test)
    )


def _stump(n_features: int, test: Test) -> Tree:
    root = Tree.root(n_features=n_features, size=0)
    return root.split(
        0,
        feature=test.feature,
        threshold=test.upper,
        lower=test.lower,
        missing=test.missing,
        categories=test.values,
    )


def _test_text(explanation: Explanation, test: Test) -> str:
    return test.text(explanation.fields[test.feature])


def prune(explanation: Explanation, node: int) -> Explanation:
    """Return the explanation with a node turned into a leaf."""
    node = _node(explanation, node, inner=True)
    _check_unlocked(explanation, below(explanation.tree, node))
    after = _reduced(explanation, reshaped(explanation.tree, cut_off={node}))
    return _committed(explanation, after, "prune", node=node)


def flip(explanation: Explanation, node: int) -> Explanation:
    """Return the explanation with the yes and no branches of a node exchanged."""
    node = _node(explanation, node, inner=True)
    _check_unlocked(explanation, [node])
    test = explanation.tree.test(node)
    column = explanation.fields[test.feature]
    rest = test.region(passed=False)
    if test.values is not None:
        codes = tuple(rest.codes(len(column.categories)))
        turned = Test(test.feature, missing=not test.missing, values=codes)
    elif len(rest.intervals) > 1:
        raise ValueError(
            f"node={node} asks for an interval, {_test_text(explanation, test)}, whose opposite is not an interval."
        )
    else:
        low, high = rest.intervals[0] if rest.intervals else (-np.inf, -np.inf)
        turned = Test(test.feature, low, high, rest.missing)
    shape = reshaped(explanation.tree, tests={node: turned}, turned={node})
    after = _reduced(explanation, shape)
    return _committed(explanation, after, "flip", node=node)


def swap(explanation: Explanation, node: int, other: int) -> Explanation:
    """Return the explanation with the tests of a node and of one below it exchanged."""
    node, other = _node(explanation, node, inner=True), _node(explanation, other, inner=True)
    if node not in ancestors(explanation.tree, other):
        raise ValueError(f"other={other} must be a node below node={node}.")
    _check_unlocked(explanation, [node, other])
    tree = explanation.tree
    for at, test in ((node, tree.test(other)), (other, tree.test(node))):
        if test.feature in _forbidden_columns(explanation, at):
            raise ValueError(
                f"Column {explanation.names[test.feature]!r} is forbidden at node {at}."
            )
    tests = {node: tree.test(other), other: tree.test(node)}
    after = _rebuilt(explanation, reshaped(tree, tests=tests))
    return _committed(explanation, after, "swap", node=node, other=other)


def regrow(
    explanation: Explanation,
    node: int,
    method: str = "cart",
    n_leaves: int | None = None,
    features: Sequence[int | str] | None = None,
) -> Explanation:
    """Return the explanation with the tree below a node grown again."""
    node = _node(explanation, node)
    _check_unlocked(explanation, below(explanation.tree, node))
    check_choice("method", method, METHODS)
    n_now = len(leaves_below(explanation.tree, node))
    n_leaves = max(2, n_now) if n_leaves is None else check_integer("n_leaves", n_leaves, 1)
    graft = _grown(explanation, node, method, n_leaves, features)
    shape = reshaped(explanation.tree, cut_off={node}, grafts={node: graft})
    after = _rebuilt(explanation, shape)
    arguments: dict[str, Any] = {"node": node, "method": method, "n_leaves": n_leaves}
    if features is not None:
        arguments["features"] = [explanation.names[_column(explanation, each)] for each in features]
    return _committed(explanation, after, "regrow", **arguments)


def _grown(
    explanation: Explanation,
    node: int,
    method: str,
    n_leaves: int,
    features: Sequence[int | str] | None,
) -> Tree:
    """Return a tree for the rows of a node."""
    table, training = _rows(explanation)
    members = explanation.rows_of(node)
    rows, reference = table.take(members), _needed(training.reference).rows(members)
    codes = np.where(reference.codes < 0, -1, 0)
    known = reference.codes >= 0
    codes[known] = np.unique(reference.codes[known], return_inverse=True)[1]
    if codes.max(initial=-1) < 1:
        raise ValueError(
            f"The rows of node {node} belong to one cluster, so there is nothing to tell apart."
        )
    columns = _allowed(explanation, node, features)
    mass = None if training.weights is None else training.weights[members]
    if reference.memberships is not None:
        shares = reference.memberships.sum(axis=1)
        mass = shares if mass is None else shares * mass
    amounts = None if mass is None else whole_counts(np.where(codes < 0, 1.0, mass))
    views = SearchColumns.of(rows, columns, one_by_one=method == "best", codes=codes)
    least = training.min_samples_leaf
    depth = explanation.parameters.get("max_depth")
    room = None if depth is None else max(0, int(depth) - len(ancestors(explanation.tree, node)))
    if method == "best":
        found = _best(written_out(views.matrix), codes, amounts, n_leaves, least, room)
    else:
        graph = cliques(codes, amounts)
        objective = gini_cart(graph) if method == "cart" else spex(graph)
        engine = resolve_engine("auto")
        takes = getattr(engine, "takes_views", False)
        matrix = views.matrix if takes else written_out(views.matrix)
        search: Any = engine.bind(matrix, objective, min_samples_leaf=least)
        if not rows.is_plain:
            search = KindSearch(search, views.views, views.categories, mass)
        found = grow(search, max_leaves=n_leaves, max_depth=room)
    return settled(views.to_columns(found), rows)


def _best(
    X: Any, codes: Ints, amounts: Ints | None, n_leaves: int, least: int, room: int | None
) -> Tree:
    """Return the tree with the most rows right that a search finds."""
    with sorted_table(X, None, None, needs_zeros=False) as orders:
        improver = Improver(
            orders,
            codes,
            goal="fidelity",
            min_samples_leaf=least,
            max_depth=room,
            amounts=amounts,
            keep_clusters=True,
        )
        tree, value = improver.refined(
            started("cart", X, improver, resolve_engine("auto"), n_leaves)
        )
        for _ in range(_PASSES):
            tree, _ = improver.exchanged(tree)
            tree, better = improver.refined(tree)
            if better == value:
                break
            value = better
    return tree


def _needed(reference: Reference | None) -> Reference:
    if reference is None:
        raise ValueError("This needs a clustering to agree with; pass its labels to fit as y.")
    return reference


def _allowed(explanation: Explanation, node: int, features: Sequence[int | str] | None) -> Ints:
    """Return the columns that tests at a node may use."""
    n_columns = explanation.tree.n_features
    training = explanation.training
    if features is not None:
        columns = [_column(explanation, each) for each in features]
    elif training is not None and training.columns is not None:
        columns = training.columns.tolist()
    else:
        columns = list(range(n_columns))
    kept = sorted(set(columns) - _forbidden_columns(explanation, node))
    if not kept:
        raise ValueError(f"No column is left that node {node} may test.")
    return np.array(kept, dtype=np.int64)


# --- Edits of constraints and clusters ------------------------------------------------------------


def lock(explanation: Explanation, node: int | None = None, leaf: int | None = None) -> Explanation:
    """Return the explanation with a node and the path to it locked, so that later edits and fits keep them."""
    at = _one_of(explanation, node, leaf)
    locked = explanation.locked | {at, *ancestors(explanation.tree, at)}
    return _committed(explanation, replace(explanation, locked=locked), "lock", node=at)


def unlock(
    explanation: Explanation, node: int | None = None, leaf: int | None = None
) -> Explanation:
    """Return the explanation with a node and all nodes below it unlocked."""
    at = _one_of(explanation, node, leaf)
    locked = explanation.locked - set(below(explanation.tree, at))
    return _committed(explanation, replace(explanation, locked=locked), "unlock", node=at)


def _one_of(explanation: Explanation, node: int | None, leaf: int | None) -> int:
    if (node is None) == (leaf is None):
        raise ValueError("Pass either node or leaf.")
    return _node(explanation, node) if leaf is None else _leaf(explanation, leaf)


def forbid(explanation: Explanation, column: int | str, under: int = 0) -> Explanation:
    """Return the explanation without tests of a column at and below a node."""
    node, number = _node(explanation, under), _column(explanation, column)
    known = explanation.forbidden.get(node, frozenset())
    forbidden = {**explanation.forbidden, node: known | {number}}
    after, top = replace(explanation, forbidden=forbidden, edits=(), past=(), future=()), node
    while True:
        tree = after.tree
        asking = [each for each in below(tree, top) if tree.feature[each] == number]
        if not asking:
            break
        _rows(after)
        _check_unlocked(after, below(tree, asking[0]))
        try:
            graft = _grown(after, asking[0], "cart", len(leaves_below(tree, asking[0])), None)
        except ValueError:  # no other column separates its rows
            graft = Tree.root(n_features=tree.n_features, size=0)
        shape = reshaped(tree, cut_off={asking[0]}, grafts={asking[0]: graft})
        after, top = _rebuilt(after, shape), shape.homes[top]
    name = explanation.names[number]
    return _committed(explanation, after, "forbid", column=name, below=node)


def merge_clusters(explanation: Explanation, one: Any, other: Any, name: Any = None) -> Explanation:
    """Return the explanation of a clustering in which two clusters are one."""
    merged = one if name is None else name
    if name is not None:
        check_cluster_name(name)
    labels, place = _with_merged(_classes(explanation), one, other, merged)
    after = _relabelled(explanation, labels, place)
    arguments = {
        "one": python_value(one),
        "other": python_value(other),
        "name": python_value(merged),
    }
    return _committed(explanation, after, "merge_clusters", **arguments)


def _with_merged(classes: Array, one: Any, other: Any, name: Any) -> tuple[list[Any], Ints]:
    """Return the labels after two clusters were merged, and the new code of every old one; -1 is the last."""
    first, second = _code(classes, one), _code(classes, other)
    if first == second:
        raise ValueError(f"{one!r} is one cluster already.")
    known = list(classes.tolist())
    if _is_taken(name, [label for label in known if label not in (known[first], known[second])]):
        raise ValueError(f"There is a cluster {name!r} already.")
    kept = [code for code in range(len(known)) if code != second]
    place = np.zeros(len(known) + 1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    place[second], place[-1] = place[first], -1
    return [name if code == first else known[code] for code in kept], place


def rename(explanation: Explanation, cluster: Any, name: Any) -> Explanation:
    """Return the explanation with another name of a cluster."""
    check_cluster_name(name)
    labels, place = _with_name(_classes(explanation), cluster, name)
    after = _relabelled(explanation, labels, place)
    return _committed(
        explanation, after, "rename", cluster=python_value(cluster), name=python_value(name)
    )


def _with_name(classes: Array, cluster: Any, name: Any) -> tuple[list[Any], Ints]:
    """Return the labels after a cluster was renamed, and the code of every cluster; -1 is the last."""
    code, labels = _code(classes, cluster), list(classes.tolist())
    if _is_taken(name, [label for label in labels if label != labels[code]]):
        raise ValueError(f"There is a cluster {name!r} already; merge_clusters joins them.")
    labels[code] = name
    return labels, np.append(np.arange(len(labels)), -1)


def _is_taken(name: Any, others: list[Any]) -> bool:
    """Whether a name is that of another cluster, or would be once a text among numbers makes texts of all."""
    return name in others or str(name) in map(str, others)


def _classes(explanation: Explanation) -> Array:
    if explanation.classes is None:
        raise ValueError(
            "This model does not hold the counts of its clusters; call with_rows(X, y) first."
        )
    return explanation.classes


def _code(classes: Array, cluster: Any) -> int:
    known = classes.tolist()
    if python_value(cluster) not in known:
        raise ValueError(f"There is no cluster {cluster!r}, only {quoted_list(known)}.")
    return int(known.index(python_value(cluster)))


def _relabelled(explanation: Explanation, labels: list[Any], place: Ints) -> Explanation:
    """Return the explanation with clusters renamed or merged."""
    classes = _as_classes(labels)
    labels = classes.tolist()
    n_before = len(place) - 1
    is_same = len(labels) == n_before
    counts = explanation.node_counts
    joined = np.zeros((len(counts), len(labels)), dtype=counts.dtype)
    np.add.at(joined.T, place[:-1], counts.T)
    codes = explanation.node_codes
    if codes is not None:
        codes = place[codes] if is_same else majority_codes(joined)
    training = explanation.training
    if training is not None and training.reference is not None:
        training = replace(
            training,
            reference=_joined(training.reference, classes, place),
            searched=None,
            graph=None,
            objective=None,
        )
    named = [*labels, None]
    leaf_reference = None
    if codes is None and explanation.leaf_reference is not None:
        before = _classes(explanation).tolist()
        leaf_reference = np.array(
            [named[place[before.index(each)]] for each in explanation.leaf_reference.tolist()]
        )
    after = replace(
        explanation,
        classes=classes,
        node_counts=joined,
        node_codes=codes,
        leaf_reference=leaf_reference,
        leaf_purity=None,
        training=training,
        grown=None if not is_same else _grown_relabelled(explanation, classes),
        node_costs=explanation.node_costs if is_same else None,
        cluster_costs=explanation.cluster_costs if is_same else None,
        steps=explanation.steps if is_same else None,
        own_steps=explanation.own_steps if is_same else None,
        is_refined=explanation.is_refined and is_same,
        goal=explanation.goal if is_same else None,
        leaves_for_all=explanation.leaves_for_all if is_same else None,
    )
    if is_same or training is None or training.table is None:
        return after
    shape = reshaped(explanation.tree)
    return replace(_rebuilt(after, shape), edits=(), past=(), future=())


def _as_classes(labels: list[Any]) -> Array:
    """Return labels as an array; if one is a text, all become texts."""
    if len({type(each) for each in labels}) > 1:
        labels = [str(each) for each in labels]
    if isinstance(labels[0], str | bool | int | float):
        return np.array(labels)
    return _objects(labels)


def _grown_relabelled(explanation: Explanation, classes: Array) -> Explanation | None:
    grown = explanation.grown
    if grown is None or grown.node_codes is None:
        return grown
    return replace(grown, classes=classes, leaf_reference=None)


def _objects(labels: list[Any]) -> Array:
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return found


def _joined(reference: Reference, classes: Array, place: Ints) -> Reference:
    """Return the clustering with clusters renamed or merged."""
    codes = place[reference.codes]
    labels = np.array(reference.labels, dtype=object)
    known = codes >= 0
    labels[known] = np.asarray(classes, dtype=object)[codes[known]]
    if known.all():
        labels = classes[codes]
    shared = reference.memberships
    if shared is not None:
        joined = np.zeros((len(shared), len(classes)))
        np.add.at(joined.T, place[:-1], shared.T)
        shared = joined
    is_same = len(classes) == len(place) - 1
    return replace(
        reference,
        labels=labels,
        codes=codes,
        classes=classes,
        memberships=shared,
        centers=reference.centers if is_same else None,
    )


# --- Undo -----------------------------------------------------------------------------------------


def packed(explanation: Explanation) -> Explanation:
    """Return the state for the journal: without the leaf and the cluster of every row, which `restored` finds again.

    The first state keeps them, and so do states of the same rows and clusters.
    """
    bare = replace(explanation, edits=(), past=(), future=())
    if not explanation.past or bare.training is explanation.past[0].training:
        return bare
    first = explanation.past[0].training
    is_near = first is not None and isinstance(first.table, HostTable)
    return replace(bare, training=None) if is_near else bare


def restored(explanation: Explanation, number: int) -> Explanation:
    """Return a state of the journal (0 is the first) with its rows but without a journal."""
    done = len(explanation.edits)
    if number == done:
        return replace(explanation, edits=(), past=(), future=())
    states = [*explanation.past, explanation, *(state for _, state in explanation.future)]
    state, first = states[number], states[0].training
    now = explanation.training
    if state.training is not None or now is None or not isinstance(now.table, HostTable):
        return state
    if first is None:  # a journal that was read from a file
        known, given = state.classes, now.reference
        if known is not None and given is not None and known.tolist() == given.classes.tolist():
            return replace(recounted(state, now), edits=(), past=(), future=())
        return state
    if first.table is None:
        return state
    edits = [*explanation.edits, *(edit for edit, _ in explanation.future)][:number]
    labels = routed(first.table, state.tree, np.arange(len(first.table))).astype(np.int64)
    training = replace(
        first,
        labels=labels,
        reference=_after(first.reference, edits),
        row_ids=now.row_ids,
        searched=None,
        graph=None,
        objective=None,
    )
    return replace(state, training=training)


def _after(reference: Reference | None, edits: Sequence[Edit]) -> Reference | None:
    """Return a clustering after the edits of its clusters."""
    if reference is None:
        return None
    place: Ints | None = None
    classes = reference.classes
    for edit in edits:
        told = edit.arguments
        if edit.name == "rename":
            labels, step = _with_name(classes, told["cluster"], told["name"])
        elif edit.name == "merge_clusters":
            labels, step = _with_merged(classes, told["one"], told["other"], told["name"])
        else:
            continue
        classes = _as_classes(labels)
        if reference.memberships is not None:  # shares are added in the same order
            reference = _joined(reference, classes, step)
        else:
            place = step if place is None else step[place]
    return reference if place is None else _joined(reference, classes, place)


def undo(explanation: Explanation) -> Explanation:
    """Return the explanation before the last edit."""
    if not explanation.edits:
        raise ValueError("There is no edit to undo.")
    before = restored(explanation, len(explanation.edits) - 1)
    return replace(
        before,
        edits=explanation.edits[:-1],
        past=explanation.past[:-1],
        future=((explanation.edits[-1], packed(explanation)), *explanation.future),
    )


def redo(explanation: Explanation) -> Explanation:
    """Return the explanation after the edit that was undone last."""
    if not explanation.future:
        raise ValueError("There is no edit to redo.")
    after = restored(explanation, len(explanation.edits) + 1)
    return replace(
        after,
        edits=(*explanation.edits, explanation.future[0][0]),
        past=(*explanation.past, packed(explanation)),
        future=explanation.future[1:],
    )


# --- Alternatives to a test -----------------------------------------------------------------------


def _branches(explanation: Explanation, node: int) -> Branches:
    table, training = _rows(explanation)
    return branches_of(explanation, node, table, _needed(training.reference))


class _TestEffect(NamedTuple):
    """The effect of another test on the rows of a node."""

    branches: Branches
    is_left: Array  # rows of the node that pass
    turned: bool  # whether the branches swap sides, as in "x > 750" after "x <= 752"
    n_changed: int  # rows that take the other branch
    shape: Reshaped  # of the whole tree


def _changed(explanation: Explanation, node: int, test: Test) -> _TestEffect:
    table, _ = _rows(explanation)
    branches, tree = _branches(explanation, node), explanation.tree
    is_left = test.passes(branches.of(table.column(test.feature)))
    n_changed = int(np.count_nonzero(is_left != branches.is_left))
    if not branches.is_inner:
        graft = reshaped(_stump(tree.n_features, test)).tree
        return _TestEffect(
            branches, is_left, False, n_changed, reshaped(tree, grafts={node: graft})
        )
    turned = 2 * n_changed > len(is_left)
    if turned:
        n_changed = len(is_left) - n_changed
    shape = reshaped(tree, tests={node: test}, turned={node} if turned else frozenset[int]())
    return _TestEffect(branches, is_left, turned, n_changed, shape)


def _new_labels(explanation: Explanation, node: int, change: _TestEffect) -> Ints:
    """Return the leaf of every row after the change."""
    own, branches = leaves_below(explanation.tree, node), change.branches
    labels = np.asarray(explanation.labels)
    n_more = branches.n_left + branches.n_right - len(own)
    found = np.where(labels > own[-1], labels + n_more, labels) if n_more else labels.copy()
    found[branches.rows] = own[0] + branches.leaves(change.is_left, turned=change.turned)
    return found


def preview(explanation: Explanation, node: int, condition: "str | Test") -> Preview:
    """Return the effect of another test: figures only, without rows and without a line in the journal."""
    node = _node(explanation, node)
    test = _read(explanation, condition, node)
    table, _ = _rows(explanation)
    change = _changed(explanation, node, test)
    shape, tree = change.shape, explanation.tree
    own, after, leaves = leaves_below(tree, node), shape.tree, tree.leaves
    inside = change.branches.leaf_counts(change.is_left, turned=change.turned)
    outside = explanation.node_sizes, explanation.node_counts, explanation.node_weights
    size, counts, mass = (
        None
        if new is None or old is None
        else after.totals(np.concatenate([old[leaves][: own[0]], new, old[leaves][own[-1] + 1 :]]))
        for old, new in zip(outside, inside, strict=True)
    )
    assert size is not None
    assert counts is not None
    bare = replace(
        explanation,
        tree=replace(after, size=size),
        training=None,
        **_UNKNOWN,
        node_costs=None,
        cluster_costs=None,
        node_codes=majority_codes(counts),
        node_counts=counts,
        node_noise=noise_of(size if mass is None else mass, counts),
        node_weights=mass,
        locked=shape.moved(explanation.locked),
        forbidden=_moved(explanation.forbidden, shape),
        described=table.settled_columns(sorted({*explanation.used, test.feature})),
        edits=(),
        past=(),
        future=(),
    )
    found = bare.with_codes(_kept_codes(explanation, bare, shape))
    return Preview(test, _test_text(found, test), found, change.n_changed, change.turned)


def sweep(
    explanation: Explanation,
    node: int,
    column: int | str,
    missing: bool | None = None,
    *,
    purity: bool = True,
) -> Sweep:
    """Return the effect of every threshold of a column at a node."""
    node, number = _node(explanation, node), _column(explanation, column)
    field = _rows(explanation)[0].columns[number]
    if field.kind == "category":
        raise ValueError(
            f"Column {field.name!r} holds categories, which have no thresholds; see alternatives."
        )
    branches = _branches(explanation, node)
    return _sweep_of(explanation, node, number, missing, branches, purity=purity)[0]


def _sweep_of(
    explanation: Explanation,
    node: int,
    number: int,
    missing: bool | None,
    branches: Branches,
    *,
    purity: bool,
) -> tuple[Sweep, Ordered]:
    table, _ = _rows(explanation)
    if missing is None:
        tree = explanation.tree
        asks = tree.feature[node] == number
        missing = bool(tree.missing[node]) if asks else False
    ordered = branches.ordered(table, number)
    known = ordered.values
    n_known, n_first = len(known), len(ordered.cells) - len(known) if missing else 0
    if n_first:  # rows without a value come first where they go left, and last where they go right
        order = ordered.places()
        moved = np.roll(order, n_first)
        ordered = Ordered(np.roll(ordered.cells, n_first), known, lambda: moved)
    ends = np.flatnonzero(known[1:] > known[:-1]) + 1 if n_known else np.empty(0, dtype=np.int64)
    found = branches.parted(ordered, ends + n_first, purity=purity)
    is_each = len(ends) == max(
        0, n_known - 1
    )  # no two rows have the same value: nothing to pick out
    swept = Sweep(
        known[:-1] if is_each else known[ends - 1],
        known[1:] if is_each else known[ends],
        ends + n_first,
        found.right,
        found.changed,
        found.smallest,
        found.purity,
    )
    return swept, ordered


def alternatives(
    explanation: Explanation,
    node: int,
    n: int = 10,
    features: Sequence[int | str] | None = None,
) -> list[Alternative]:
    """Return the best alternative tests for a node, one for each column."""
    node = _node(explanation, node)
    check_integer("n", n, 1)
    table, training = _rows(explanation)
    branches = _branches(explanation, node)
    now = int(explanation.tree.feature[node])

    def best_of(number: int) -> tuple[tuple[float, float, int], Alternative] | None:
        field = replace(table.columns[number], name=explanation.names[number])
        best = (
            _best_set(table, number, field, branches, max(1, training.min_samples_leaf))
            if field.kind == "category"
            else _best_threshold(explanation, node, number, field, branches)
        )
        if best is None:
            return None
        right, changed, test, purity = best
        score = right / branches.total if branches.total else float("nan")
        said = Alternative(test, test.text(field), field.name, score, right, changed)
        return (-right, -purity, number), said

    numbers = _allowed(explanation, node, features).tolist()
    asked = [each for each in numbers if each != now or features is not None]
    is_large = len(branches.rows) * len(asked) >= _N_SHARED
    with Threads(count_threads(-1) if is_large else 1) as threads:
        found = [each for each in threads.map(best_of, asked) if each is not None]
        threads.end()
    # Of tests with equally many rows right, the one with purer leaves comes first.
    return [said for _, said in sorted(found, key=lambda each: each[0])][:n]


# Rows right, rows changed, the test, and the purity of the leaves.
_Found: TypeAlias = tuple[float, int, Test, float]


def _best_threshold(
    explanation: Explanation, node: int, number: int, field: Column, branches: Branches
) -> "_Found | None":
    """Return the best threshold of a column."""
    least = explanation.training.min_samples_leaf if explanation.training else 1
    best: _Found | None = None
    for missing in (False, True) if field.has_missing else (False,):
        swept, ordered = _sweep_of(explanation, node, number, missing, branches, purity=False)
        ties = _most_right(swept.rows_right, swept.smallest_leaf >= max(1, least))
        if not len(ties):
            continue
        purities = branches.purity_at(ordered, swept.rows_left[ties])
        at, purity = int(ties[np.argmax(purities)]), float(purities.max())
        right = float(swept.rows_right[at])
        if best is None or (right, purity) > (best[0], best[3]):
            n_left = int(swept.rows_left[at])
            goes = missing if field.has_missing else 2 * n_left >= len(branches.rows)
            upper = field.between(float(swept.thresholds[at]), float(swept.next_values[at]))
            test = Test(number, upper=upper, missing=goes)
            best = right, int(swept.rows_changed[at]), test, purity
    return best


def _most_right(right: Floats, allowed: Array) -> Ints:
    """Return the allowed places with the most rows right."""
    best = np.max(right, where=allowed, initial=-np.inf)
    return np.flatnonzero(allowed & (right == best))


def _best_set(
    table: Table, number: int, field: Column, branches: Branches, least: int
) -> "_Found | None":
    """Return the best set of categories: a single one, or the first few when ordered by their clusters."""
    x = branches.of(table.column(number))
    n_groups, n_pairs = len(field.categories) + 1, branches.n_left * branches.n_right
    group = np.where(np.isnan(x), n_groups - 1, x).astype(np.int64)
    n_rows = np.bincount(group, minlength=n_groups)
    present = np.flatnonzero(n_rows)
    if len(present) < 2:
        return None
    # Rows of a category matter only by the pair of leaves that they reach, and their cluster.
    pair = group * n_pairs + branches.left * branches.n_right + branches.right
    shape = n_groups, branches.n_left, branches.n_right
    sizes = np.bincount(pair, minlength=n_groups * n_pairs).reshape(shape)
    amounts = branches.summed(pair, n_groups * n_pairs).reshape(*shape, -1)
    lefts = np.bincount(group[branches.is_left], minlength=n_groups)
    order = order_by_profile(amounts.sum(axis=(1, 2)))
    order = order[np.isin(order, present)]
    # Sets: every category alone, then the first two, three, ... of the order.
    chosen = np.zeros((len(present) + max(0, len(order) - 2), n_groups), dtype=np.bool_)
    chosen[np.arange(len(present)), present] = True
    for at in range(len(present), len(chosen)):
        chosen[at, order[: at - len(present) + 2]] = True
    inside = chosen.astype(np.float64)
    n_inside = inside @ n_rows
    changed = (n_inside - inside @ lefts) + (lefts.sum() - inside @ lefts)
    turns = branches.is_inner & (2 * changed > len(x))
    figures = np.zeros((3, len(chosen)))
    for turned in (False, True):
        left, right = (2, 1) if turned else (1, 2)
        found = [np.zeros(len(chosen)), np.zeros(len(chosen)), np.full(len(chosen), np.inf)]
        for part, axis in ((inside, right), (1 - inside, left)):
            table_ = np.tensordot(part, amounts.sum(axis=axis), 1)
            found[0] += table_.max(axis=2).sum(axis=1)
            totals = np.maximum(table_.sum(axis=2), 1e-300)
            found[1] += (np.square(table_).sum(axis=2) / totals).sum(axis=1)
            found[2] = np.minimum(found[2], (part @ sizes.sum(axis=axis)).min(axis=1))
        figures[:, turns == turned] = np.array(found)[:, turns == turned]
    ties = _most_right(figures[0], figures[2] >= least)
    if not len(ties):
        return None
    best = int(ties[np.argmax(figures[1, ties])])
    codes = tuple(np.flatnonzero(chosen[best, :-1]).tolist())
    lacks = bool(chosen[best, -1])
    if n_groups - 1 not in present:
        lacks = 2 * n_inside[best] >= len(x)
    n_changed = len(x) - changed[best] if turns[best] else changed[best]
    test = Test(number, missing=bool(lacks), values=codes)
    return (
        branches.elsewhere + float(figures[0, best]),
        int(n_changed),
        test,
        float(figures[1, best]),
    )
