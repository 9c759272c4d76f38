"""The segments as one picture for slides: a card for each, with its rule and how well it fits."""

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from spexplain.facts.schema import Summary
from spexplain.facts.text import percent
from spexplain.show.cards import PAGE, SlideCard, slide_page
from spexplain.show.plots.style import ELLIPSIS, drawable, pyplot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEVELS = {"good": "#2a8a55", "usable": "#0b5aa8", "weak": "#b97f00", "none": "#c02626"}
_LETTER = 0.0076  # inches of a letter, for each point of its size
_LINE = 0.0195  # inches of a line, likewise
_PAD = 0.16


def plot_segments(summary: Summary, *, title: str | None = None) -> "Figure":
    """Draw the segments of a summary side by side, as large as a slide; returns the Figure.

    Parameters
    ----------
    summary : dict
        From `summary`, or from `outline` where rows are not known.
    title : str, optional
        Heading of the picture.

    Examples
    --------
    >>> from spexplain import CART
    >>> from spexplain.show.plots import plot_segments
    >>> explainer = CART(feature_names=["age"]).fit([[20.0], [25.0], [52.0], [60.0]], ["new", "new", "VIP", "VIP"])
    >>> figure = plot_segments(explainer.summary())
    >>> [text.get_text() for text in figure.axes[0].texts][2:4]
    ['VIP', '2 rows (50%)']
    """
    plt = pyplot()
    page = slide_page(summary, title)
    figure: Figure = plt.figure(figsize=PAGE, facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, PAGE[0])
    ax.set_ylim(PAGE[1], 0)
    ax.axis("off")
    _write(ax, page.title, 0.4, 0.55, 20, width=PAGE[0] - 0.8, most=1, weight="bold")
    ax.plot([0.42, 0.42], [0.72, 1.08], color=_LEVELS[page.level], linewidth=4)
    _write(ax, page.verdict or " ", 0.55, 0.9, 13, width=PAGE[0] - 1.0, most=2)
    for card in page.cards:
        _draw(ax, card)
    if page.note:
        ax.text(PAGE[0] - 0.4, PAGE[1] - 0.12, page.note, fontsize=10, ha="right", color="#56606b")
    return figure


def _write(
    ax: Any,
    text: str,
    x: float,
    y: float,
    size: float,
    *,
    width: float,
    most: int,
    **style: Any,
) -> float:
    """Write a text in lines that fit; return where the next line begins."""
    lines = _lines(text, size, width)
    if len(lines) > most:
        lines[most - 1] = shortened_end(lines[most - 1])
    for line in lines[:most]:
        ax.text(x, y, drawable(line), fontsize=size, va="center", **style)
        y += size * _LINE
    return y


def _lines(text: str, size: float, width: float) -> list[str]:
    letters = max(int(width / (size * _LETTER)), 8)
    return wrap(text, letters, break_on_hyphens=False) or [""]


def shortened_end(line: str) -> str:
    """Return a line that says that more follows."""
    return f"{line.rpartition(' ')[0] or line[:-1]} {ELLIPSIS}"


def _draw(ax: Any, card: SlideCard) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    outline = FancyBboxPatch(
        (card.x, card.y), card.width, card.height, boxstyle="round,pad=0,rounding_size=0.08",
        facecolor="white", edgecolor="#d9dee4",
    )  # fmt: skip
    ax.add_patch(outline)
    ax.add_patch(Rectangle((card.x, card.y), card.width, 0.09, color=card.color, linewidth=0))
    x, width = card.x + _PAD, card.width - 2 * _PAD
    scale = card.scale
    size, small = (9.5 if card.height < 2.2 else 11) * scale, 9.5 * scale
    y = card.y + 0.1 + 0.22 * scale
    y = _write(ax, card.name, x, y, 14 * scale, width=width, most=1, weight="bold")
    y = _write(ax, card.size, x, y - 0.02, 10 * scale, width=width, most=1, color="#56606b")
    bars_at = card.y + card.height - (0.18 if card.height < 2.2 else 0.32)
    # The rule comes first; telling columns get the room that is left.
    n_lines = max(1, int((bars_at - 0.18 * scale - y) / (size * _LINE)))
    kept = min(len(card.telling), max(0, n_lines - len(_lines(card.rule, size, width))))
    y = _write(ax, card.rule, x, y + 0.04, size, width=width, most=n_lines - kept, color="#1c2127")
    for text in card.telling:
        room = int((bars_at - 0.18 * scale - y) / (small * _LINE))
        if room < 1:
            break
        y = _write(
            ax, f"· {text}", x, y + 0.02, small, width=width, most=min(2, room), color="#3a434d"
        )
    half = (width - 0.2) / 2
    for at, (name, share) in enumerate((("precision", card.precision), ("recall", card.recall))):
        if share is None:
            continue
        left = x + at * (half + 0.2)
        ax.add_patch(Rectangle((left, bars_at), half, 0.09, color="#eef1f4", linewidth=0))
        ax.add_patch(Rectangle((left, bars_at), half * share, 0.09, color=card.color, linewidth=0))
        text = f"{name} {percent(share)}"
        ax.text(
            left, bars_at - 0.09 * scale, text, fontsize=9 * scale, va="center", color="#56606b"
        )
