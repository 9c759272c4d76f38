"""Facts in words: names, numbers, rules, and a whole summary as plain text."""

import re
from collections.abc import Sequence

from spexplain.facts.schema import (
    Amount,
    Label,
    LeafFacts,
    PartFacts,
    SentencePart,
    Summary,
)
from spexplain.messages import counted, one_line
from spexplain.table.reference import NOISE
from spexplain.tree import Column, about, number
from spexplain.tree.column import as_columns

_MARK = re.compile("\ue000([0-9]+)\ue001")  # what `name_mark` returns
_N_PARTS = 4  # clusters of a leaf that are named
MOST_VALUES = 6  # of a list, that sentences about rules name
_UNITS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}


def percent(share: float) -> str:
    """Return a share in whole percents; what only rounds to 0 % or 100 % becomes <1% or >99%.

    Examples
    --------
    >>> from spexplain.facts.text import percent
    >>> percent(0.36), percent(0.9999), percent(1.0), percent(1e-5)
    ('36%', '>99%', '100%', '<1%')
    """
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{share:.0%}"


def value_text(column: Column, x: float | None) -> str:
    """Return a value of a row in full; None and NaN are missing ones."""
    return "missing" if x is None else column.say(x)


def brief_text(column: Column, x: float | None) -> str:
    """Return a value or a computed one, no finer than people read it: dates as days, numbers with four digits.

    Examples
    --------
    >>> from spexplain.facts.text import brief_text
    >>> from spexplain.tree import Column
    >>> brief_text(Column("age"), 31.23456), brief_text(Column("last order", "date"), 8.64650123456789e14)
    ('31.23', '1997-05-26')
    >>> brief_text(Column("stay", "duration"), 2.7e11)
    '3.1 days'
    """
    if x is None or x != x:  # noqa: PLR0124
        return "missing"
    if column.kind == "date":
        return column.say(x)[:10]
    if column.kind == "duration":
        return amount_text(column, x)
    if column.kind in ("category", "boolean"):
        return column.say(x)
    return f"{x:,.0f}" if 1e4 <= abs(x) < 1e9 else number(float(f"{x:.4g}"))


def amount_text(column: Column, amount: float) -> str:
    """Return how far two values of a column are apart.

    Examples
    --------
    >>> from spexplain.facts.text import amount_text
    >>> from spexplain.tree import Column
    >>> amount_text(Column("age"), 1.5), amount_text(Column("last order", "date"), 1.0368e12)
    ('1.5', '12 days')
    """
    if column.kind not in ("date", "duration"):
        return about(amount)
    for name, unit in _UNITS.items():
        if abs(amount) >= 1.95 * unit or name == "second":
            count = float(f"{amount / unit:.2g}") if abs(amount) < 10 * unit else amount / unit
            return counted_unit(count, name)
    raise AssertionError("seconds are the last unit")


def counted_unit(count: float, unit: str) -> str:
    """Return a number of hours, days and the like."""
    shown = number(count) if abs(count) < 10 else f"{count:,.0f}"
    return f"{shown} {unit}" if shown == "1" else f"{shown} {unit}s"


def rows_text(size: int, share: float) -> str:
    """Return a number of rows and its share."""
    return f"{counted(size, 'row')} ({percent(share)})"


def amount_figure(amount: Amount) -> str:
    """Return a number of rows, or their weight: four digits of a fraction, but all of a whole number.

    Examples
    --------
    >>> from spexplain.facts.text import amount_figure
    >>> amount_figure(1055), amount_figure(180335397.0), amount_figure(2.34567)
    ('1,055', '180,335,397', '2.346')
    """
    is_whole = isinstance(amount, int) or float(amount).is_integer() or abs(amount) >= 1e4
    return f"{amount:,.0f}" if is_whole else f"{amount:,.4g}"


def rows_or_weight(amount: Amount, *, is_weighted: bool) -> str:
    """Return a number of rows with its noun, or their weight where rows have weights.

    Examples
    --------
    >>> from spexplain.facts.text import rows_or_weight
    >>> rows_or_weight(1, is_weighted=False), rows_or_weight(1200.5, is_weighted=True)
    ('1 row', 'weight 1,200')
    """
    figure = amount_figure(amount)
    return f"weight {figure}" if is_weighted else f"{figure} row{'' if amount == 1 else 's'}"


def cluster_text(code: int | None, label: Label | None) -> str:
    """Return what a reference cluster is called."""
    return "noise" if code == NOISE else one_line(str(label))


def parts_text(parts: Sequence[PartFacts], n_named: int = _N_PARTS) -> str:
    """Return the commonest clusters of a leaf in words."""
    named = [
        f"{percent(part['share'])} {cluster_text(part['code'], part['label'])}"
        for part in parts[:n_named]
    ]
    rest = sum(part["count"] for part in parts[n_named:])
    return ", ".join([*named, f"{rest:,} others"] if rest else named)


def name_mark(code: int) -> str:
    """Return what stands for the name of a cluster in a sentence until `named_parts` puts the name there.

    It is made of characters that `one_line` removes from names.
    """
    return f"\ue000{code}\ue001"


def named_parts(text: str, names: Sequence[str]) -> list[SentencePart]:
    """Return a sentence with marks in parts: words, and names of clusters.

    Examples
    --------
    >>> from spexplain.facts.text import name_mark, named_parts
    >>> [part["text"] for part in named_parts(f"merge {name_mark(1)} and {name_mark(0)}.", ["a", "b"])]
    ['merge ', 'b', ' and ', 'a', '.']
    """
    found: list[SentencePart] = []
    for place, piece in enumerate(_MARK.split(text)):
        code = int(piece) if place % 2 else None
        if piece:
            found.append({"text": piece if code is None else names[code], "code": code})
    return found


def named_text(text: str, names: Sequence[str]) -> str:
    """Return a sentence with the names of clusters in place of their marks."""
    return "".join(part["text"] for part in named_parts(text, names))


def lost_text(lost: Sequence[str], n_leaves: int | None = None) -> str:
    """Return which clusters no leaf stands for, and how many leaves would change that if it is known.

    Examples
    --------
    >>> from spexplain.facts.text import lost_text
    >>> lost_text(["gold"])
    'Cluster without a leaf of its own: gold.'
    >>> lost_text(["a", "b"], 7)
    'Clusters without a leaf of their own: a, b; with 7 leaves they have one.'
    """
    named = ", ".join(lost[:5]) + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
    one = len(lost) == 1
    text = f"Cluster{'' if one else 's'} without a leaf of {'its' if one else 'their'} own: {named}"
    if n_leaves is None:
        return text + "."
    return f"{text}; with {n_leaves:,} leaves {'it has' if one else 'they have'} one."


def lost_clusters_text(
    summary: Summary, labels: Sequence[str] | None = None, *, beside_verdict: bool = False
) -> str | None:
    """Return which clusters no leaf stands for, and with how many leaves they have one; None if all have one.

    `labels` are what the clusters are called, by their codes. Next to a verdict that names them, nothing is said twice.
    """
    reference, verdict = summary["reference"], summary["verdict"]
    if beside_verdict and verdict is not None and verdict["lost"]:
        return None
    lost = (
        [] if reference is None else [each for each in reference["clusters"] if not each["leaves"]]
    )
    if not lost:
        return None
    named = [
        cluster_text(each["code"], each["label"]) if labels is None else labels[each["code"]]
        for each in lost
    ]
    return lost_text(named, summary["leaves_for_all"])


def sentence(text: str) -> str:
    """Return a text as a sentence.

    Examples
    --------
    >>> from spexplain.facts.text import sentence
    >>> sentence("cost 3; no tree is better")
    'Cost 3; no tree is better.'
    """
    return f"{text[:1].upper()}{text[1:]}."


def known_columns(n_features: int, given: Sequence[Column | str] | None) -> tuple[Column, ...]:
    """Return one column per feature: the given ones, or numbers called x0, x1, ..."""
    if given is None:
        return as_columns(f"x{column}" for column in range(n_features))
    if len(given) != n_features:
        raise ValueError(f"feature_names has {len(given)} entries, but X has {n_features} columns.")
    return as_columns(given)


def summary_text(summary: Summary) -> str:
    """Return the facts that matter most as plain text: the fit, then one paragraph per leaf.

    Parameters
    ----------
    summary : dict
        From `summarize`.

    Returns
    -------
    text : str

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import SpexClique
    >>> from spexplain.facts import summarize, summary_text
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> explainer = SpexClique().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> print(summary_text(summarize(explainer.explanation_, X, names=["age"])))
    6 rows, 1 column, 2 leaves, depth 1.
    Against the reference: agreement 1, AMI 1, fidelity 100%, balanced 100%, cost ratio 1.
    <BLANKLINE>
    Leaf 0 stands for a: 3 rows (50%)
      rule: age ≤ 6
      reference: 100% a; lift 2
      typical: age 2.0 SD below the rest
    <BLANKLINE>
    Leaf 1 stands for b: 3 rows (50%)
      rule: age > 6
      reference: 100% b; lift 2
      typical: age 2.0 SD above the rest
    """
    return "\n\n".join([_head(summary), *map(_leaf, summary["leaves"])])


def score_texts(summary: Summary) -> list[str]:
    """Return fidelity, mean recall and cost ratio in words, those that are known."""
    texts = []
    if summary["fidelity"] is not None:
        texts.append(f"fidelity {percent(summary['fidelity'])}")
    if summary["balanced"] is not None:
        texts.append(f"balanced {percent(summary['balanced'])}")
    if summary["price"] is not None:
        texts.append(f"cost ratio {summary['price']:.3g}")
    return texts


def _head(summary: Summary) -> str:
    method = f"{summary['method']}: " if summary["method"] else ""
    sizes = [
        counted(summary["n_rows"], "row", "rows"),
        counted(summary["n_features"], "column", "columns"),
        counted(summary["n_leaves"], "leaf", "leaves"),
        f"depth {summary['depth']}",
    ]
    lost = lost_clusters_text(summary)
    lines = [f"{method}{', '.join(sizes)}.{'' if lost is None else f' {lost}'}"]
    if summary["goal"] is not None:
        lines.append(f"{sentence(summary['goal']['text'])}")
    found = summary["agreement"]
    if found is not None:
        facts = [f"agreement {found['ari']:.3g}", f"AMI {found['ami']:.3g}", *score_texts(summary)]
        lines.append(f"Against the reference: {', '.join(facts)}.")
    used = sorted(summary["features"], key=lambda each: -each["importance"])
    shares = [
        f"{one_line(each['name'])} {percent(each['importance'])}"
        for each in used[:5]
        if each["importance"]
    ]
    if len(shares) > 1:
        lines.append(f"What separates the clusters: {', '.join(shares)}.")
    return "\n".join(lines)


def _leaf(leaf: LeafFacts) -> str:
    stands = (
        "" if leaf["label"] is None else f" stands for {cluster_text(leaf['code'], leaf['label'])}"
    )
    lines = [f"Leaf {leaf['leaf']}{stands}: {rows_text(leaf['size'], leaf['share'])}"]
    lines.append(f"  rule: {one_line(leaf['rule'])}")
    if leaf["composition"]:
        lift = "" if leaf["lift"] is None else f"; lift {about(round(leaf['lift'], 2))}"
        lines.append(f"  reference: {parts_text(leaf['composition'])}{lift}")
    if leaf["telling"]:
        lines.append(f"  typical: {one_line('; '.join(each['text'] for each in leaf['telling']))}")
    return "\n".join(lines)
