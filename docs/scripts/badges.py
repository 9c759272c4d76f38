"""The badges of the README, drawn from what they claim: ``python docs/scripts/badges.py``.

They are files of the repository, so no service must be asked; a test says when one is no longer true.
"""

import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "images" / "badges"
COLORS = {"python": "#3b6ea5", "licence": "#2a7d4f", "types": "#3b6ea5", "coverage": "#2a7d4f"}
_LETTER = 6.7  # points of a letter, on average


def claims() -> dict[str, str]:
    """Return what each badge says, as pyproject.toml has it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    found = {
        "python": settings["project"]["requires-python"].removeprefix(">=") + " or later",
        "licence": settings["project"]["license"],
        "coverage": f"at least {settings['tool']['coverage']['report']['fail_under']} %",
    }
    if settings["tool"]["mypy"]["strict"] and (ROOT / "src/spexplain/py.typed").exists():
        found["types"] = "strict"
    return found


def badge(name: str, says: str) -> str:
    """Return a badge as SVG.

    Parameters
    ----------
    name : str
        What it is about, on the left.
    says : str
        What is claimed, on the right.
    """
    left, right = (round(len(each) * _LETTER + 12) for each in (name, says))
    text = 'y="14" fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img"'
        f' aria-label="{escape(name)}: {escape(says)}">'
        f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath><g clip-path="url(#r)">'
        f'<rect width="{left}" height="20" fill="#555"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{COLORS[name]}"/></g>'
        f'<text x="{left / 2}" {text}>{escape(name)}</text>'
        f'<text x="{left + right / 2}" {text}>{escape(says)}</text></svg>\n'
    )


def badges() -> dict[str, str]:
    """Return all badges by the name of their file."""
    return {f"{name}.svg": badge(name, says) for name, says in claims().items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, svg in badges().items():
        (FOLDER / file).write_text(svg, "utf-8")
