"""Models over columns of every kind, and rows of them: as a user has them, and as numbers."""

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from spexplain.explanation import Explanation
from spexplain.tree import Column, Tree
from spexplain.tree.column import zone_info

NAN = float("nan")
TICK = timedelta(microseconds=1)
# Texts that any database can hold.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
HOSTILE = ["it's", "a\\b", "\\'", 'q"q', "`", "a, b", "x\ny", "NULL", "", " ", "ü", "A", "a", "a "]
NUMBERS = st.one_of(
    st.integers(-5, 5).map(float),
    st.sampled_from([0.1, 0.5595, 131.0, 20260101.0, 0.1 + 0.2, 1e-7, 5e-324, 1e300, 1e15, -2.5]),
    st.floats(allow_nan=False, allow_infinity=False),
)
MOMENTS = st.one_of(  # exact in a float
    st.integers(-200, 200).map(lambda year: year * 31_556_952_000_000),
    st.integers(-70_000, 70_000).map(lambda day: day * 86_400_000_000),
    st.integers(-(2**52), 2**52),
)
KINDS = ("number", "whole", "flag", "boolean", "category", "date", "duration", "word")


class Sample(NamedTuple):
    """A model, and rows of its table."""

    model: Explanation
    raw: list[list[Any]]
    coded: np.ndarray


def raw_value(column: Column, x: float, unseen: Any = None) -> Any:
    """A value as a user has it; `unseen` stands for NaN."""
    if np.isnan(x):
        return unseen
    if column.kind == "category":
        return column.categories[int(x)]
    if column.kind == "boolean":
        return bool(x)
    if column.kind == "duration":
        return int(x) * TICK
    if column.kind == "date":
        moment = datetime(1970, 1, 1, tzinfo=UTC) + int(x) * TICK
        zone = column.zone
        return moment.replace(tzinfo=None) if zone is None else moment.astimezone(zone_info(zone))
    return int(x) if column.kind in ("whole", "flag") else x


@st.composite
def columns(draw: st.DrawFn, name: str, kinds: tuple[str, ...]) -> Column:
    kind = draw(st.sampled_from(kinds))
    categories: list[Any] = []
    if kind == "category":
        values = draw(
            st.sampled_from(
                [
                    st.sampled_from(HOSTILE) | TEXTS,
                    st.integers(-(2**53), 2**53) | NUMBERS,
                    st.booleans(),
                ]
            )
        )
        categories = draw(st.lists(values, min_size=1, max_size=5, unique=True))
    zone = (
        draw(st.sampled_from([None, "UTC", "Europe/Berlin", "+05:30"])) if kind == "date" else None
    )
    return Column(name, kind, tuple(categories), zone, draw(st.booleans()))


@st.composite
def tests_of(draw: st.DrawFn, column: Column) -> dict[str, Any]:
    """What `Tree.split` takes for a test of a column."""
    missing = draw(st.booleans())
    if draw(st.integers(0, 7)) == 0:  # is missing, or is not
        return {"threshold": -np.inf if missing else np.inf, "missing": missing}
    if column.kind == "category":
        codes = range(len(column.categories))
        found = draw(st.lists(st.sampled_from(codes), min_size=1, unique=True))
        if len(found) == 1 and draw(st.booleans()):
            return {"threshold": found[0], "lower": found[0] - 1, "missing": missing}
        return {"threshold": np.nan, "categories": tuple(sorted(found)), "missing": missing}
    if column.kind in ("flag", "boolean"):
        bounds = draw(st.sampled_from([(-np.inf, 0), (0, 1), (0, np.inf)]))
        return {"lower": bounds[0], "threshold": bounds[1], "missing": missing}
    ends = {"date": MOMENTS, "duration": MOMENTS, "whole": st.integers(-9, 9)}
    end = ends.get(column.kind, NUMBERS).map(float)
    lower, threshold = sorted([draw(end), draw(end)])
    form = (
        draw(st.sampled_from(["at most", "above", "between"])) if lower < threshold else "at most"
    )
    if form == "above":
        return {"threshold": np.inf, "lower": lower, "missing": missing}
    return {
        "threshold": threshold,
        "lower": lower if form == "between" else -np.inf,
        "missing": missing,
    }


def edges(column: Column, tests: list[dict[str, Any]]) -> list[float]:
    """Values on both sides of every test."""
    if column.kind == "category":
        return [float(code) for code in range(len(column.categories))]
    if column.kind in ("flag", "boolean"):
        return [0.0, 1.0]
    ends = [test.get(key, np.nan) for test in tests for key in ("lower", "threshold")]
    values = np.array([0.0, *(each for each in ends if np.isfinite(each))])
    if column.kind in ("whole", "date", "duration"):
        return np.unique([values - 1, values, values + 1]).tolist()
    with np.errstate(over="ignore"):
        near = np.unique([values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)])
    return near[np.isfinite(near)].tolist()


@st.composite
def samples(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> Sample:
    """A model over up to four columns, with rows of which many values lie on the edge of a test."""
    n_columns = draw(st.integers(1, 4))
    described = [draw(columns(f"c{number}", kinds)) for number in range(n_columns)]
    tree = Tree.root(n_features=n_columns, size=9)
    asked: list[list[dict[str, Any]]] = [[] for _ in described]
    for _ in range(draw(st.integers(0, 6))):
        feature = draw(st.integers(0, n_columns - 1))
        test = draw(tests_of(described[feature]))
        asked[feature].append(test)
        leaf = int(draw(st.sampled_from(tree.leaves.tolist())))
        tree = tree.split(leaf, feature=feature, sizes=(4, 5), **test)
    pools = [
        st.sampled_from([NAN, *edges(column, tests)])
        for column, tests in zip(described, asked, strict=True)
    ]
    coded = draw(st.lists(st.tuples(*pools), min_size=1, max_size=12))
    raw = [
        [
            raw_value(column, x, draw(unseen(column)) if np.isnan(x) else None)
            for column, x in zip(described, row, strict=True)
        ]
        for row in coded
    ]
    model = Explanation(tree, tuple(each.name for each in described), described=tuple(described))
    return Sample(model, raw, np.array(coded, dtype=np.float64))


def unseen(column: Column) -> st.SearchStrategy[Any]:
    """A missing value, or a category that training did not see."""
    if column.kind in ("number", "word"):
        return st.sampled_from([None, NAN])
    if column.kind != "category":
        return st.none()
    others = {str: ["never seen", "A", "a", "a ", "1"], bool: [True, False]}
    values = others.get(type(column.categories[0]), [0.25, -7.0, 1e300])
    return st.sampled_from([None, *(each for each in values if np.isnan(column.code(each)))])
