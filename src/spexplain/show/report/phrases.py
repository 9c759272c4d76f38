"""Names, numbers and rules of the report in words. Nothing is escaped here: the templates do that."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from spexplain.facts.schema import Label, Summary
from spexplain.facts.text import brief_text, lost_clusters_text, sentence
from spexplain.messages import counted, one_line
from spexplain.tree import Column, Region
from spexplain.tree.column import as_column, renamed

NOTHING = "–"
_LONGEST_NAME = 60  # longer ones are shortened in the middle, or rules could not be read
_LONGEST_LABEL = 40
_LONGEST_TEXT = 360  # characters of a document that are shown
_BEFORE = 90  # of these before the first word of the rule
_MARK = "\0"  # stands for a name, which never holds it: names are printable


class Piece(NamedTuple):
    """One bound of a feature; the name stands alone so that right-to-left names cannot turn the rest."""

    before: str
    name: str
    after: str
    is_word: bool = False  # of a document: shown as a chip, without its quotes

    @property
    def text(self) -> str:
        """The piece as one text."""
        return f"{self.before}{self.name}{self.after}"


ConditionPieces: TypeAlias = list[Piece]  # any of them holds
RulePieces: TypeAlias = list[ConditionPieces]  # all of them hold


def condition_of(region: Region, column: Column | str) -> ConditionPieces:
    """Return what a region says about a feature, in the words of `Region.text`.

    Examples
    --------
    >>> from spexplain.show.report.phrases import condition_of
    >>> from spexplain.tree import Region
    >>> condition_of(Region(((2.45, 4.75),)), "petal length")
    [Piece(before='2.45 < ', name='petal length', after=' ≤ 4.75', is_word=False)]
    """
    column = as_column(column)
    (marked,) = renamed([column], [_MARK])
    # Each alternative of an "or" between intervals names the column.
    before, *rest = region.text(marked).split(_MARK)
    pieces: ConditionPieces = []
    for part in rest[:-1]:
        after, _, start = part.rpartition(" or ")
        pieces.append(Piece(before, column.name, after))
        before = start
    is_word = column.kind == "word" and before.endswith('"') and rest[-1].startswith('"')
    return [*pieces, Piece(before, column.name, rest[-1], is_word)]


def condition_text(condition: ConditionPieces) -> str:
    """Return a condition as one text, for attributes."""
    return " or ".join(piece.text for piece in condition)


def rule_text(rule: RulePieces) -> str:
    """Return a rule as one text, for attributes."""
    texts = [
        f"({condition_text(each)})" if needs_brackets(each, rule) else condition_text(each)
        for each in rule
    ]
    return " and ".join(texts) or "all rows"


def needs_brackets(condition: ConditionPieces, rule: RulePieces) -> bool:
    """Whether a condition of a rule stands in brackets: "or" binds less than "and"."""
    return len(rule) > 1 and " or " in condition_text(condition)


def clipped(text: str, longest: int) -> str:
    """Return a text without control characters, shortened in the middle.

    Examples
    --------
    >>> from spexplain.show.report.phrases import clipped
    >>> clipped("a rather long name", 9)
    'a rat…ame'
    """
    text = one_line(text)
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 3 + 1
    return f"{text[: longest - 1 - tail]}…{text[-tail:]}"


def shown_names(summary: Summary) -> dict[int, str]:
    """Return what every feature is called in the report: short, and no two alike."""
    names: dict[int, str] = {each["feature"]: each["name"] for each in summary["features"]}
    for node in summary["nodes"]:
        if node["feature"] is not None and node["name"] is not None:
            names[node["feature"]] = node["name"]
        if (second := node["runner_up"]) is not None:
            names[second["feature"]] = second["name"]
    points = summary["points"]
    if points is not None:
        names |= dict(zip(points["features"], points["names"], strict=True))
    return clipped_names(names)


def clipped_names(names: Mapping[int, str]) -> dict[int, str]:
    """Return names of columns, by their numbers, short and no two alike."""
    short = {feature: clipped(name, _LONGEST_NAME) for feature, name in sorted(names.items())}
    return _distinct(short, "column")


def shown_labels(labels: Sequence[Label]) -> list[str]:
    """Return what every reference cluster is called in the report."""
    short = {code: _label_text(label) for code, label in enumerate(labels)}
    return list(_distinct(short, "cluster").values())


def shown_values(categories: Sequence[Any]) -> tuple[Any, ...]:
    """Return what the values of a category are called in the report: short, and no two alike."""
    if all(not isinstance(each, str) or len(each) <= _LONGEST_LABEL for each in categories):
        return tuple(categories)
    short = {code: clipped(str(each), _LONGEST_LABEL) for code, each in enumerate(categories)}
    return tuple(_distinct(short, "value").values())


def _label_text(label: Label) -> str:
    text = clipped(str(label), _LONGEST_LABEL)
    # A bare number among other numbers would not look like a name.
    return text if isinstance(label, str) and not text.isdecimal() else f"cluster {text}"


def _distinct(texts: Mapping[int, str], kind: str) -> dict[int, str]:
    """Add a number to the texts that are empty or occur twice."""
    often = Counter(texts.values())
    return {
        place: text if text and often[text] == 1 else f"{text} [{kind} {place}]".strip()
        for place, text in texts.items()
    }


def figure(x: float | None, digits: int = 4) -> str:
    """Return a number for people.

    Examples
    --------
    >>> from spexplain.show.report.phrases import figure
    >>> figure(1.12576), figure(None), figure(123456.0), figure(-0.5)
    ('1.126', '–', '123,456', '-0.5')
    """
    if x is None:
        return NOTHING
    return f"{x:,.0f}" if 10**digits <= abs(x) < 1e9 else f"{x:.{digits}g}"


def brief(column: Column, x: float | None, digits: int = 4) -> str:
    """Return a value or a computed one for people, in the words of its column.

    Examples
    --------
    >>> from spexplain.show.report.phrases import brief
    >>> from spexplain.tree import Column
    >>> brief(Column("age"), 31.23456), brief(Column("member", "boolean"), 1.0), brief(Column("age"), None)
    ('31.23', 'yes', 'missing')
    """
    if x is None or column.kind not in ("number", "whole", "flag", "word"):
        return brief_text(column, x)
    return figure(x, digits)


def share(x: float | None) -> str:
    """Return a share in percent with one decimal; only exact shares are written as 0% or 100%.

    Examples
    --------
    >>> from spexplain.show.report.phrases import share
    >>> share(0.92), share(0.9999), share(1.0), share(0.0001), share(None)
    ('92.0%', '>99.9%', '100%', '<0.1%', '–')
    """
    if x is None:
        return NOTHING
    if x in (0, 1):
        return f"{x:.0%}"
    text = f"{x:.1%}"
    return {"100.0%": ">99.9%", "0.0%": "<0.1%"}.get(text, text)


def verdict(summary: Summary, labels: Sequence[str]) -> str:
    """Return what the report says first: how good the tree is, and which clusters it has lost."""
    parts = [_verdict(summary), lost_clusters_text(summary, labels, beside_verdict=True)]
    if summary["goal"] is not None and "; " in summary["goal"]["text"]:
        parts.insert(1, sentence(summary["goal"]["text"]))
    return " ".join(each for each in parts if each)


def _verdict(summary: Summary) -> str:
    leaves = counted(summary["n_leaves"], "leaf", "leaves")
    rows = counted(summary["n_rows"], "row")
    reference, fidelity = summary["reference"], summary["fidelity"]
    verb = "reproduces" if summary["n_leaves"] == 1 else "reproduce"
    if reference is None or fidelity is None:
        n_groups = counted(summary["n_leaves"], "group")
        depth = counted(summary["depth"], "question")
        return f"A tree splits {rows} into {n_groups}, each found by at most {depth}."
    n_clusters = len(reference["labels"])
    clusters = "the one cluster" if n_clusters == 1 else f"the {n_clusters:,} clusters"
    which = "clustered rows" if reference["n_noise"] else "rows"
    return f"{leaves} {verb} {clusters} for {share(fidelity)} of the {which}."


def caveats(summary: Summary) -> list[str]:
    """Return what a reader should know before trusting the tree."""
    reference, told = summary["reference"], []
    if reference is None:
        return []
    if reference["n_noise"]:
        rows = counted(reference["n_noise"], "row")
        told.append(f"{rows} of noise belong to no cluster and do not count in the fidelity.")
    if "weight" in summary["nodes"][0]:
        told.append("Rows have weights: all shares are shares of the weight.")
    empty = sum(not leaf["size"] for leaf in summary["leaves"])
    if empty:
        told.append(f"{counted(empty, 'leaf', 'leaves')} without training rows.")
    return told


def excerpt(text: str, words: Sequence[str]) -> list[tuple[str, bool]]:
    """Return a part of a document around the first of some words, in pieces: those that are words are marked.

    Examples
    --------
    >>> from spexplain.show.report.phrases import excerpt
    >>> excerpt("The puck slid over the ice.", ["ice", "puck"])
    [('The ', False), ('puck', True), (' slid over the ', False), ('ice', True), ('.', False)]
    """
    text = one_line(text)
    asked = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    pattern = re.compile(rf"(?<!\w)(?:{asked})(?!\w)", re.IGNORECASE) if words else None
    first = pattern.search(text) if pattern else None
    start = 0
    if first is not None and first.start() > _LONGEST_TEXT - _BEFORE:
        start = text.rfind(" ", 0, first.start() - _BEFORE) + 1
    end = len(text)
    if end - start > _LONGEST_TEXT:
        end = text.rfind(" ", start + 1, start + _LONGEST_TEXT)
        end = end if end > start else start + _LONGEST_TEXT
    part = ("… " if start else "") + text[start:end] + (" …" if end < len(text) else "")
    pieces: list[tuple[str, bool]] = []
    at = 0
    for found in pattern.finditer(part) if pattern else ():
        pieces += [(part[at : found.start()], False), (found.group(), True)]
        at = found.end()
    pieces.append((part[at:], False))
    return [piece for piece in pieces if piece[0]]
