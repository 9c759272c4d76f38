"""The tree, its rules, and the smaller trees it grew from."""

from collections.abc import Iterator
from math import isclose
from typing import Literal, NamedTuple, TypeAlias

from spexplain.facts.schema import Leaf, Node, Step, Summary
from spexplain.show.report.bars import Bar, node_bar
from spexplain.show.report.phrases import Condition, Rule
from spexplain.show.report.source import NOISE, Source, commonest

_CLOSE = 1e-9  # relative; two computations of one number


class NodeView(NamedTuple):
    """A node as it is drawn."""

    node: int
    leaf: int | None
    way: str  # the answer that leads here
    test: Condition
    size: int
    share: float
    bar: Bar
    span: tuple[int, int]
    color: str
    label: str
    purity: float | None


class RuleView(NamedTuple):
    """A leaf and its rule."""

    leaf: int
    rule: Rule
    label: str
    color: str
    size: int
    share: float
    purity: float | None
    lift: float | None
    bar: Bar


Event: TypeAlias = tuple[Literal["open", "leaf", "close"], NodeView | None]


def tree_events(source: Source) -> Iterator[Event]:
    """Yield the tree as a flat sequence of nested brackets: templates that recurse have a limit."""
    nodes = source.summary["nodes"]
    stack: list[int | None] = [0]
    while stack:
        top = stack.pop()
        if top is None:
            yield "close", None
            continue
        node = nodes[top]
        if node["left"] is None or node["right"] is None:
            yield "leaf", _node_view(source, node)
        else:
            yield "open", _node_view(source, node)
            stack += [None, node["right"], node["left"]]


def _node_view(source: Source, node: Node) -> NodeView:
    number, parent = node["node"], node["parent"]
    way = ""
    if parent is not None:
        way = "yes" if source.summary["nodes"][parent]["left"] == number else "no"
    leaf = None if node["leaf"] is None else source.summary["leaves"][node["leaf"]]
    return NodeView(
        node=number,
        leaf=node["leaf"],
        way=way,
        test=source.test(node),
        size=node["size"],
        share=node["share"],
        bar=node_bar(source, number),
        span=source.spans[number],
        color="" if leaf is None else source.leaf_color(leaf),
        label="" if leaf is None else source.leaf_label(leaf),
        purity=None if leaf is None else leaf["purity"],
    )


def rule_views(source: Source) -> list[RuleView]:
    """Return the leaves with their rules, from left to right."""
    return [rule_view(source, leaf) for leaf in source.summary["leaves"]]


def rule_view(source: Source, leaf: Leaf) -> RuleView:
    """Return one leaf with its rule."""
    return RuleView(
        leaf=leaf["leaf"],
        rule=source.rule(leaf["node"]),
        label=source.leaf_label(leaf),
        color=source.leaf_color(leaf),
        size=leaf["size"],
        share=leaf["share"],
        purity=leaf["purity"],
        lift=leaf["lift"],
        bar=node_bar(source, leaf["node"]),
    )


def majority(node: Node) -> tuple[int | None, float | None]:
    """Return the commonest cluster of a node and its share of the node's rows; noise if there is nothing else."""
    code = commonest(node["counts"])
    if code is None:
        return (NOISE, 1.0) if node["noise"] and node["counts"] is not None else (None, None)
    assert node["counts"] is not None
    return code, node["counts"][code] / node["size"]


def smaller_trees(summary: Summary) -> list[Step]:
    """Return the facts about the trees of 1, 2, ... leaves that the nodes hold.

    The path of a summary is that of growth. Where "auto" or a refinement changed the tree
    afterwards, its steps may belong to other trees; what only the path knows is then None.
    """
    by_leaves = {step["n_leaves"]: step for step in summary["path"]}
    trees = []
    for n_leaves in range(1, summary["n_leaves"] + 1):
        own = _step_of_nodes(summary, n_leaves)
        grown = by_leaves.get(n_leaves)
        if grown is not None and _same_tree(own, grown):
            own = grown
        trees.append(own)
    last = trees[-1]
    agreement = summary["agreement"]
    trees[-1] = {
        **last,
        "fidelity": summary["fidelity"],
        "price": summary["price"],
        "objective": summary["objective"],
        "agreement": None if agreement is None else agreement["ari"],
    }
    return trees


def _step_of_nodes(summary: Summary, n_leaves: int) -> Step:
    """Return what the nodes alone say about the tree of the first `n_leaves` leaves."""
    n_nodes = 2 * n_leaves - 1
    nodes = summary["nodes"][:n_nodes]
    leaves = [each for each in nodes if each["left"] is None or each["left"] >= n_nodes]
    values = [each["value"] for each in leaves]
    known = [each["counts"] for each in leaves if each["counts"] is not None]
    clustered = sum(map(sum, known))
    hits = sum(max(counts, default=0) for counts in known)
    return {
        "n_leaves": n_leaves,
        "objective": None if None in values else sum(x for x in values if x is not None),
        "agreement": None,
        "fidelity": hits / clustered if clustered else None,
        "price": None,
        "depth": max(each["depth"] for each in nodes),
        "explanation_size": None,
    }


def _same_tree(own: Step, grown: Step) -> bool:
    pairs = [
        (own["depth"], grown["depth"]),
        (own["fidelity"], grown["fidelity"]),
        (own["objective"], grown["objective"]),
    ]
    return all(equal(a, b) for a, b in pairs)


def equal(a: float | None, b: float | None) -> bool:
    """Whether two computations agree on a number, as far as both know it."""
    return a is None or b is None or isclose(a, b, rel_tol=_CLOSE, abs_tol=_CLOSE)
