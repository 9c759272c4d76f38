"""The studio: a page on which people shape a tree by hand, with exact figures behind every click.

`Session` answers questions in plain JSON and knows nothing of its transport; `server` asks it for a page
in a browser, `widget` for one in a notebook.
"""

from spexplain.studio.session import Session, Source, StaleError

__all__ = ["Session", "Source", "StaleError"]
