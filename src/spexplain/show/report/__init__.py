"""The report: one offline HTML file that shows everything a summary says; import `render` and `write` from here."""

from spexplain.show.report.render import render, write

__all__ = ["render", "write"]
