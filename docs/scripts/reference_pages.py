"""A hook of MkDocs: See also and References become lists, and names of documented types links.

Docstrings are written in numpydoc, whose sections of these names mkdocstrings leaves as plain text.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
SECTION = re.compile(
    r'(<details class="(see-also|references)" open>\s*<summary>)([^<]*)(</summary>\s*)<p>(.*?)</p>(?=\s*</details>)',
    re.DOTALL,
)
TYPE = re.compile(r"(<td>\s*<code>)([^<>]+)(</code>\s*</td>)")
TITLES = {"see-also": "See also", "references": "References"}


@cache
def documented() -> dict[str, str]:
    """Return the full names of the classes and functions that the reference shows, by their short names."""
    pages = (DOCS / "api.md", *sorted((DOCS / "methods").glob("*.md")))
    entry = re.compile(r"^::: (\S+)", re.MULTILINE)
    # Estimators have pages of their own; the base classes behind them are shown without a heading.
    hidden = ("Explainer", "CenterExplainer", "FittedModel")
    full = [name for page in pages for name in entry.findall(page.read_text("utf-8"))]
    return {name.rpartition(".")[2]: name for name in full if not name.endswith(hidden)}


def linked(name: str) -> str:
    """Return a name as a link to where it is documented, or as it is."""
    full = documented().get(name.rpartition(".")[2])
    return name if full is None else f'<autoref identifier="{full}">{name}</autoref>'


def see_also(text: str) -> str:
    """Return the entries of a section, "name : what it is", as a list."""
    entries = re.findall(r"^\s*([\w.]+) : (.*(?:\n(?!\s*[\w.]+ : ).*)*)", text, re.MULTILINE)
    items = (f"<li><code>{linked(name)}</code>: {told}</li>" for name, told in entries)
    return f"<ul>{''.join(items)}</ul>"


def references(text: str) -> str:
    """Return the entries of a section, ".. [1] Author. Title.", as a numbered list."""
    items = (f"<li>{' '.join(each.split())}</li>" for each in re.split(r"\.\. \[\d+\]", text)[1:])
    return f"<ol>{''.join(items)}</ol>"


def with_links(text: str) -> str:
    """Return a type in words with links to the classes that it names."""
    return re.sub(r"\b[A-Z]\w+\b", lambda match: linked(match[0]), text)


def mended(html: str) -> str:
    """Return a page with lists in these sections, and links in the tables of parameters."""

    def section(match: re.Match[str]) -> str:
        before, kind, _, after, text = match.groups()
        shown = see_also(text) if kind == "see-also" else references(text)
        return f"{before}{TITLES[kind]}{after}{shown}"

    html = SECTION.sub(section, html)
    return TYPE.sub(lambda match: f"{match[1]}{with_links(match[2])}{match[3]}", html)


def on_page_content(html: str, *, page: Any, **_: Any) -> str:
    """Change a page after it was rendered, before its links are resolved."""
    is_reference = page.file.src_uri == "api.md" or page.file.src_uri.startswith("methods/")
    return mended(html) if is_reference else html
