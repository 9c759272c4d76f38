"""Reports: offline HTML files that show everything a summary, or a check of new rows, says.

Import `render`, `render_check` and `write` from here.
"""

from spexplain.show.report.check import render_check
from spexplain.show.report.render import render, write

__all__ = ["render", "render_check", "write"]
