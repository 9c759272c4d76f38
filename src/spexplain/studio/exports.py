"""Files that the page offers: everything that the library exports."""

import csv
import io
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spexplain.export.dbt import dbt_files
from spexplain.export.dialects import DIALECTS
from spexplain.export.spreadsheets import disarmed
from spexplain.facts.segments import Clusters
from spexplain.tree import python_value

if TYPE_CHECKING:
    from spexplain.explanation.fitted import FittedModel
    from spexplain.export.labels import LabelKind

_SPOKEN = {
    "duckdb": "DuckDB",
    "postgresql": "PostgreSQL",
    "sqlite": "SQLite",
    "bigquery": "BigQuery",
    "snowflake": "Snowflake",
    "mysql": "MySQL",
}


class Format(NamedTuple):
    """One kind of file."""

    title: str
    ending: str
    media_type: str
    write: "Callable[[FittedModel, LabelKind, str], str | bytes]"  # model, label, name of the table
    needs: tuple[str, str] | None = None  # package and extra


def _text(model: "FittedModel", label: "LabelKind", table: str) -> str:
    return model.to_text() + "\n"


def _sql(dialect: str) -> "Callable[[FittedModel, LabelKind, str], str]":
    def write(model: "FittedModel", label: "LabelKind", table: str) -> str:
        return model.to_sql(dialect=dialect, table=table, label=label).rstrip("\n") + "\n"  # type: ignore[arg-type]

    return write


def _dbt(model: "FittedModel", label: "LabelKind", table: str) -> bytes:
    files = dbt_files(model.explanation_, table=table, label=label, booleans=True)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, content in files.items():
            # Without the hour of the day: the same model gives the same file.
            archive.writestr(zipfile.ZipInfo(str(place)), content)
    return packed.getvalue()


def _report(model: "FittedModel", label: "LabelKind", table: str) -> str:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return model.report(Path(folder) / "report.html").read_text(encoding="utf-8")


def _onnx(model: "FittedModel", label: "LabelKind", table: str) -> bytes:
    content: bytes = model.to_onnx(label=label).SerializeToString()
    return content


def _picture(ending: str) -> "Callable[[FittedModel, LabelKind, str], bytes]":
    return lambda model, label, table: model._picture(ending)


def _segment_records(model: "FittedModel") -> list[Mapping[str, Any]]:
    records: list[Mapping[str, Any]] = model.segments(output="records")
    names = ("cluster", "rule", "rows", "share", "precision", "recall", "f1", "lift")
    return [{name: record[name] for name in names} for record in records]


def _rule_records(model: "FittedModel") -> list[Mapping[str, Any]]:
    records: list[Mapping[str, Any]] = model.rules(output="records")
    return records


def _csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Return records as CSV; texts that a spreadsheet would run are disarmed."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    if records:
        writer.writerow([disarmed(name) for name in records[0]])
    for record in records:
        writer.writerow([_cell(each) for each in record.values()])
    return file.getvalue()


def _cell(value: Any) -> Any:
    value = python_value(value)
    if isinstance(value, list | tuple):
        value = " ".join(map(str, value))
    return disarmed(value) if isinstance(value, str) else value


def _printable(value: Any) -> Any:
    """Return a text without control characters, which no sheet holds."""
    return "".join(c for c in value if c.isprintable()) if isinstance(value, str) else value


def _workbook(model: "FittedModel", label: "LabelKind", table: str) -> bytes:
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    for title, records in (
        ("segments", _segment_records(model)),
        ("rules", _rule_records(model)),
    ):
        sheet = book.create_sheet(title)
        if records:
            sheet.append(list(records[0]))
        for record in records:
            sheet.append([_printable(_cell(each)) for each in record.values()])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _rows(model: "FittedModel", label: "LabelKind", table: str) -> str:
    """Return the segment of every row, by its id."""
    explanation = model.explanation_
    training = explanation.training
    if training is None or explanation.labels is None:
        raise ValueError("The segment of every row is known only where the rows are.")
    clusters, leaves = Clusters.of(explanation), np.asarray(explanation.labels)
    names = np.array([disarmed(clusters.name(code)) for code in clusters.leaf_codes.tolist()])
    ids = training.row_ids
    numbers = np.arange(len(leaves)).tolist() if ids is None else [_cell(str(x)) for x in ids]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["row" if ids is None else "id", "leaf", "segment"])
    writer.writerows(zip(numbers, leaves.tolist(), names[leaves].tolist(), strict=True))
    return file.getvalue()


FORMATS: dict[str, Format] = {
    "text": Format("The tree as text", ".txt", "text/plain", _text),
    "rules": Format(
        "Rules of the leaves", ".rules.csv", "text/csv", lambda m, *_: _csv(_rule_records(m))
    ),
    "segments": Format(
        "Segments", ".segments.csv", "text/csv", lambda m, *_: _csv(_segment_records(m))
    ),
    "rows": Format("Segment of every row", ".rows.csv", "text/csv", _rows),
    **{
        f"sql-{dialect}": Format(
            f"SQL for {_SPOKEN.get(dialect, dialect)}",
            f".{dialect}.sql",
            "text/plain",
            _sql(dialect),
        )
        for dialect in DIALECTS
    },
    "dbt": Format("dbt model", ".dbt.zip", "application/zip", _dbt),
    "python": Format(
        "Python function", ".py", "text/x-python", lambda m, label, _: m.to_python(label=label)
    ),
    "json": Format(
        "Model with its journal, for spexplain",
        ".json",
        "application/json",
        lambda m, *_: m.to_json(),
    ),
    "onnx": Format("ONNX model", ".onnx", "application/octet-stream", _onnx, ("onnx", "onnx")),
    "report": Format("Report", ".html", "text/html", _report, ("jinja2", "report")),
    "xlsx": Format(
        "Segments and rules for Excel",
        ".xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        _workbook,
        ("openpyxl", "office"),
    ),
    **{
        ending: Format(
            f"Picture of the segments, {ending.upper()}",
            f".{ending}",
            media,
            _picture(ending),
            needs,
        )
        for ending, media, needs in (
            ("png", "image/png", ("matplotlib", "plot")),
            ("svg", "image/svg+xml", ("matplotlib", "plot")),
            ("pdf", "application/pdf", ("matplotlib", "plot")),
            (
                "pptx",
                "application/vnd.openxmlformats-officedocument.presentationml.presentation",
                ("pptx", "office"),
            ),
        )
    },
}


def available_formats() -> list[dict[str, Any]]:
    """Return what can be exported here, and what a missing package would add."""
    found = []
    for name, each in FORMATS.items():
        has_all = each.needs is None or find_spec(each.needs[0]) is not None
        why = (
            None
            if has_all or each.needs is None
            else f'It needs {each.needs[0]}: pip install "spexplain[{each.needs[1]}]".'
        )
        record: dict[str, Any] = {"format": name, "title": each.title, "ending": each.ending}
        found.append(record | {"available": has_all, "why": why})
    return found


def export(model: "FittedModel", format: str, name: str) -> tuple[str, str, str | bytes]:
    """Return the name of a file, its type and its content.

    Parameters
    ----------
    model : fitted model
        What is exported.
    format : str
        A key of `FORMATS`.
    name : str
        What the table is called.
    """
    if not isinstance(format, str) or format not in FORMATS:
        raise ValueError(f"format={str(format)[:50]!r} must be one of {', '.join(FORMATS)}.")
    chosen = FORMATS[format]
    if chosen.needs is not None and find_spec(chosen.needs[0]) is None:
        package, extra = chosen.needs
        raise ImportError(f'{chosen.title} needs {package}: pip install "spexplain[{extra}]".')
    stem = re.sub(r"[^0-9A-Za-z_]+", "_", name.split(".", maxsplit=1)[0]).strip("_")[:60] or "table"
    table = stem if not stem[0].isdigit() else f"t_{stem}"
    label: LabelKind = "leaf" if model.explanation_.leaf_reference is None else "reference"
    return stem + chosen.ending, chosen.media_type, chosen.write(model, label, table)
