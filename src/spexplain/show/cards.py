"""Segments as cards for slides: what each says, and where it stands on a page; pictures and slides draw them."""

from math import ceil
from typing import NamedTuple

from spexplain.facts.schema import SegmentFacts, Summary
from spexplain.facts.text import percent, rows_or_weight
from spexplain.messages import counted, one_line
from spexplain.show.palette import colors

PAGE = 13.333, 7.5  # inches, as slides are
MOST_CARDS = 12
_MARGIN, _GAP, _TOP = 0.4, 0.2, 1.25
_N_TELLING = 3
_TALL, _WIDE = 4.0, 5.0  # inches from which on a card has room for larger letters


class SlideCard(NamedTuple):
    """A cluster on a page; places are in inches from the upper left corner."""

    name: str
    color: str
    rule: str
    size: str
    precision: float | None
    recall: float | None
    telling: list[str]
    x: float
    y: float
    width: float
    height: float

    @property
    def scale(self) -> float:
        """How much larger than those of a small card its letters are."""
        if self.height >= _TALL:
            return 1.6
        return 1.35 if self.width >= _WIDE else 1.0


class SlidePage(NamedTuple):
    """A page of cards."""

    title: str
    verdict: str
    level: str
    cards: list[SlideCard]
    note: str


def slide_page(summary: Summary, title: str | None = None) -> SlidePage:
    """Return the page of a summary: its verdict, and its largest segments side by side.

    Parameters
    ----------
    summary : dict
        From `FittedModel.summary`, or `outline` where rows are not known.
    title : str, optional
        Heading of the page.
    """
    segments = sorted(summary["segments"], key=lambda each: -(each["rows"] or 0))
    shown = segments[:MOST_CARDS]
    n_across = _n_across(len(shown))
    n_down = ceil(len(shown) / n_across) if shown else 1
    width = (PAGE[0] - 2 * _MARGIN - (n_across - 1) * _GAP) / n_across
    height = (PAGE[1] - _TOP - _MARGIN - (n_down - 1) * _GAP) / n_down
    palette = colors(len(summary["segments"]))
    is_weighted = "weight" in summary["nodes"][0]
    cards = [
        _card(
            each,
            palette[each["code"] or 0],
            _MARGIN + place % n_across * (width + _GAP),
            _TOP + place // n_across * (height + _GAP),
            width,
            height,
            is_weighted=is_weighted,
        )
        for place, each in enumerate(shown)
    ]
    verdict = summary["verdict"]
    more = len(segments) - len(shown)
    return SlidePage(
        one_line(title or "") or f"{counted(len(segments), 'segment')}, explained",
        ""
        if verdict is None
        else one_line(" ".join(verdict["sentences"][: 1 + (verdict["level"] == "none")])),
        "usable" if verdict is None else verdict["level"],
        cards,
        f"and {more} smaller ones" if more > 0 else "",
    )


def _n_across(n_cards: int) -> int:
    return n_cards if n_cards <= 3 else 2 if n_cards == 4 else 3 if n_cards <= 9 else 4


def _card(
    facts: SegmentFacts,
    color: str,
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    is_weighted: bool,
) -> SlideCard:
    rows = ""
    if facts["rows"] is not None:
        amount = rows_or_weight(facts["rows"], is_weighted=is_weighted)
        rows = f"{amount} ({percent(facts['share'])})"
    name = one_line(facts["name"])
    n_telling = _N_TELLING + 2 if height >= _TALL else _N_TELLING
    return SlideCard(
        f"cluster {name}" if name.isdecimal() else name,
        color,
        one_line(facts["rule"]),
        rows,
        facts["precision"],
        facts["recall"],
        [one_line(each["text"]) for each in facts["telling"][:n_telling]],
        x,
        y,
        width,
        height,
    )
