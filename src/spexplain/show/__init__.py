"""Facts made visible: the notebook view, matplotlib pictures and the report.

Import from `spexplain.show.notebook`, `spexplain.show.plots` and `spexplain.show.report`. All are
drawn from the same summary of `spexplain.facts`, but for `plot_cuts`, which draws the rows themselves.
"""
