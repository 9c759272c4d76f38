"""The report: one offline HTML file that shows everything a summary says."""

from spexplain.show.report.files import write
from spexplain.show.report.render import render

__all__ = ["render", "write"]
