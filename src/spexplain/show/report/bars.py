"""Composition bars: which clusters the rows of a node belong to."""

from collections.abc import Sequence
from typing import NamedTuple

from spexplain.show.report.phrases import share
from spexplain.show.report.source import NOISE, Source, color_class

_THINNEST = 0.004  # thinner pieces could not be seen and are drawn together
_N_PIECES = 24
_N_NAMED = 4


class Segment(NamedTuple):
    """A piece of a bar, in percent of its width."""

    x: float
    width: float
    color: str


class Bar(NamedTuple):
    """A bar and what it says in words."""

    segments: list[Segment]
    text: str


def composition_bar(source: Source, counts: Sequence[int], noise: int) -> Bar:
    """Return the bar of a node's rows by cluster, in the order of the clusters."""
    parts = [(code, count) for code, count in enumerate(counts) if count]
    if noise:
        parts.append((NOISE, noise))
    total = sum(count for _, count in parts)
    return Bar(_segments(parts, total), _text(source, parts, total))


def share_bar(part: float, text: str, color: str = "k-none") -> Bar:
    """Return a bar that is filled to a share."""
    return Bar([Segment(0, round(100 * part, 2), color)], text)


def node_bar(source: Source, node: int) -> Bar:
    """Return the bar of a node: its composition, or without clusters its share of all rows."""
    fact = source.summary["nodes"][node]
    if fact["counts"] is None:
        color = "k-none"
        if fact["leaf"] is not None:
            color = source.leaf_color(source.summary["leaves"][fact["leaf"]])
        return share_bar(fact["share"], f"{share(fact['share'])} of all rows", color)
    return composition_bar(source, fact["counts"], fact["noise"])


def _segments(parts: list[tuple[int, int]], total: int) -> list[Segment]:
    segments: list[Segment] = []
    x = rest = 0.0
    largest = sorted((count for _, count in parts), reverse=True)[:_N_PIECES]
    for code, count in parts:
        width = count / total
        if width < _THINNEST or count < largest[-1] or len(segments) == _N_PIECES:
            rest += width
            continue
        segments.append(Segment(round(100 * x, 2), round(100 * width, 2), color_class(code)))
        x += width
    if rest:
        segments.append(Segment(round(100 * x, 2), round(100 * rest, 2), "k-none"))
    return segments


def _text(source: Source, parts: list[tuple[int, int]], total: int) -> str:
    ordered = sorted(parts, key=lambda part: (part[0] == NOISE, -part[1]))
    named = [f"{share(count / total)} {source.label(code)}" for code, count in ordered[:_N_NAMED]]
    rest = sum(count for _, count in ordered[_N_NAMED:])
    return ", ".join([*named, f"{share(rest / total)} others"] if rest else named) or "no rows"
