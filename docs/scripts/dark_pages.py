"""A hook of MkDocs: each picture that has a twin for dark pages is shown in both, one at a time.

Pages name one picture, so that they also read as they are; Material hides the one that does not suit.
"""

import re
from pathlib import Path
from typing import Any

PICTURE = re.compile(r"!\[([^]]*)\]\(([^)#]+)\.png\)")


def both(markdown: str, folder: Path) -> str:
    """Return a page with the twins of its pictures."""

    def pair(match: re.Match[str]) -> str:
        words, name = match.groups()
        if not (folder / f"{name}-dark.png").exists():
            return match[0]
        return f"![{words}]({name}.png#only-light)![{words}]({name}-dark.png#only-dark)"

    return PICTURE.sub(pair, markdown)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Change a page before it is built."""
    return both(markdown, Path(page.file.abs_src_path).parent)
