"""The numbers that the paper prints, shipped with the package."""

import csv
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

SOURCE = "T. Argov and T. Wagner, SpEx: A Spectral Approach to Explainable Clustering, NeurIPS 2025"
PRINTED = ("small", "large", "neighbors", "leaves", "runtime")  # tables that the paper has
# dataset, group, method, setting, measure
NumberKey: TypeAlias = tuple[str, str, str, str, str]


@cache
def published(table: str) -> dict[NumberKey, float]:
    """Return the printed numbers of a table.

    Parameters
    ----------
    table : str
        One of "small", "large", "neighbors", "leaves" and "runtime"; other tables are empty, as the
        paper does not print them.

    Returns
    -------
    numbers : dict
        By dataset, group, method, setting (the number of neighbours, or "") and measure.

    Examples
    --------
    >>> from spexplain.paper import published
    >>> published("small")["Iris", "spectral", "SpEx-Clique", "", "ari"]
    0.576
    """
    if table not in PRINTED:
        return {}
    return {_key_of(table, line): _value(table, line) for line in lines(table)}


def lines(name: str) -> list[dict[str, str]]:
    """Return the lines of a file of published numbers."""
    text = files("spexplain.paper").joinpath("published", f"{name}.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def _key_of(table: str, line: dict[str, Any]) -> NumberKey:
    if table == "neighbors":
        return line["dataset"], "spectral", "SpEx-kNN", line["n_neighbors"], line["measure"]
    if table == "runtime":
        return line["dataset"], line["phase"], line["step"], "", "seconds"
    return line["dataset"], line["group"], line["method"], "", line["measure"]


def _value(table: str, line: dict[str, str]) -> float:
    return float(line["seconds" if table == "runtime" else "value"])
