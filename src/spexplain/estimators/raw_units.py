"""Rules in original units: translates a tree back through pipeline steps that change columns one by one."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, nextafter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.utils.validation import check_is_fitted

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.estimators.base import Explainer
from spexplain.estimators.classifier import ClusterClassifier
from spexplain.exceptions import quoted
from spexplain.explanation import Explanation, LoadedModel, Training
from spexplain.table.base import NodeValues
from spexplain.table.columns import column_names, encode_rows, is_frame, is_missing, settled_columns
from spexplain.table.host import HostTable
from spexplain.table.read import read_table
from spexplain.table.storage import on_host
from spexplain.tree import Column, Region, Test, Tree, python_value

_NEVER_SEEN = "\0never seen\0"  # a category that no encoder knows
_MARGINS = (1e-12, 1e-9, 1e-6)  # relative errors after transforming back and forth
_N_ULPS = 8  # floats on either side of a back-transformed threshold that are tried

# Translates a region of values after a step into the values before it.
Pull = Callable[[Region, Column], tuple[Region, Column]]
Map = Callable[[Floats], Floats]


def raw_units(pipeline: Any, X: Any = None) -> LoadedModel:
    """Return the model of a pipeline in terms of the columns that went into the pipeline.

    Every test of the tree is translated back through the steps: scalers (`StandardScaler`,
    `MinMaxScaler`, `MaxAbsScaler`, `RobustScaler`), `PowerTransformer`, `QuantileTransformer`,
    `FunctionTransformer` with an inverse (a logarithm, say), `OneHotEncoder`, `OrdinalEncoder`,
    `TargetEncoder`, `SimpleImputer` (missing values go where the value that fills them goes), `Binarizer`,
    `KBinsDiscretizer` with ordinal codes, selections of columns, and `ColumnTransformer`, `FeatureUnion`
    and `Pipeline` of these. Steps that mix columns, such as `PCA`, are refused. Thresholds become the
    roundest numbers that split the training rows as before, and the model applies them as printed.

    Parameters
    ----------
    pipeline : fitted Pipeline
        A pipeline whose last step is an explainer or a `ClusterClassifier`.
    X : array or data frame of shape (n_rows, n_features), optional
        The training rows as they went into the pipeline. If they are given, thresholds lie between values
        of X, all rows are checked to get the same leaves as in the pipeline, and the model remembers the
        rows for reports and plots.

    Returns
    -------
    model : LoadedModel
        A model that takes raw rows and has the rules, reports and exports of the explainer.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from spexplain import CART, datasets, raw_units
    >>> iris = datasets.load("iris")
    >>> pipeline = make_pipeline(StandardScaler(), CART()).fit(iris.data, iris.target)
    >>> print(pipeline[-1].to_text(iris.feature_names).splitlines()[0])
    petal length (cm) ≤ -0.7
    >>> print(raw_units(pipeline).to_text(iris.feature_names).splitlines()[0])
    petal length (cm) ≤ 2
    """
    steps, explainer = _parts(pipeline)
    n_columns = int(steps.n_features_in_) if steps is not None else explainer.n_features_in_
    names = getattr(pipeline, "feature_names_in_", None)
    raw_names = tuple(map(str, names)) if names is not None else None
    sources = [_Source(each) for each in range(n_columns)]
    if steps is not None:
        sources = _after(steps, sources)
    if len(sources) != explainer.n_features_in_:
        raise ValueError(
            f"The steps before {type(explainer).__name__} give {len(sources)} columns, but it was fitted to "
            f"{explainer.n_features_in_}."
        )
    back = _Back(explainer, sources, raw_names, n_columns)
    rows = None if X is None else _PipelineRows.of(pipeline, steps, explainer, X)
    final = back.explanation(explainer.explanation_, rows)
    return LoadedModel(final)


def _parts(pipeline: Any) -> tuple[Any, Explainer]:
    """Return the steps before the explainer, if there are any, and the explainer."""
    last = pipeline[-1] if isinstance(pipeline, Pipeline) else pipeline
    if isinstance(last, ClusterClassifier):
        check_is_fitted(last, "explainer_")
        last = last.explainer_
    if not isinstance(last, Explainer):
        raise TypeError(
            f"pipeline={quoted(type(pipeline).__name__)} must be a fitted Pipeline whose last step is an explainer "
            "or a ClusterClassifier."
        )
    last._fitted()
    has_steps = isinstance(pipeline, Pipeline) and len(pipeline.steps) > 1
    return (pipeline[:-1] if has_steps else None), last


# --- Where columns come from ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    """The raw column that a column was made from, and the way to translate regions back to it."""

    column: int
    pulls: tuple[Pull, ...] = ()  # the first step first
    # What the steps do to numbers, and their inverses; None once a step gives several numbers the same value.
    maps: tuple[tuple[Map, Map], ...] | None = ()

    def then(self, pull: Pull, *maps: tuple[Map, Map], is_strict: bool = False) -> "_Source":
        known = (*self.maps, *maps) if is_strict and self.maps is not None else None
        return replace(self, pulls=(*self.pulls, pull), maps=known)

    def forward(self, values: Floats) -> Floats:
        """Return what raw values are after the steps."""
        for there, _ in self.maps or ():
            values = there(values)
        return values

    def backward(self, values: Floats) -> Floats:
        """Return which raw values these were before the steps."""
        for _, inverse in reversed(self.maps or ()):
            values = inverse(values)
        return values

    def back(self, region: Region, field: Column) -> tuple[Region, Column]:
        for pull in reversed(self.pulls):
            region, field = pull(region, field)
        return region, field


def _after(step: Any, sources: list[_Source]) -> list[_Source]:
    """Return where the columns after a fitted step come from."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return sources
    for kind, after in _AFTER.items():
        if isinstance(step, kind):
            return after(step, sources)
    raise _refusal(step, "it does not change columns one by one")


def _refusal(step: Any, reason: str) -> ValueError:
    return ValueError(
        f"raw_units cannot undo the step {type(step).__name__}: {reason}; its docstring lists the supported steps."
    )


def _after_pipeline(step: Pipeline, sources: list[_Source]) -> list[_Source]:
    for _, each in step.steps:
        sources = _after(each, sources)
    return sources


def _after_union(step: FeatureUnion, sources: list[_Source]) -> list[_Source]:
    parts = [_after(each, sources) for _, each in step.transformer_list if each != "drop"]
    return [source for part in parts for source in part]


def _after_selection(step: SelectorMixin, sources: list[_Source]) -> list[_Source]:
    return [sources[each] for each in step.get_support(indices=True).tolist()]


def _after_indicator(step: MissingIndicator, sources: list[_Source]) -> list[_Source]:
    return [sources[each].then(_pull_indicator) for each in step.features_.tolist()]


def _after_threshold(step: Binarizer, sources: list[_Source]) -> list[_Source]:
    pull = _pull_steps((float(step.threshold),), closed_left=False)
    return [each.then(pull) for each in sources]


def _after_bins(step: KBinsDiscretizer, sources: list[_Source]) -> list[_Source]:
    if step.encode != "ordinal":
        raise _refusal(step, 'only encode="ordinal" can be undone')
    inner = [tuple(edges[1:-1].tolist()) for edges in step.bin_edges_]
    return [
        each.then(_pull_steps(edges, closed_left=True))
        for each, edges in zip(sources, inner, strict=True)
    ]


def _after_function(step: FunctionTransformer, sources: list[_Source]) -> list[_Source]:
    if step.func is None:
        return sources
    if step.inverse_func is None:
        raise _refusal(step, "give it an inverse_func")
    width, values = len(sources), np.array([0.25, 0.75])
    for at in range(width):
        one, other = (_inverses(step, at, width, values, fill) for fill in (0.5, 0.75))
        if not np.array_equal(one, other, equal_nan=True):
            raise _refusal(step, "its inverse_func mixes columns")
    return _after_scaler(step, sources)


def _after_scaler(step: Any, sources: list[_Source]) -> list[_Source]:
    width = len(sources)
    return [
        each.then(_pull_inverse(step, at, width), _maps(step, at, width), is_strict=True)
        for at, each in enumerate(sources)
    ]


def _after_columns(step: ColumnTransformer, sources: list[_Source]) -> list[_Source]:
    """Return where the columns of a ColumnTransformer come from, in its own order of columns."""
    found: dict[int, _Source] = {}
    places = step._transformer_to_input_indices
    for name, transformer, _ in step.transformers_:
        out = step.output_indices_[name]
        if isinstance(transformer, str) and transformer == "drop":
            continue
        own = [sources[each] for each in places[name]]
        for number, source in zip(
            range(out.start, out.stop), _after(transformer, own), strict=True
        ):
            found[number] = source
    return [found[number] for number in range(len(found))]


def _apply(call: Callable[[Any], Any], table: Any) -> Any:
    """Return a step's output for a table without column names, without its warning about them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with np.errstate(all="ignore"):
            return call(table)


def _maps(step: Any, at: int, width: int) -> tuple[Map, Map]:
    """Return what a step does to the values of one column, and the inverse."""

    def there(values: Floats) -> Floats:
        return _mapped(step.transform, at, width, values)

    def inverse(values: Floats) -> Floats:
        return _inverses(step, at, width, values)

    return there, inverse


def _inverses(step: Any, at: int, width: int, values: Floats, fill: float = 0.5) -> Floats:
    """Return the values of one column before a step, for some of its values after it."""
    return _mapped(step.inverse_transform, at, width, values, fill)


def _mapped(
    call: Callable[[Any], Any], at: int, width: int, values: Floats, fill: float = 0.5
) -> Floats:
    table = np.full((len(values), width), fill)
    table[:, at] = values
    found: Floats = np.asarray(_apply(call, table), dtype=np.float64)[:, at]
    return found


def _pull_inverse(step: Any, at: int, width: int) -> Pull:
    """Return how regions go back through a monotone function of a column."""

    def pull(region: Region, field: Column) -> tuple[Region, Column]:
        ends = sorted({end for interval in region.intervals for end in interval if isfinite(end)})
        raw = dict(zip(ends, _inverses(step, at, width, np.array(ends)).tolist(), strict=True))
        for end, value in raw.items():
            if not isfinite(value):
                raise ValueError(
                    f"The inverse of the step {type(step).__name__} has no value at the threshold {end!r}."
                )
        falls = bool(ends) and _falls(step, at, width, ends[0])
        found = []
        for low, high in region.intervals:
            first, last = raw.get(low, low), raw.get(high, high)
            if falls:  # low < x ≤ high is first > raw ≥ last
                first, last = _before(raw.get(high, -high)), _before(raw.get(low, -low))
            if first < last:
                found.append((first, last))
        return Region(tuple(sorted(found)), region.missing), Column(
            field.name, has_missing=field.has_missing
        )

    return pull


def _falls(step: Any, at: int, width: int, end: float) -> bool:
    near = np.array([end, end + 1e-3 * max(1.0, abs(end)), end - 1e-3 * max(1.0, abs(end))])
    here, above, below = _inverses(step, at, width, near).tolist()
    return bool(above < here or here < below)


def _before(x: float) -> float:
    return nextafter(x, -inf) if isfinite(x) else x


def _pull_steps(edges: tuple[float, ...], *, closed_left: bool) -> Pull:
    """Return how regions go back through the number of the interval that a value lies in."""
    ends = [-inf, *(_before(edge) if closed_left else edge for edge in edges), inf]

    def pull(region: Region, field: Column) -> tuple[Region, Column]:
        held = [number for number in range(len(ends) - 1) if region.holds(number)]
        intervals: list[tuple[float, float]] = []
        for number in held:
            low, high = ends[number], ends[number + 1]
            if intervals and intervals[-1][1] == low:
                intervals[-1] = intervals[-1][0], high
            else:
                intervals.append((low, high))
        return Region(tuple(intervals), region.missing), Column(
            field.name, has_missing=field.has_missing
        )

    return pull


def _pull_indicator(region: Region, field: Column) -> tuple[Region, Column]:
    """Return which values a test of "is missing" passes."""
    known = Region().intervals if region.holds(0.0) else ()
    return Region(known, region.holds(1.0)), Column(field.name, has_missing=True)


def _after_imputer(step: SimpleImputer, sources: list[_Source]) -> list[_Source]:
    filled = step.statistics_
    kept = [
        at for at, value in enumerate(filled) if step.keep_empty_features or not is_missing(value)
    ]
    found = [
        sources[at].then(_pull_imputed(filled[at], step.missing_values), is_strict=True)
        for at in kept
    ]
    if step.add_indicator:
        found += [sources[at].then(_pull_indicator) for at in step.indicator_.features_.tolist()]
    return found


def _pull_imputed(value: Any, marker: Any) -> Pull:
    """Return how regions go back through an imputer: missing values are where their fill value is."""
    if not is_missing(marker):
        raise ValueError(
            f"raw_units cannot undo the step SimpleImputer: it fills {quoted(marker)}, not missing values."
        )

    def pull(region: Region, field: Column) -> tuple[Region, Column]:
        known = field.code(value) if field.kind == "category" else float(value)
        return region._replace(missing=region.holds(known)), replace(field, has_missing=True)

    return pull


def _after_coding(step: Any, sources: list[_Source]) -> list[_Source]:
    """Return where the columns of an encoder come from; each depends on one column of categories.

    The encoder itself is asked what becomes of every category, so its options need no handling here.
    """
    found: dict[int, _Source] = {}
    given = [list(each) for each in step.categories_]
    base = [next((each for each in values if not is_missing(each)), None) for values in given]
    for at, (source, values) in enumerate(zip(sources, given, strict=True)):
        rows = np.empty((len(values) + 1, len(sources)), dtype=object)
        rows[:] = base
        rows[:-1, at] = values
        table = _coded(step, rows[:-1])
        unseen = _unseen(step, rows[-1:].copy(), at)
        first = table[0]
        changes = (
            (table != first).any(axis=0) if len(values) > 1 else np.zeros(table.shape[1], bool)
        )
        if unseen is not None:
            changes |= unseen != first
        for number in np.flatnonzero(changes).tolist():
            other = 0.0 if unseen is None else float(unseen[number])
            found[number] = source.then(_pull_codes(values, table[:, number], other))
        n_out = table.shape[1]
    # Columns that are the same for all categories are never tested.
    return [found.get(number, _NOWHERE) for number in range(n_out)]


def _coded(step: Any, rows: Array) -> Floats:
    out = _apply(step.transform, rows)
    dense = out.toarray() if hasattr(out, "toarray") else out
    return np.asarray(dense, dtype=np.float64)


def _unseen(step: Any, row: Array, at: int) -> Floats | None:
    """Return the encoding of a category that was never seen; None if the encoder refuses it."""
    is_text = all(isinstance(each, str) for each in step.categories_[at])
    row[0, at] = _NEVER_SEEN if is_text else 0.1234567890123
    try:
        found: Floats = _coded(step, row)[0]
    except ValueError:
        return None
    return found


def _pull_codes(values: list[Any], codes: Floats, unseen: float) -> Pull:
    """Return how regions go back through an encoding of categories as numbers."""
    known = [at for at, value in enumerate(values) if not is_missing(value)]
    lost = [at for at, value in enumerate(values) if is_missing(value)]
    categories = tuple(python_value(values[at]) for at in known)
    missing = codes[lost[0]] if lost else unseen

    def pull(region: Region, field: Column) -> tuple[Region, Column]:
        held = [number for number, at in enumerate(known) if region.holds(float(codes[at]))]
        column = Column(field.name, "category", categories, has_missing=bool(lost))
        return Region.of_codes(held, missing=region.holds(float(missing))), column

    return pull


_NOWHERE = _Source(-1)
_AFTER: dict[Any, Callable[[Any, list[_Source]], list[_Source]]] = {
    Pipeline: _after_pipeline,
    ColumnTransformer: _after_columns,
    FeatureUnion: _after_union,
    SelectorMixin: _after_selection,
    SimpleImputer: _after_imputer,
    MissingIndicator: _after_indicator,
    Binarizer: _after_threshold,
    KBinsDiscretizer: _after_bins,
    FunctionTransformer: _after_function,
    (OneHotEncoder, OrdinalEncoder, TargetEncoder): _after_coding,
    (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler): _after_scaler,
    (PowerTransformer, QuantileTransformer): _after_scaler,
}


# --- The tree in raw columns ----------------------------------------------------------------------


class _PipelineRows(NamedTuple):
    """Rows as they went into a pipeline, and as its explainer saw them."""

    given: Any
    seen: Any
    explainer: Explainer

    @classmethod
    def of(cls, pipeline: Any, steps: Any, explainer: Explainer, X: Any) -> "_PipelineRows":
        return cls(X, X if steps is None else steps.transform(X), explainer)

    def visits(self, tree: Tree) -> Any:
        """Return which nodes of a tree over the explainer's columns the rows visit, column by column."""
        leaves = self.explainer._check_rows(self.seen).leaves(tree)
        return tree.visits(np.asarray(on_host(leaves))).tocsc()

    def raw(self, columns: Sequence[Column], used: Sequence[int]) -> Matrix:
        """Return some raw columns as numbers."""
        by_name = is_frame(self.given) and all(
            isinstance(name, str) for name in column_names(self.given)
        )
        return encode_rows(self.given, [(each, columns[each]) for each in used], by_name=by_name)


@dataclass(frozen=True)
class _Back:
    """The way from the columns of an explainer to those of its pipeline."""

    explainer: Explainer
    sources: list[_Source]
    names: tuple[str, ...] | None
    n_columns: int

    def explanation(self, seen: Explanation, rows: _PipelineRows | None) -> Explanation:
        """Return the record in raw columns."""
        trees = {"final": seen} | ({} if seen.grown is None else {"grown": seen.grown})
        fields = self._raw_fields(trees.values())
        found = {name: self._tree(each, fields, rows) for name, each in trees.items()}
        used = sorted({int(j) for tree in found.values() for j in tree.feature if j >= 0})
        described, scales = (
            tuple(fields),
            None,
        )  # standard deviations of raw columns need the rows
        training = None
        if rows is not None:
            table = self._table(rows, fields, used)
            described, scales = table.columns, table.scales(np.array(used, dtype=np.int64))
            self._check(found["final"], seen, rows, table)
            known = seen.training
            if known is not None and len(known.labels) == len(table):
                training = Training(
                    labels=np.asarray(known.labels),
                    reference=known.reference,
                    table=table,
                    weights=known.weights,
                )
        imputes = any(described[j].has_missing for j in used)
        parameters = {**seen.parameters, "missing": "allow"} if imputes else seen.parameters
        about: dict[str, Any] = {
            "columns": self.names,
            "described": described,
            "parameters": parameters,
        }
        grown = None
        if seen.grown is not None:
            grown = replace(seen.grown, tree=found["grown"], training=None, profile=None, **about)
        return replace(
            seen,
            tree=found["final"],
            scales=scales,
            grown=grown,
            training=training,
            steps=tuple(seen.path),
            own_steps=tuple(seen.trees),
            profile=None,  # the explainer's profile describes scaled columns
            **about,
        )

    def _raw_fields(self, explanations: Any) -> list[Column]:
        """Return descriptions of the raw columns, derived from encoders and tests."""
        names = self.names or [f"x{each}" for each in range(self.n_columns)]
        found: dict[int, Column] = {}
        for explanation in explanations:
            for test in explanation.tree.tests.values():
                source = self.sources[test.feature]
                own = explanation.fields[test.feature]
                _, field = source.back(test.region(), own)
                field = replace(field, name=names[source.column])
                before = found.setdefault(source.column, field)
                if before.kind == "category" and field.kind == "category":
                    same = before.categories == field.categories
                else:
                    same = before.kind == field.kind
                if not same:
                    raise ValueError(
                        f"Column {names[source.column]!r} goes into the tree both as a {before.kind} and as a "
                        f"{field.kind}; let the pipeline pass it on only once."
                    )
                has_missing = before.has_missing or field.has_missing
                found[source.column] = replace(before, has_missing=has_missing)
        return [found.get(each, Column(names[each])) for each in range(self.n_columns)]

    def _tree(self, seen: Explanation, fields: list[Column], rows: _PipelineRows | None) -> Tree:
        """Return a tree in raw columns, with the roundest thresholds that split the rows as before."""
        tree, tests = seen.tree, {}
        training = self.explainer.explanation_.training
        table = None if training is None else training.table
        around = None if table is None or rows is not None else table.node_values(tree)
        visits = None if rows is None else rows.visits(tree)
        raw: dict[int, Floats] = {}
        for node, test in tree.tests.items():
            source, own = self.sources[test.feature], seen.fields[test.feature]
            region, _ = source.back(test.region(), own)
            column = fields[source.column]
            if column.kind == "category":
                codes = tuple(region.codes(len(column.categories)))
                tests[node] = Test(source.column, missing=region.missing, values=codes)
                continue
            if len(region.intervals) > 1:
                raise ValueError(
                    f"The test {test.text(own)!r} is not a single interval of column {column.name!r}."
                )
            found = _test_of(region, source.column)
            if visits is not None and rows is not None:
                if source.column not in raw:
                    x = rows.raw(fields, [source.column])[:, 0]
                    raw[source.column] = x.astype(np.float64)
                found = _between_rows(found, raw[source.column], visits, tree, node, column)
            elif around is not None:
                found = self._between_ends(found, test, node, around)
            tests[node] = found
        return tree.retested(tests, n_features=self.n_columns)

    def _between_ends(self, found: Test, test: Test, node: int, around: NodeValues) -> Test:
        """Return a test with the roundest bounds between the neighbouring raw training values."""
        source = self.sources[test.feature]
        if test.values is not None or source.maps is None:
            return found
        lower, upper = found.lower, found.upper
        for below, above, end in (
            (around.below[node], around.above[node], test.upper),
            (around.lower_below[node], around.lower_above[node], test.lower),
        ):
            if isfinite(end) and isfinite(below) and isfinite(above):
                raw, rounder = self._rounder(test.feature, float(below), float(above), end)
                if rounder is None:  # the exact bounds split the values correctly
                    continue
                near = 1e-6 * max(1e-300, abs(raw))
                lower = rounder if isfinite(lower) and abs(lower - raw) <= near else lower
                upper = rounder if isfinite(upper) and abs(upper - raw) <= near else upper
        return replace(found, lower=lower, upper=upper) if lower < upper else found

    def _rounder(
        self, feature: int, below: float, above: float, end: float
    ) -> tuple[float, float | None]:
        """Return the raw value of a threshold, and the roundest one with the same split, if one is found.

        A number that the steps map strictly between both training values lies between their raw values.
        """
        source, column = self.sources[feature], Column("")
        low, high, raw = source.backward(np.array([below, above, end])).tolist()
        lowest = below if low < high else above  # the transformed value of the lower raw value
        low, high = min(low, high), max(low, high)
        if self._is_whole(feature) and round(low) < round(high):
            found = column.between(float(round(low)), float(round(high)))
            seen = source.forward(np.array([found]))[0]
            if below < seen < above or seen == lowest:
                return raw, found
        for margin in _MARGINS:
            gap = margin * max(abs(low), abs(high))
            if low + gap < high - gap:
                found = column.between(low + gap, high - gap)
                if below < source.forward(np.array([found]))[0] < above:
                    return raw, found
        # Too close for a round number: take the float at which the transformed value passes the threshold.
        floats = [raw]
        for _ in range(_N_ULPS):
            floats = [nextafter(floats[0], -inf), *floats, nextafter(floats[-1], inf)]
        passes = source.forward(np.array(floats)) <= end
        changes = np.flatnonzero(passes[1:] != passes[:-1])
        return raw, floats[changes[0]] if len(changes) else None

    def _is_whole(self, feature: int) -> bool:
        """Whether the training values of a column were whole numbers before the steps."""
        training = self.explainer.explanation_.training
        assert training is not None
        assert training.table is not None
        x = np.unique(np.asarray(training.table.select([feature]).to_host(), dtype=np.float64))
        raw = self.sources[feature].backward(x[np.isfinite(x)])
        gaps = np.abs(raw - np.round(raw))
        return bool(np.all(gaps <= _MARGINS[-1] * np.maximum(1.0, np.abs(raw))))

    def _table(self, rows: _PipelineRows, fields: list[Column], used: list[int]) -> HostTable:
        """Return raw rows as a table whose tested columns are coded as the tests expect."""
        reader = clone(self.explainer).set_params(missing="allow")
        table = read_table(rows.given, reader)
        values: Matrix = np.array(table.to_host("raw_units"), dtype=np.float64)
        columns = list(table.columns)
        if used:
            values[:, used] = rows.raw(fields, used)
        for each in used:
            plain = fields[each].kind == "number" and columns[each].kind != "category"
            columns[each] = columns[each] if plain else fields[each]
            lacks = bool(np.isnan(values[:, each]).any()) or fields[each].has_missing
            columns[each] = replace(columns[each], has_missing=lacks)
        described = settled_columns(columns, values, used)
        kept = tuple(
            replace(each, has_missing=each.has_missing or columns[at].has_missing)
            for at, each in enumerate(described)
        )
        return HostTable(values, self.names, described=kept)

    def _check(self, tree: Tree, seen: Explanation, rows: _PipelineRows, table: HostTable) -> None:
        """Refuse a translation that gives some row another leaf than the pipeline does."""
        before: Ints = np.asarray(on_host(rows.explainer._check_rows(rows.seen).leaves(seen.tree)))
        n_changed = int(np.count_nonzero(before != table.leaves(tree)))
        if n_changed:
            raise ValueError(
                f"{n_changed:,} rows of X would get another leaf in raw units: a step is not monotone there."
            )


def _test_of(region: Region, column: int) -> Test:
    """Return the test that is passed in a region of numbers."""
    low, high = region.intervals[0] if region.intervals else (-inf, -inf)
    return Test(column, low, high, region.missing)


def _between_rows(
    test: Test, x: Floats, visits: Any, tree: Tree, node: int, column: Column
) -> Test:
    """Return a test with the roundest bounds between the rows that it must separate."""
    passed, failed = (x[visits[:, [int(side[node])]].indices] for side in (tree.left, tree.right))
    passed, failed = passed[~np.isnan(passed)], failed[~np.isnan(failed)]
    lower, upper = test.lower, test.upper
    if len(passed) and len(failed):
        first, last = float(passed.min()), float(passed.max())
        above, below = failed[failed > last], failed[failed < first]
        if isfinite(upper) and len(above):
            upper = column.between(last, float(above.min()))
        if isfinite(lower) and len(below):
            lower = column.between(float(below.max()), first)
    return replace(test, lower=lower, upper=upper) if lower < upper else test
