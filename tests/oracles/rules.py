"""Best rules by trying all of them: every region of every column, every pair of regions, every pair of words."""

from collections.abc import Iterator
from itertools import chain, combinations, product
from typing import Any

import numpy as np

from spexplain.aliases import Bools, Floats
from spexplain.tree import Column


def measure(rows: Bools, inside: Floats, outside: Floats, name: str) -> float:
    """Return the measure of a rule by its definition."""
    tp, fp = inside[rows].sum(), outside[rows].sum()
    missed, spared = inside.sum() - tp, outside.sum() - fp
    if name == "balanced":
        return (tp / inside.sum() + (spared / outside.sum() if outside.sum() else 1.0)) / 2
    beta = {"f1": 1.0, "f2": 2.0, "f0.5": 0.5}[name]
    return (1 + beta**2) * tp / ((1 + beta**2) * tp + beta**2 * missed + fp)


def regions(x: Floats, column: Column) -> Iterator[Bools]:
    """Give the rows of every region of a column, missing values in or out."""
    missing = np.isnan(x)
    different = np.unique(x[~missing])
    if column.kind == "category":
        bodies = [
            np.isin(x, chosen)
            for size in range(len(different) + 1)
            for chosen in combinations(different, size)
        ]
    else:
        bodies = [np.zeros(len(x), dtype=bool)]
        bodies += [
            (x >= low) & (x <= high) for low, high in product(different, different) if low <= high
        ]
    for body in bodies:
        yield body
        if missing.any():
            yield body | missing


def best_value(
    X: Floats, columns: Any, inside: Floats, outside: Floats, n_conditions: int, name: str = "f1"
) -> float:
    """Return the measure of the best rule of one or two conditions, none of which all rows meet."""
    each = [
        [rows for rows in regions(X[:, place], column) if not rows.all()]
        for place, column in enumerate(columns)
    ]
    found = [measure(rows, inside, outside, name) for rows in chain(*each)]
    if n_conditions == 2:
        for one, other in combinations(each, 2):
            found += [measure(a & b, inside, outside, name) for a, b in product(one, other)]
    return max(found, default=0.0)


def best_words(
    has: Bools, inside: Floats, outside: Floats, n_words: int, name: str = "f1"
) -> float:
    """Return the measure of the best rule of one or two words that some row which counts does not meet."""
    words = list(has.T)
    rules = words + [~word for word in words]
    if n_words == 2:
        for a, b in combinations(words, 2):
            rules += [a | b, a & b, a & ~b, b & ~a, ~a & ~b]
    counted = inside + outside > 0
    return max(measure(rows, inside, outside, name) for rows in rules if not rows[counted].all())
