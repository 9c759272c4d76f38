"""Records as a data frame, if a library for it is there."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

from spexplain.arguments import check_choice

TableKind: TypeAlias = Literal["auto", "pandas", "polars", "records"]


def as_table(records: list[dict[str, Any]], output: TableKind) -> Any:
    """Return records as they are, or as a DataFrame of pandas or polars."""
    check_choice("output", output, ("auto", "pandas", "polars", "records"))
    if output == "auto":
        installed = (name for name in ("pandas", "polars") if find_spec(name) is not None)
        output = next(installed, "records")  # type: ignore[arg-type]
    if output == "records":
        return records
    try:
        return import_module(output).DataFrame(records)
    except ImportError:
        raise ImportError(
            f"output={output!r} needs {output}; install it with: pip install {output}"
        ) from None
