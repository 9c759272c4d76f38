"""The report: one offline HTML file that shows everything a summary says."""

from spexplain.show.report.render import render, write

__all__ = ["render", "write"]
