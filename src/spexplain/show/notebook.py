"""A summary as a small piece of HTML for notebooks: nested lists with bars, no script, nothing to load."""

from html import escape

from spexplain.facts.schema import LeafFacts, NodeFacts, Summary
from spexplain.facts.text import (
    cluster_text,
    lost_clusters_text,
    parts_text,
    rows_text,
    score_texts,
)
from spexplain.messages import counted, one_line
from spexplain.show.palette import colors

# Only transparent fills and the notebook's own text colour: right in light and in dark themes.
_STYLE = """\
.spexplain{font:13px/1.5 system-ui,sans-serif;max-width:64em;overflow-wrap:anywhere}
.spexplain ul{list-style:none;margin:0 0 0 .5em;padding:0 0 0 .9em;border-left:1px solid #8888}
.spexplain li{margin:.15em 0}
.spexplain .way{opacity:.65;display:inline-block;min-width:2.2em}
.spexplain .leaf{display:inline-block;min-width:12em;padding:.1em .5em;border:1px solid #8888;border-radius:4px;\
vertical-align:top}
.spexplain .bar{display:flex;height:.45em;margin:.15em 0;border-radius:2px;overflow:hidden;background:#8884}
.spexplain .bar i{display:block}
.spexplain small{opacity:.75}
.spexplain .verdict{margin:.3em 0;padding-left:.6em;border-left:4px solid #8888}
.spexplain .good{border-color:#2a9d5c}
.spexplain .weak{border-color:#d9a400}
.spexplain .none{border-color:#d33;font-weight:600}
.spexplain .key{font-size:11px}
.spexplain .key i{display:inline-block;width:.75em;height:.75em;border-radius:2px;margin:0 .3em 0 .8em}
"""
_N_KEYS = 24  # clusters that the key names


def html_repr(summary: Summary) -> str:
    """Return a self-contained HTML snippet, for ``_repr_html_``.

    Parameters
    ----------
    summary : dict
        From `summarize`; the training rows are not needed.

    Returns
    -------
    html : str
        One ``div`` with its own style. Names and labels are escaped; there is no script.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import SpexClique
    >>> from spexplain.facts import summarize
    >>> from spexplain.show.notebook import html_repr
    >>> explainer = SpexClique().fit(np.array([[0.0], [1.0], [8.0], [9.0]]), [0, 0, 1, 1])
    >>> html = html_repr(summarize(explainer.explanation_, names=["<script>"]))
    >>> "<script" in html, "&lt;script&gt; ≤ 4" in html
    (False, True)
    """
    parts = [f'<div class="spexplain"><style>{_STYLE}</style>', _head(summary)]
    parts += [_verdict(summary), _key(summary)]
    return "".join([*parts, _tree(summary), "</div>"])


def _text(text: str) -> str:
    return escape(one_line(text))


def _head(summary: Summary) -> str:
    facts = [
        counted(summary["n_leaves"], "leaf", "leaves"),
        f"depth {summary['depth']}",
        counted(summary["n_rows"], "row"),
    ]
    if summary["agreement"] is not None:
        facts.append(f"agreement {summary['agreement']['ari']:.3f} with the reference")
    facts += score_texts(summary)
    name = f"<strong>{_text(summary['method'])}</strong> " if summary["method"] else ""
    lost = lost_clusters_text(summary, beside_verdict=True)
    lines = [] if lost is None else [lost]
    if summary["goal"] is not None:
        lines.append(f"Goal: {summary['goal']['text']}")
    more = "".join(f"<div><small>{_text(line)}</small></div>" for line in lines)
    return f"<div>{name}<small>{' · '.join(facts)}</small></div>{more}"


def _verdict(summary: Summary) -> str:
    verdict = summary["verdict"]
    if verdict is None:
        return ""
    first, *others = map(_text, verdict["sentences"])
    more = "".join(f"<div><small>{each}</small></div>" for each in others)
    return f'<div class="verdict {verdict["level"]}"><div>{first}</div>{more}</div>'


def _key(summary: Summary) -> str:
    reference = summary["reference"]
    if reference is None:
        return ""
    palette = colors(len(reference["labels"]))
    entries = [
        f'<i style="background:{palette[cluster["code"]]}"></i>{_text(str(cluster["label"]))}'
        for cluster in reference["clusters"][:_N_KEYS]
    ]
    if reference["n_noise"]:
        entries.append(f'<i style="background:{palette[-1]}"></i>noise')
    more = len(reference["clusters"]) - _N_KEYS
    if more > 0:
        entries.append(f" and {more} more")
    return f'<div class="key">{"".join(entries)}</div>'


def _tree(summary: Summary) -> str:
    """Return the tree as nested lists, without recursion: paths may be long."""
    nodes, parts = summary["nodes"], ["<ul>"]
    stack: list[int | str] = ["</ul>", 0]
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            parts.append(top)
            continue
        node = nodes[top]
        parts.append(f"<li>{_way(summary, node)}{_label(summary, node)}")
        if node["left"] is None or node["right"] is None:
            parts.append("</li>")
        else:
            parts.append("<ul>")
            stack += ["</ul></li>", node["right"], node["left"]]
    return "".join(parts)


def _way(summary: Summary, node: NodeFacts) -> str:
    if node["parent"] is None:
        return ""
    is_left = summary["nodes"][node["parent"]]["left"] == node["node"]
    return f'<span class="way">{"yes" if is_left else "no"}</span>'


def _label(summary: Summary, node: NodeFacts) -> str:
    if node["leaf"] is None:
        return f"{_text(str(node['test']))} <small>{node['size']:,} rows</small>"
    leaf = summary["leaves"][node["leaf"]]
    stands = (
        ""
        if leaf["label"] is None
        else f": <strong>{escape(cluster_text(leaf['code'], leaf['label']))}</strong>"
    )
    size = rows_text(leaf["size"], leaf["share"])
    title = escape(one_line(f"{leaf['rule']}: {size}; {parts_text(leaf['composition'])}"))
    bar = _bar(summary, leaf)
    return f'<span class="leaf" title="{title}">leaf {leaf["leaf"]}{stands} <small>{size}</small>{bar}</span>'


def _bar(summary: Summary, leaf: LeafFacts) -> str:
    if summary["reference"] is None:
        return f'<span class="bar"><i style="width:{leaf["share"]:.2%};background:currentColor"></i></span>'
    palette = colors(len(summary["reference"]["labels"]))
    pieces = "".join(
        f'<i style="width:{part["share"]:.2%};background:{palette[part["code"]]}"></i>'
        for part in leaf["composition"]
    )
    return f'<span class="bar">{pieces}</span>'
