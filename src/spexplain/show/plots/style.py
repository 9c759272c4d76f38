"""What all plots share: matplotlib when it is asked for, texts that fit and cannot be misread."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from spexplain.messages import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ELLIPSIS = "…"
_UNKNOWN = "\N{WHITE SQUARE}"


def pyplot() -> Any:
    """Return matplotlib's pyplot; say what to install where it is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            'Plots need matplotlib; install it with: pip install "spexplain[plot]"'
        ) from None
    return plt


def axes_or_new(ax: "Axes | None", size: tuple[float, float], **options: Any) -> "Axes":
    """Return the given axes, or those of a new figure of that size in inches."""
    if ax is not None:
        return ax
    new: Axes = pyplot().subplots(figsize=size, **options)[1]
    return new


def shortened(text: str, length: int) -> str:
    """Return a text of one line, cut in the middle if it is long: names often differ at their ends.

    Examples
    --------
    >>> from spexplain.show.plots.style import shortened
    >>> shortened("mean fractal dimension (worst)", 16)
    'mean fra…(worst)'
    """
    text = one_line(text)
    if len(text) <= length:
        return text
    head = length // 2
    return text[:head] + ELLIPSIS + text[len(text) - (length - head - 1) :]


def drawable(text: str) -> str:
    """Return a text as matplotlib must get it: no formulas, no characters that the font lacks."""
    known = "".join(c if _has_glyph(c) else _UNKNOWN for c in text)
    # An unescaped pair of dollars would start a formula; a leading underscore hides legend entries.
    escaped = known.replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def label_text(text: Any, length: int) -> str:
    """Return a name or label, shortened and safe to draw."""
    return drawable(shortened(str(text), length))


@lru_cache(maxsize=4096)
def _has_glyph(character: str) -> bool:
    if character.isascii():
        return True
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return bool(get_font(findfont(FontProperties())).get_char_index(ord(character)))


def text_width(text: str, font_size: float, weight: str = "normal") -> float:
    """Return the width of a drawable text in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    if not text.strip():
        return 0.0
    path = TextPath((0, 0), text, size=font_size, prop=FontProperties(weight=weight))
    # Control points enclose their curves; the exact extent takes fifty times as long.
    return float(np.ptp(np.asarray(path.vertices)[:, 0])) / 72
