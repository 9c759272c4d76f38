"""What the script knows, as JSON that cannot leave its element."""

import json
from typing import Any

from spexplain.facts.schema import Leaf, Step
from spexplain.show.report.cards import sampled_rows, tested_features
from spexplain.show.report.outline import majority
from spexplain.show.report.phrases import figure, share
from spexplain.show.report.source import Source, color_class

_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def script_json(data: object) -> str:
    r"""Return JSON without the characters that mean something to HTML or end a line of a script.

    Floats are written with as many digits as it takes to read back the same number.

    Examples
    --------
    >>> from spexplain.show.report.script_data import script_json
    >>> print(script_json({"name": "</script>", "threshold": 0.1 + 0.2}))
    {"name":"\u003c/script\u003e","threshold":0.30000000000000004}
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def script_data(source: Source, trees: list[Step]) -> dict[str, Any]:
    """Return the tree, the smaller trees and a typical row of every leaf.

    Labels and names are texts: the script shows them and never computes with them.
    """
    tested = tested_features(source)
    place = {feature: at for at, feature in enumerate(tested)}
    return {
        "features": [{"name": source.names[feature]} for feature in tested],
        "nodes": [_node(source, node, place) for node in range(len(source.summary["nodes"]))],
        "trees": [
            {
                "leaves": step["n_leaves"],
                "fidelity": share(step["fidelity"]),
                "price": figure(step["price"]),
                "agreement": figure(step["agreement"], 3),
                "depth": step["depth"],
            }
            for step in trees
        ],
        "leaves": [_leaf(source, leaf, tested) for leaf in source.summary["leaves"]],
        "rows": [row.exact for row in sampled_rows(source).rows],
        "hasReference": source.has_reference,
    }


def _node(source: Source, node: int, place: dict[int, int]) -> dict[str, Any]:
    fact = source.summary["nodes"][node]
    code, purity = majority(fact)
    first, last = source.spans[node]
    color = color_class(code if source.has_reference else first)
    own: dict[str, Any] = {
        "size": fact["size"],
        "share": share(fact["share"]),
        "first": first,
        "last": last,
        "label": source.label(code),
        "purity": share(purity),
        "color": color,
        "rule": source.rule(node),
    }
    if fact["feature"] is not None:
        own |= {
            "feature": place[fact["feature"]],
            "lower": fact["lower"],
            "threshold": fact["threshold"],
            "left": fact["left"],
            "right": fact["right"],
        }
    return own


def _leaf(source: Source, leaf: Leaf, tested: list[int]) -> dict[str, Any]:
    features = [each["feature"] for each in source.summary["features"]]
    typical = leaf["exemplars"][0]["values"] if leaf["exemplars"] else None
    return {
        "node": leaf["node"],
        "label": source.leaf_label(leaf),
        "purity": share(leaf["purity"]),
        "color": source.leaf_color(leaf),
        "typical": None
        if typical is None
        else [typical[features.index(feature)] for feature in tested],
    }
