"""Files that a page shows and that its examples read: blocks whose fence ends in the name of a file."""

import re
from pathlib import Path

_FILE = re.compile(r"^```\w+ ([\w.-]+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def write_files(page: str, folder: Path) -> None:
    """Write the files of a page into a folder."""
    for name, content in _FILE.findall(page):
        (folder / name).write_text(content, "utf-8")
