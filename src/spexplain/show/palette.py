"""Colours of clusters that colour-blind readers can distinguish, too."""

# Okabe and Ito's colours, which differ for all common kinds of colour vision; black is for text.
_BASE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442")
_SHADES = (0.0, -0.4, 0.5)  # towards black or white, for clusters beyond the first seven
NOISE_COLOR = "#9a9a9a"


def colors(n_clusters: int) -> list[str]:
    """Return a colour for each cluster; the last one, entry -1, is for noise.

    Beyond 21 clusters colours repeat.

    Examples
    --------
    >>> from spexplain.show.palette import colors
    >>> colors(2)
    ['#0072b2', '#e69f00', '#9a9a9a']
    """
    shades = [_shaded(color, shade) for shade in _SHADES for color in _BASE]
    return [*(shades[code % len(shades)] for code in range(n_clusters)), NOISE_COLOR]


def _shaded(color: str, shade: float) -> str:
    """Return a colour mixed with white (positive) or black (negative)."""
    target = 255 if shade > 0 else 0
    channels = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    mixed = (round(channel + abs(shade) * (target - channel)) for channel in channels)
    return "#" + "".join(f"{channel:02x}" for channel in mixed)
