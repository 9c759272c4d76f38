"""What is typical of each leaf: a heat map of leaves and columns."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spexplain.aliases import Floats
from spexplain.facts.schema import LeafFacts, Summary
from spexplain.facts.text import percent
from spexplain.show.plots.style import axes_or_new, label_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STRONGEST = 2.0  # standard deviations of the deepest colour, unless there is less


def plot_profiles(
    summary: Summary,
    ax: "Axes | None" = None,
    *,
    max_features: int = 12,
    max_name: int = 24,
) -> "Axes":
    """Draw how far the mean of each leaf lies from that of the other rows, column by column.

    Cells of categories, booleans and words show the share of rows, with a bar of that length.

    Parameters
    ----------
    summary : dict
        From `spexplain.facts.summary`, with the training rows.
    ax : Axes, optional
        Where to draw; by default a new figure of fitting size.
    max_features : int, default=12
        How many columns to draw: those with the largest differences in any leaf, in the order of the table.
    max_name : int, default=24
        Longest name or label in characters; longer ones lose their middle.

    Returns
    -------
    ax : Axes
        Differences in standard deviations of all rows; empty where undefined.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import SpexClique
    >>> from spexplain.show.plots import plot_profiles
    >>> from spexplain.facts import summarize
    >>> X = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> ax = plot_profiles(summarize(SpexClique().fit(X, [0, 0, 1, 1]).explanation_, X))
    >>> [text.get_text() for text in ax.texts]
    ['−2.0', '+2.0']
    """
    differences = summary["differences"]
    if differences is None:
        raise ValueError("summary was made without the training rows; pass X to summarize.")
    values = np.array(differences["values"], dtype=np.float64).reshape(summary["n_leaves"], -1)
    largest = np.max(np.nan_to_num(np.abs(values), nan=0.0), axis=0, initial=0.0)
    known = np.flatnonzero(np.isfinite(values).any(axis=0))  # constant features show nothing
    known = known if len(known) else np.arange(values.shape[1])
    shown = np.sort(known[np.argsort(-largest[known], kind="stable")[:max_features]])
    shares = np.array(differences["shares"], dtype=np.float64).reshape(values.shape)[:, shown]
    values = values[:, shown]
    size = (2.6 + 0.62 * len(shown), 1.6 + 0.34 * len(values))
    ax = axes_or_new(ax, size, layout="constrained")
    limit = float(np.clip(np.max(largest, initial=0.0), 0.5, _STRONGEST))
    image = ax.imshow(values, cmap="PuOr_r", vmin=-limit, vmax=limit, aspect="auto")
    names = [label_text(differences["names"][at], max_name) for at in shown]
    ax.set_xticks(range(len(shown)), names, rotation=40, ha="right", rotation_mode="anchor")
    leaves = [_leaf_name(leaf, max_name) for leaf in summary["leaves"]]
    ax.set_yticks(range(len(leaves)), leaves)
    ax.tick_params(length=0, labelsize=8)
    ax.spines[:].set_visible(False)
    _annotate(ax, values, shares, limit)
    bar = ax.figure.colorbar(image, ax=ax, extend="both", fraction=0.05, pad=0.02)
    bar.set_label("SD above or below the rest", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    return ax


def _leaf_name(leaf: LeafFacts, max_name: int) -> str:
    label = "" if leaf["label"] is None else f": {label_text(leaf['label'], max_name)}"
    return f"leaf {leaf['leaf']}{label} ({percent(leaf['share'])})"


def _annotate(ax: "Axes", values: Floats, shares: Floats, limit: float) -> None:
    """Write every number into its cell, light on dark; shares with a bar."""
    from matplotlib.patches import Rectangle

    for (leaf, at), value in np.ndenumerate(values):
        share = float(shares[leaf, at])
        is_share = bool(np.isfinite(share))
        if not is_share and not np.isfinite(value):
            continue
        color = "white" if abs(value) > 0.7 * limit else "black"
        text = f"{value:+.1f}".replace("-", "\N{MINUS SIGN}") if abs(value) >= 0.05 else "0"
        if is_share:
            text = percent(share)
            corner = (at - 0.44, leaf + 0.3)
            frame: dict[str, Any] = {"lw": 0, "facecolor": color}
            ax.add_patch(Rectangle(corner, 0.88, 0.11, alpha=0.2, **frame))
            ax.add_patch(Rectangle(corner, 0.88 * share, 0.11, alpha=0.75, **frame))
        high = leaf - 0.08 if is_share else leaf
        ax.text(at, high, text, ha="center", va="center", color=color, fontsize=7.5)
