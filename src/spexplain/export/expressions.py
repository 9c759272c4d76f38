"""The tree as an expression over the columns of a data frame: polars and PySpark."""

from datetime import UTC, datetime, timedelta
from math import floor, inf
from typing import TYPE_CHECKING, Any, Protocol

from spexplain.exceptions import quoted
from spexplain.export.labels import LabelKind
from spexplain.tree import LEAF, Column, Region, python_value

if TYPE_CHECKING:
    from spexplain.explanation import Explanation


class Language(Protocol):
    """The operations of a data frame library that tests need."""

    def number(self, column: Column, key: str) -> Any:
        """Return a column as numbers that compare with `bound`; missing where there is none."""

    def bound(self, x: float, column: Column) -> Any:
        """Return the end of an interval."""

    def listed(self, values: list[Any], kind: type, key: str) -> Any:
        """Return whether a column of categories has one of some values; missing where it has none."""

    def filled(self, condition: Any, value: bool) -> Any:
        """Return a condition with a value where it is missing."""

    def constant(self, value: Any) -> Any:
        """Return a label, or None for a missing one."""

    def choice(self, condition: Any, yes: Any, no: Any) -> Any:
        """Return one of two expressions."""


def to_polars(
    explanation: "Explanation", *, label: LabelKind = "leaf", name: str = "cluster"
) -> Any:
    """Return the tree as an expression of polars.

    It gives the labels that `predict` gives, on eager and lazy frames: missing values (null or NaN) and
    categories never seen in training go where the tree sends them. A model that refuses missing values
    (``missing="error"``) gives null where a test needs one.

    Parameters
    ----------
    explanation : Explanation
        The explanation to export.
    label : {"leaf", "reference"}
        Leaf ids, or the reference label that each leaf stands for (as text unless it is a string, integer,
        float or boolean).
    name : str
        Name of the new column.

    Returns
    -------
    expression : polars.Expr

    Examples
    --------
    >>> import polars as pl
    >>> from spexplain.explanation import Explanation
    >>> from spexplain.export import to_polars
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=2, size=10).split(0, feature=1, threshold=0.5)
    >>> expression = to_polars(Explanation(tree, ("width", "height")))
    >>> pl.DataFrame({"height": [0.5, 0.6, None]}).with_columns(expression)["cluster"].to_list()
    [0, 1, 1]
    """
    try:
        import polars as pl
    except ImportError:
        raise ImportError("to_polars needs polars; install it with: pip install polars") from None
    found = _expression(explanation, _Polars(pl), label)
    if explanation.tree.n_leaves == 1:  # a literal has one row, whatever the table
        only = explanation.leaf_labels(label)[0]
        found = pl.repeat(only, pl.len(), dtype=pl.Int64 if type(only) is int else None)
    return found.alias(name)


def to_pyspark(
    explanation: "Explanation", *, label: LabelKind = "leaf", name: str = "cluster"
) -> Any:
    """Return the tree as a column of PySpark, for `DataFrame.withColumn` and `select`.

    It gives the labels that `predict` gives; missing values (null or NaN) and categories never seen in
    training go where the tree sends them. Dates without a time zone are compared as local times of the
    session. A Spark session must be active.

    Parameters
    ----------
    explanation : Explanation
        The explanation to export.
    label : {"leaf", "reference"}
        Leaf ids, or the reference label that each leaf stands for (as text unless it is a string, integer,
        float or boolean).
    name : str
        Name of the new column.

    Returns
    -------
    column : pyspark.sql.Column
    """
    try:
        from pyspark.sql import functions
    except ImportError:
        raise ImportError(
            "to_pyspark needs PySpark; install it with: pip install pyspark"
        ) from None
    return _expression(explanation, _Spark(functions), label).alias(name)


def _expression(explanation: "Explanation", language: Language, label: LabelKind) -> Any:
    """Return the expression of the whole tree, built from its youngest nodes up."""
    tree, labels = explanation.tree, explanation.leaf_labels(label)
    refuses = explanation.parameters.get("missing") == "error"
    keys = [str(each) for each in explanation.keys]
    found: dict[int, Any] = {}
    for node in reversed(range(tree.n_nodes)):
        if tree.feature[node] == LEAF:
            found[node] = language.constant(labels[explanation.leaf_ids[node]])
            continue
        test = tree.test(node)
        column, key = explanation.fields[test.feature], keys[test.feature]
        left, right = found.pop(int(tree.left[node])), found.pop(int(tree.right[node]))
        passes = _condition(language, test.region(), column, key)
        found[node] = language.choice(passes, left, right)
        if refuses:
            is_missing = _condition(language, Region(()), column, key)
            found[node] = language.choice(is_missing, language.constant(None), found[node])
    return found[0]


def _condition(language: Language, region: Region, column: Column, key: str) -> Any:
    """Return what is true in a region and false elsewhere, never missing."""
    if column.kind == "category":
        kind = _type_of(column)
        inside = region.codes(len(column.categories))
        if region.missing:  # unseen categories count as missing
            outside = [c for code, c in enumerate(column.categories) if code not in inside]
            found = language.listed(list(map(python_value, outside)), kind, key)
            return ~language.filled(found, False)
        listed = [python_value(column.categories[code]) for code in inside]
        return language.filled(language.listed(listed, kind, key), False)
    x = language.number(column, key)
    parts = [_inside(language, x, low, high, column) for low, high in _intervals(region, column)]
    if not parts:
        found = x != x  # noqa: PLR0124 - false, and missing where x is
    else:
        found = parts[0]
        for part in parts[1:]:
            found = found | part
    return language.filled(found, region.missing)


def _intervals(region: Region, column: Column) -> list[tuple[float, float]]:
    """Return the intervals; for columns of 0 and 1, those that depend only on which of the two they hold."""
    if column.kind not in ("boolean", "flag"):
        return list(region.intervals)
    return list(Region.of_codes(region.codes(2)).intervals)


def _inside(language: Language, x: Any, low: float, high: float, column: Column) -> Any:
    found = x == x if low == -inf else x > language.bound(low, column)  # noqa: PLR0124
    return found if high == inf else found & (x <= language.bound(high, column))


def _type_of(column: Column) -> type:
    """Return the one type of a column's categories; refuse several."""
    types = {float if type(c) is int else type(c) for c in map(python_value, column.categories)}
    if len(types) != 1 or not types <= {str, float, bool}:
        raise ValueError(
            f"Column {quoted(column.name)} has categories of types that no column of a data frame holds together; "
            "turn them into texts before fit."
        )
    return types.pop()


class _Polars:
    """Polars: comparisons with null are null, NaN is a number above all others."""

    def __init__(self, pl: Any) -> None:
        self.pl = pl

    def number(self, column: Column, key: str) -> Any:
        x = self._column(key)
        if column.kind == "date":  # whole microseconds, whatever the unit of the column
            return x.dt.epoch("us")
        if column.kind == "duration":
            spans = x.cast(self.pl.Duration("us")) if column.clock else x
            return spans.dt.total_microseconds()
        # A literal beside a column of float32 would be rounded to it.
        return x.cast(self.pl.Float64).fill_nan(None)

    def bound(self, x: float, column: Column) -> Any:
        if column.kind in ("date", "duration"):
            return self.pl.lit(floor(x), dtype=self.pl.Int64)
        return self.pl.lit(float(x), dtype=self.pl.Float64)

    def listed(self, values: list[Any], kind: type, key: str) -> Any:
        dtypes = {str: self.pl.String, float: self.pl.Float64, bool: self.pl.Boolean}
        series = self.pl.Series(values, dtype=dtypes[kind], strict=False)
        return self._column(key).cast(dtypes[kind]).is_in(series.implode())

    def _column(self, key: str) -> Any:
        is_pattern = key.startswith("^") and key.endswith("$")  # which `col` would look for
        return self.pl.selectors.by_name(key).as_expr() if is_pattern else self.pl.col(key)

    def filled(self, condition: Any, value: bool) -> Any:
        return condition.fill_null(value)

    def constant(self, value: Any) -> Any:
        dtypes = {int: self.pl.Int64, float: self.pl.Float64}
        return self.pl.lit(value, dtype=dtypes.get(type(value)))

    def choice(self, condition: Any, yes: Any, no: Any) -> Any:
        return self.pl.when(condition).then(yes).otherwise(no)


class _Spark:
    """PySpark: comparisons with null are null, NaN is a number above all others."""

    def __init__(self, functions: Any) -> None:
        self.f = functions

    def number(self, column: Column, key: str) -> Any:
        x = self.f.col("`" + key.replace("`", "``") + "`")
        if column.kind == "date":
            return x.cast("timestamp_ntz" if column.zone is None else "timestamp")
        if column.kind == "duration":
            return x
        double = x.cast("double")
        return self.f.when(~self.f.isnan(double), double)

    def bound(self, x: float, column: Column) -> Any:
        if column.clock:
            raise ValueError(
                f"Column {quoted(column.name)} holds times of a day, which Spark cannot compare; turn them into "
                "numbers, such as seconds, before fit."
            )
        if column.kind == "duration":
            return self.f.lit(timedelta(microseconds=floor(x)))
        if column.kind != "date":
            return self.f.lit(float(x))
        try:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=floor(x))
        except OverflowError:
            raise ValueError(
                f"Column {quoted(column.name)} is tested for {column.say(x)}, but Spark's dates are those of the "
                "years 1 to 9999."
            ) from None
        if column.zone is not None:
            return self.f.timestamp_micros(self.f.lit(floor(x)))
        text = moment.replace(tzinfo=None).isoformat(" ")
        return self.f.lit(text).cast("timestamp_ntz")

    def listed(self, values: list[Any], kind: type, key: str) -> Any:
        types = {str: "string", float: "double", bool: "boolean"}
        x = self.f.col("`" + key.replace("`", "``") + "`").cast(types[kind])
        if not values:
            return x != x  # noqa: PLR0124
        return x.isin([kind(each) for each in values])

    def filled(self, condition: Any, value: bool) -> Any:
        return self.f.coalesce(condition, self.f.lit(value))

    def constant(self, value: Any) -> Any:
        found = self.f.lit(value)
        return found.cast("bigint") if type(value) is int else found

    def choice(self, condition: Any, yes: Any, no: Any) -> Any:
        return self.f.when(condition, yes).otherwise(no)
