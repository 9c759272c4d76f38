"""The report: one offline HTML file that shows everything a summary says."""

from spexplain.report.files import write
from spexplain.report.render import render

__all__ = ["render", "write"]
