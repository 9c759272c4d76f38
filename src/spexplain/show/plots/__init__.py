"""Pictures of a tree, drawn with matplotlib (``pip install "spexplain[plot]"``); import them from here."""

from spexplain.show.plots.cuts import plot_cuts
from spexplain.show.plots.path import plot_curve, plot_path
from spexplain.show.plots.profiles import plot_profiles
from spexplain.show.plots.segments import plot_segments
from spexplain.show.plots.tree import plot_tree

__all__ = ["plot_curve", "plot_cuts", "plot_path", "plot_profiles", "plot_segments", "plot_tree"]
