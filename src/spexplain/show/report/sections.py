"""The sections of the report, as records of what each of them shows: tree, rules, cards, tables, certificate."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf, log1p
from typing import Literal, NamedTuple, Self, TypeAlias

from spexplain.facts.schema import (
    Amount,
    FeatureFacts,
    LeafFacts,
    NodeFacts,
    PartFacts,
    ProfileFacts,
    RowFacts,
    ShareFacts,
    Summary,
    columns_of,
    region_of,
    test_of,
)
from spexplain.facts.text import percent
from spexplain.messages import counted, one_line
from spexplain.show.report.phrases import (
    ConditionPieces,
    Piece,
    RulePieces,
    brief,
    clipped,
    condition_of,
    condition_text,
    figure,
    share,
    shown_labels,
    shown_names,
    shown_values,
)
from spexplain.table.reference import NOISE
from spexplain.tree import EVERYWHERE, Column, Region, Test
from spexplain.tree.boxes import Box

N_COLORS = 21  # as many as `spexplain.show.palette` has
MAX_CARDS = 60  # the largest leaves; all are in the table of rules
_THINNEST = 0.004  # thinner pieces of a bar could not be seen and are drawn together
_N_PIECES = 24
_N_NAMED = 4
_N_PARTS = 6
_N_PROFILES = 6
_N_PROFILE_ROWS = 8
_DAY = 86_400_000_000  # microseconds
_N_SHARES = 3  # values of a category
_TEXTS = ("category", "boolean", "date", "duration")  # kinds whose values are not numbers
_N_COLUMNS = 4
_N_SAMPLE_COLUMNS = 8
_SKEWED = (
    6.0  # how much farther the largest value is from the median than the least, for a bent scale
)
_N_DEVIATIONS = 3.0  # outliers beyond would squeeze the profile bars
_N_CLUSTERS = 24  # columns of the confusion; the other clusters share one
_N_FEATURES = 20
_N_SHADES = 9
_LONGEST_SETTING = 200
_LONGEST_CERTIFICATE = 4000


class ReportFacts(NamedTuple):
    """A summary, with names and labels fit to be read."""

    summary: Summary
    names: dict[int, str]  # of features, short and distinct
    labels: list[str]  # of reference clusters, likewise
    columns: dict[int, Column]  # under these names, with values as short

    @classmethod
    def of(cls, summary: Summary) -> Self:
        """Prepare a summary."""
        reference, names = summary["reference"], shown_names(summary)
        columns = columns_of(summary, names)
        return cls(
            summary,
            names,
            [] if reference is None else shown_labels(reference["labels"]),
            {
                feature: replace(column, categories=shown_values(column.categories))
                for feature, column in columns.items()
            },
        )

    @property
    def has_reference(self) -> bool:
        """Whether there are clusters to compare with."""
        return self.summary["reference"] is not None

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights: then amounts are weights, not numbers of rows."""
        return "weight" in self.summary["nodes"][0]

    def test(self, node: NodeFacts) -> ConditionPieces:
        """Return the test of an inner node."""
        if node["feature"] is None:
            return []
        return condition_of(test_of(node).region(), self.column(node["feature"]))

    def column(self, feature: int) -> Column:
        """Return a feature under the name that the report gives it."""
        return self.columns.get(feature) or Column(self.names[feature])

    def box(self, node: NodeFacts) -> Box:
        """Return where the rows of a node lie."""
        return {each["feature"]: region_of(each) for each in node["box"]}

    def rule(self, node: int) -> RulePieces:
        """Return what holds for exactly the rows of a node."""
        return [
            condition_of(region, self.column(feature))
            for feature, region in self.box(self.summary["nodes"][node]).items()
            if region != EVERYWHERE
        ]

    def label(self, code: int | None) -> str:
        """Return what a cluster is called; nothing for none."""
        if code is None:
            return ""
        return "noise" if code == NOISE else self.labels[code]

    def leaf_label(self, leaf: LeafFacts) -> str:
        """Return what a leaf stands for; nothing where there is no reference."""
        return self.label(leaf["code"])

    def leaf_color(self, leaf: LeafFacts) -> str:
        """Return the colour class of a leaf: its cluster's, or its own where there are no clusters."""
        return color_class(leaf["code"] if self.has_reference else leaf["leaf"])


def color_class(code: int | None) -> str:
    """Return the class that colours a cluster.

    Examples
    --------
    >>> from spexplain.show.report.sections import color_class
    >>> color_class(0), color_class(22), color_class(-1), color_class(None)
    ('k0', 'k1', 'k-noise', 'k-none')
    """
    if code is None:
        return "k-none"
    return "k-noise" if code == NOISE else f"k{code % N_COLORS}"


class BarPiece(NamedTuple):
    """A piece of a bar, in percent of its width."""

    x: float
    width: float
    color: str


class Bar(NamedTuple):
    """A bar and what it says in words."""

    pieces: list[BarPiece]
    parts: list[tuple[str, bool]]  # of the words; whether each is the name of a cluster


def composition_bar(source: ReportFacts, counts: Sequence[int], noise: int) -> Bar:
    """Return the bar of a node's rows by cluster, in the order of the clusters."""
    parts = [(code, count) for code, count in enumerate(counts) if count]
    if noise:
        parts.append((NOISE, noise))
    total = sum(count for _, count in parts)
    return Bar(_bar_pieces(parts, total), _bar_parts(source, parts, total))


def share_bar(part: float, text: str, color: str = "k-none") -> Bar:
    """Return a bar that is filled to a share."""
    return Bar([BarPiece(0, round(100 * part, 2), color)], [(text, False)])


def node_bar(source: ReportFacts, node: int) -> Bar:
    """Return the bar of a node: its composition, or without clusters its share of all rows."""
    fact = source.summary["nodes"][node]
    if fact["counts"] is None:
        color = "k-none"
        if fact["leaf"] is not None:
            color = source.leaf_color(source.summary["leaves"][fact["leaf"]])
        return share_bar(fact["share"], f"{share(fact['share'])} of all rows", color)
    return composition_bar(source, fact["counts"], fact["noise"])


def _bar_pieces(parts: list[tuple[int, int]], total: int) -> list[BarPiece]:
    pieces: list[BarPiece] = []
    x = rest = 0.0
    largest = sorted((count for _, count in parts), reverse=True)[:_N_PIECES]
    for code, count in parts:
        width = count / total
        if width < _THINNEST or count < largest[-1] or len(pieces) == _N_PIECES:
            rest += width
            continue
        pieces.append(BarPiece(round(100 * x, 2), round(100 * width, 2), color_class(code)))
        x += width
    if rest:
        pieces.append(BarPiece(round(100 * x, 2), round(100 * rest, 2), "k-none"))
    return pieces


def _bar_parts(
    source: ReportFacts, parts: list[tuple[int, int]], total: int
) -> list[tuple[str, bool]]:
    ordered = sorted(parts, key=lambda part: (part[0] == NOISE, -part[1]))
    told: list[tuple[str, bool]] = []
    for code, count in ordered[:_N_NAMED]:
        before = f"{', ' if told else ''}{share(count / total)} "
        told += [(before, False), (source.label(code), code != NOISE)]
    rest = sum(count for _, count in ordered[_N_NAMED:])
    if rest:
        told.append((f", {share(rest / total)} others", False))
    return told or [("no rows", False)]


class NodeView(NamedTuple):
    """A node as it is drawn."""

    node: int
    leaf: int | None
    way: str  # the answer that leads here
    test: ConditionPieces
    size: int
    share: float
    bar: Bar
    span: tuple[int, int]
    color: str
    label: str
    purity: float | None


class RuleView(NamedTuple):
    """A leaf and its rule."""

    leaf: int
    rule: RulePieces
    label: str
    color: str
    size: int
    share: float
    purity: float | None
    lift: float | None
    bar: Bar


Event: TypeAlias = tuple[Literal["open", "leaf", "close"], NodeView | None]


def tree_events(source: ReportFacts) -> Iterator[Event]:
    """Yield the tree as a flat sequence of nested brackets: templates that recurse have a limit."""
    nodes = source.summary["nodes"]
    stack: list[int | None] = [0]
    while stack:
        top = stack.pop()
        if top is None:
            yield "close", None
            continue
        node = nodes[top]
        if node["left"] is None or node["right"] is None:
            yield "leaf", _node_view(source, node)
        else:
            yield "open", _node_view(source, node)
            stack += [None, node["right"], node["left"]]


def _node_view(source: ReportFacts, node: NodeFacts) -> NodeView:
    number, parent = node["node"], node["parent"]
    way = ""
    if parent is not None:
        way = "yes" if source.summary["nodes"][parent]["left"] == number else "no"
    leaf = None if node["leaf"] is None else source.summary["leaves"][node["leaf"]]
    return NodeView(
        node=number,
        leaf=node["leaf"],
        way=way,
        test=source.test(node),
        size=node["size"],
        share=node["share"],
        bar=node_bar(source, number),
        span=(node["first_leaf"], node["last_leaf"]),
        color="" if leaf is None else source.leaf_color(leaf),
        label="" if leaf is None else source.leaf_label(leaf),
        purity=None if leaf is None else leaf["purity"],
    )


def rule_views(source: ReportFacts) -> list[RuleView]:
    """Return the leaves with their rules, from left to right."""
    return [rule_view(source, leaf) for leaf in source.summary["leaves"]]


def rule_view(source: ReportFacts, leaf: LeafFacts) -> RuleView:
    """Return one leaf with its rule."""
    return RuleView(
        leaf=leaf["leaf"],
        rule=source.rule(leaf["node"]),
        label=source.leaf_label(leaf),
        color=source.leaf_color(leaf),
        size=leaf["size"],
        share=leaf["share"],
        purity=leaf["purity"],
        lift=leaf["lift"],
        bar=node_bar(source, leaf["node"]),
    )


class PartView(NamedTuple):
    """Rows of one cluster in a leaf, or their weight."""

    label: str
    color: str
    size: Amount
    share: float


class ProfileView(NamedTuple):
    """A feature in a leaf: places on the scale 0 to 100 of all rows, and the same in words."""

    name: str
    low: float  # 5 %
    first: float  # 25 %
    third: float  # 75 %
    high: float  # 95 %
    overall: float | None  # median of all rows
    here: str  # median
    difference: str
    note: str  # how many values are missing
    text: str


class ShareView(NamedTuple):
    """A value of a category in a leaf, or "yes", or a word: its share and that of the other rows."""

    condition: ConditionPieces
    share: float  # 0 to 100
    rest: float | None
    here: str
    difference: str
    note: str
    text: str


class RowView(NamedTuple):
    """A training row."""

    row: int
    leaf: int
    label: str
    values: list[str]
    exact: list[float | None]  # of all tested features
    name: str = ""  # what the row is called in the user's table


class TableView(NamedTuple):
    """Some training rows."""

    columns: list[str]
    is_text: list[bool]  # whether a column holds words, not numbers
    rows: list[RowView]


class Card(NamedTuple):
    """What is said about a leaf."""

    head: RuleView
    parts: list[PartView]
    n_more_parts: int
    profiles: list[ProfileView | ShareView]
    exemplars: TableView


def cards(source: ReportFacts) -> list[Card]:
    """Return the cards of the largest leaves, from left to right."""
    leaves = source.summary["leaves"]
    largest = sorted(leaves, key=lambda leaf: -leaf["size"])[:MAX_CARDS]
    return [_card(source, leaf) for leaf in sorted(largest, key=lambda leaf: leaf["leaf"])]


def _card(source: ReportFacts, leaf: LeafFacts) -> Card:
    features = {each["feature"]: each for each in source.summary["features"]}
    tested = [each["feature"] for each in leaf["conditions"]]
    profiles = [each for each in leaf["profile"] if each["feature"] in features][:_N_PROFILES]
    ordered = dict.fromkeys([*tested, *(each["feature"] for each in profiles)])
    views = [view for each in profiles for view in _profiles(source, each, features)]
    return Card(
        head=rule_view(source, leaf),
        parts=[_part(source, part) for part in leaf["composition"][:_N_PARTS]],
        n_more_parts=max(0, len(leaf["composition"]) - _N_PARTS),
        profiles=views[:_N_PROFILE_ROWS],
        exemplars=rows_table(source, leaf["leaf"], leaf["exemplars"], list(ordered)[:_N_COLUMNS]),
    )


def _part(source: ReportFacts, part: PartFacts) -> PartView:
    label, color = source.label(part["code"]), color_class(part["code"])
    return PartView(label, color, part["count"], part["share"])


def _profiles(
    source: ReportFacts, profile: ProfileFacts, features: dict[int, FeatureFacts]
) -> list[ProfileView | ShareView]:
    """Return the rows of a profile: one, or one for each of a category's commonest values."""
    if profile["shares"]:
        shares = sorted(profile["shares"], key=lambda each: -abs(each["difference"] or 0.0))
        kept = sorted(shares[:_N_SHARES], key=lambda each: -each["share"])
        return [_share(source, profile, each, is_first=each is kept[0]) for each in kept]
    view = _profile(source, profile, features[profile["feature"]])
    return [] if view is None else [view]


def _share(
    source: ReportFacts, profile: ProfileFacts, facts: ShareFacts, *, is_first: bool
) -> ShareView:
    column = replace(source.column(profile["feature"]), has_missing=False)
    code = facts["code"]
    listed = Region.of_codes([code]) if column.kind != "word" else Region(((0.0, inf),), False)
    if column.kind == "category" and len(column.categories) == 1:
        condition = [Piece("", column.name, f" = {column.say(code)}")]
    else:
        condition = condition_of(listed, column)
    rest = "" if facts["rest"] is None else f"rest {percent(facts['rest'])}"
    others = "" if facts["rest"] is None else f", {share(facts['rest'])} of all other rows"
    text = f"{condition_text(condition)}: {share(facts['share'])} of this leaf{others}."
    return ShareView(
        condition,
        round(100 * facts["share"], 2),
        None if facts["rest"] is None else round(100 * facts["rest"], 2),
        percent(facts["share"]),
        rest,
        _missing_note(profile) if is_first else "",
        text,
    )


def _missing_note(profile: ProfileFacts) -> str:
    return f"{percent(profile['missing'])} missing" if profile["missing"] else ""


def _profile(
    source: ReportFacts, profile: ProfileFacts, feature: FeatureFacts
) -> ProfileView | None:
    ends, bend = range_of(feature), bend_of(feature)
    known = profile["q05"], profile["q25"], profile["q75"], profile["q95"]
    quantiles = [x for x in known if x is not None]
    if ends is None or len(quantiles) < len(known):
        return None
    low, first, third, high = (place_on(x, *ends, bend) for x in quantiles)
    column, difference = source.column(profile["feature"]), profile["difference"]
    here, everywhere = brief(column, profile["median"]), brief(column, feature["median"])
    half = f"{brief(column, profile['q25'])} to {brief(column, profile['q75'])}"
    note = _missing_note(profile)
    return ProfileView(
        column.name,
        low,
        first,
        third,
        high,
        None if feature["median"] is None else place_on(feature["median"], *ends, bend),
        here,
        "" if difference is None else _signed(difference),
        note,
        f"{column.name}: median {here} in this leaf, {everywhere} in all rows; half of its rows lie "
        f"from {half}{f'; {note}' if note else ''}.",
    )


def bend_of(feature: FeatureFacts) -> float:
    """Return the bend of the scale of a column: positive where values of none below 0 lie mostly at its low end.

    On such a scale a value x above the least one is at log(1 + x / bend); 0 is an even scale.
    """
    low, middle, high = feature["min"], feature["median"], feature["max"]
    if feature["kind"] not in ("number", "whole") or low is None or middle is None or high is None:
        return 0.0
    # Where half of the rows have the least value, the mean shows how far the others are.
    center = middle if middle > low or feature["mean"] is None else feature["mean"]
    below, above = center - low, high - center
    return below if low >= 0 and below > 0 and above >= _SKEWED * below else 0.0


def range_of(feature: FeatureFacts) -> tuple[float, float] | None:
    """Return the ends of a profile bar: all values, but not what lies far out."""
    low, high, mean, std = feature["min"], feature["max"], feature["mean"], feature["std"]
    if low is None or high is None:
        return None
    if mean is not None and std is not None and not bend_of(feature):
        low, high = max(low, mean - _N_DEVIATIONS * std), min(high, mean + _N_DEVIATIONS * std)
    return (low, high) if low < high else None


def place_on(x: float, low: float, high: float, bend: float = 0.0) -> float:
    """Return where x lies on a scale of 0 to 100; halves keep huge ranges finite.

    Examples
    --------
    >>> from spexplain.show.report.sections import place_on
    >>> place_on(3.0, 0.0, 12.0), place_on(3.0, 0.0, 15.0, bend=1.0)
    (25.0, 50.0)
    """
    if bend:
        part = log1p((max(x, low) - low) / bend) / log1p((high - low) / bend)
    else:
        part = (x / 2 - low / 2) / (high / 2 - low / 2)
    return round(100 * min(1.0, max(0.0, part)), 2)


def _signed(x: float) -> str:
    """Return a difference in standard deviations.

    Examples
    --------
    >>> from spexplain.show.report.sections import _signed
    >>> _signed(-1.57), _signed(0.0)
    ('−1.6 SD', '0.0 SD')
    """
    return f"{x:+.1f} SD".replace("+0.0 ", "0.0 ").replace("-0.0 ", "0.0 ").replace("-", "−")


def rows_table(
    source: ReportFacts, leaf: int, rows: list[RowFacts], columns: list[int]
) -> TableView:
    """Return some rows of a leaf, with the values of some features."""
    features = [each["feature"] for each in source.summary["features"]]
    place = {feature: at for at, feature in enumerate(features)}
    columns = [column for column in columns if column in place]
    tested = tested_features(source)
    views = [
        RowView(
            row["row"],
            leaf,
            "" if row["label"] is None else _row_label(source, row),
            [brief(source.column(column), row["values"][place[column]], 5) for column in columns],
            [row["values"][place[feature]] for feature in tested],
            str(row["row"]) if row["id"] is None else clipped(row["id"], 40),
        )
        for row in rows
    ]
    is_text = [source.column(each).kind in _TEXTS for each in columns]
    return TableView([source.names[each] for each in columns], is_text, views)


def _row_label(source: ReportFacts, row: RowFacts) -> str:
    reference = source.summary["reference"]
    if reference is not None and row["label"] in reference["labels"]:
        return source.labels[reference["labels"].index(row["label"])]
    return "noise" if row["label"] == NOISE else clipped(str(row["label"]), 40)


def tested_features(source: ReportFacts) -> list[int]:
    """Return the features that the tree tests, those of most tests first, then of most importance."""
    tested = [each for each in source.summary["features"] if each["n_tests"]]
    tested.sort(key=lambda each: (-each["n_tests"], -each["importance"], each["feature"]))
    return [each["feature"] for each in tested]


class FieldView(NamedTuple):
    """A field of the form, one for each tested feature."""

    name: str
    kind: Literal["number", "menu", "date", "datetime-local", "duration"]
    options: list[tuple[int, str]]  # of a menu: codes and what they mean
    start: float | None  # the median of all rows, or the commonest value
    hint: str
    missing: str  # the entry of a menu for a missing value


def form_fields(source: ReportFacts) -> list[FieldView]:
    """Return the fields of the form, in the order of `tested_features`."""
    facts = {each["feature"]: each for each in source.summary["features"]}
    return [_field(source, facts[feature]) for feature in tested_features(source)]


def _field(source: ReportFacts, feature: FeatureFacts) -> FieldView:
    column, name = source.column(feature["feature"]), source.names[feature["feature"]]
    hint = range_text(source, feature)
    if column.kind in ("category", "boolean"):
        codes = range(len(column.categories) if column.kind == "category" else 2)
        options = [(code, column.say(code)) for code in codes]
        common = feature["shares"][0] if feature["shares"] else None
        start: float | None = None if common is None else float(common["code"])
        if common is not None and column.kind == "boolean":
            start = float(common["share"] >= 0.5)
        missing = "missing or another value" if column.kind == "category" else "missing"
        return FieldView(name, "menu", options, start, "", missing)
    if column.kind == "date":
        is_day = _has_whole_days(source, feature)
        hint = f"{hint}, {column.zone}".removeprefix(", ") if column.zone else hint
        kind: Literal["date", "datetime-local"] = "date" if is_day else "datetime-local"
        return FieldView(name, kind, [], feature["median"], hint, "")
    if column.kind == "duration":
        return FieldView(name, "duration", [], feature["median"], hint, "")
    if column.kind == "word":
        name, hint = f'"{name}"', f"times; {hint}".removesuffix("; ")
    middle = feature["median"]  # between two values, and free of rounding
    start = None if middle is None else float(f"{middle:.15g}")
    return FieldView(name, "number", [], start, hint, "")


def _has_whole_days(source: ReportFacts, feature: FeatureFacts) -> bool:
    """Whether dates have no time of day; without rows, whether tests ask for none."""
    if feature["integer"] is not None or feature["zone"] is not None:
        return bool(feature["integer"])
    tests = [each for each in source.summary["nodes"] if each["feature"] == feature["feature"]]
    ends = [end for each in tests for end in (each["lower"], each["threshold"])]
    return all((end + 1) % _DAY == 0 for end in ends if end is not None)


def sampled_rows(source: ReportFacts) -> TableView:
    """Return random rows of all leaves, as many of each as a table can show."""
    leaves = source.summary["leaves"]
    each = max(1, 100 // max(1, len(leaves)))
    columns = tested_features(source)[:_N_SAMPLE_COLUMNS]
    tables = [
        rows_table(source, leaf["leaf"], leaf["sample"][:each], columns) for leaf in leaves[:100]
    ]
    first = tables[0] if tables else TableView([], [], [])
    return first._replace(rows=[row for table in tables for row in table.rows])


class ConfusionCell(NamedTuple):
    """Rows of one cluster in one leaf, or their weight; the shade goes with its share of the leaf."""

    size: Amount
    shade: int
    text: str


class ConfusionRow(NamedTuple):
    """A leaf by clusters."""

    leaf: int
    label: str
    color: str
    cells: list[ConfusionCell]
    size: Amount


class ConfusionTable(NamedTuple):
    """Leaves (rows) by clusters (columns)."""

    heads: list[tuple[str, str]]  # name and colour
    rows: list[ConfusionRow]
    totals: list[Amount]
    total: Amount


class FeatureRow(NamedTuple):
    """A feature over all rows."""

    name: str
    full_name: str
    n_tests: int
    importance: str
    bar: Bar
    range: str


class QuestionRow(NamedTuple):
    """An inner node and the best cut on another feature."""

    node: int
    test: ConditionPieces
    size: int
    score: str
    importance: str
    second: ConditionPieces
    second_score: str


def confusion(source: ReportFacts) -> ConfusionTable | None:
    """Return leaves against clusters, the largest of many clusters."""
    facts = source.summary["confusion"]
    if facts is None:
        return None
    sizes = [sum(column) for column in zip(*facts["counts"], strict=True)]
    codes = list(range(len(source.labels)))
    if len(codes) > _N_CLUSTERS:
        largest = sorted(codes, key=lambda code: -sizes[code])[:_N_CLUSTERS]
        codes = sorted(largest)
    n_others = len(source.labels) - len(codes)
    # The head above says "cluster" once for all.
    heads = [(source.labels[code].removeprefix("cluster "), color_class(code)) for code in codes]
    if n_others:
        heads.append((f"{n_others} others", "k-none"))
    has_noise = any(facts["noise"])
    if has_noise:
        heads.append(("noise", "k-noise"))
    rows = []
    for leaf, counts, noise in zip(
        source.summary["leaves"], facts["counts"], facts["noise"], strict=True
    ):
        own = [counts[code] for code in codes]
        if n_others:
            own.append(sum(counts) - sum(own))
        if has_noise:
            own.append(noise)
        amount = leaf.get("weight", leaf["size"])
        cells = [_cell(count, amount) for count in own]
        label, color = source.leaf_label(leaf), source.leaf_color(leaf)
        rows.append(ConfusionRow(leaf["leaf"], label, color, cells, amount))
    totals = [sum(row.cells[at].size for row in rows) for at in range(len(heads))]
    return ConfusionTable(heads, rows, totals, sum(row.size for row in rows))


def _cell(count: Amount, size: Amount) -> ConfusionCell:
    part = count / size if size else 0.0
    return ConfusionCell(count, round(_N_SHADES * part), share(part))


def feature_rows(source: ReportFacts) -> list[FeatureRow]:
    """Return the tested features, the most important first."""
    tested = [each for each in source.summary["features"] if each["n_tests"]]
    tested.sort(key=lambda each: (-each["importance"], -each["n_tests"], each["feature"]))
    return [_feature_row(source, each) for each in tested[:_N_FEATURES]]


def _feature_row(source: ReportFacts, feature: FeatureFacts) -> FeatureRow:
    importance = share(feature["importance"])
    return FeatureRow(
        source.names[feature["feature"]],
        clipped(feature["name"], 500),
        feature["n_tests"],
        importance,
        share_bar(min(1.0, feature["importance"]), f"importance {importance}", "k-accent"),
        range_text(source, feature),
    )


def range_text(source: ReportFacts, feature: FeatureFacts) -> str:
    """Return the values of a feature in words: their range, or the commonest, and how many are missing."""
    column = source.column(feature["feature"])
    texts = []
    if feature["kind"] in ("category", "boolean", "flag", "word"):
        texts = [
            f"{percent(each['share'])} {_value_words(column, each)}"
            for each in feature["shares"][:_N_SHARES]
        ]
        n_more = len(feature["categories"]) - len(texts)
        if texts and n_more > 0:
            texts.append(f"{n_more} more")
    elif feature["min"] is not None and feature["max"] is not None:
        texts = [f"{brief(column, feature['min'])} to {brief(column, feature['max'])}"]
    if feature["missing"]:
        texts.append(f"{percent(feature['missing'])} missing")
    return ", ".join(texts)


def _value_words(column: Column, facts: ShareFacts) -> str:
    if column.kind == "word":
        return "of the rows have it"
    return "are 1" if column.kind == "flag" else column.say(facts["code"])


def question_rows(source: ReportFacts) -> list[QuestionRow]:
    """Return the tests in the order in which they were made."""
    inner = [node for node in source.summary["nodes"] if node["feature"] is not None]
    return [_question_row(source, node) for node in inner]


def _question_row(source: ReportFacts, node: NodeFacts) -> QuestionRow:
    second = node["runner_up"]
    condition: ConditionPieces = []
    score, second_score = node["score"], None
    if second is not None:
        region = Test(0, upper=inf if second["threshold"] is None else second["threshold"]).region()
        condition = condition_of(region, source.column(second["feature"]))
        if second["threshold"] is None:
            condition = [Piece("", clipped(second["text"], 200), "")]
        # Only scores of one formula can be compared.
        score, second_score = second["own_score"], second["score"]
    return QuestionRow(
        node["node"],
        source.test(node),
        node["size"],
        figure(score),
        share(node["importance"]),
        condition,
        figure(second_score),
    )


def settings_rows(source: ReportFacts) -> list[tuple[str, str]]:
    """Return the parameters of the method, as they would be typed."""
    parameters = source.summary["settings"]["parameters"]
    return [
        (clipped(str(name), 60), clipped(_typed(value), _LONGEST_SETTING))
        for name, value in parameters.items()
    ]


def _typed(value: object) -> str:
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    return json.dumps(value, ensure_ascii=False)


class CertificatePart(NamedTuple):
    """A heading and what it says."""

    title: str
    text: str


class CertificateView(NamedTuple):
    """What is proved, from the plain verdict to the details."""

    verdict: str
    bound: float  # places of the lower bound and of the tree on a scale of 0 to 100
    found: float
    bound_text: str
    found_text: str
    parts: list[CertificatePart]


def certificate_view(source: ReportFacts) -> CertificateView | None:
    """Return the certificate, or None if nothing is proved on a graph: what a search has proved stands elsewhere."""
    facts, text = source.summary["certificate"], source.summary["certificate_text"]
    if facts is None or text is None or facts["objective"] is None:
        return None
    bound, found, n_parts = facts["lower_bound"], facts["objective"], facts["n_parts"]
    top = max(bound, found, 1e-12) * 1.1
    return CertificateView(
        _certificate_verdict(bound, found, facts["gap"], n_parts),
        round(100 * bound / top, 2),
        round(100 * found / top, 2),
        figure(bound),
        figure(found),
        _certificate_parts(text),
    )


def _certificate_verdict(bound: float, found: float, gap: float, n_parts: int) -> str:
    parts = counted(n_parts, "part")
    if gap <= 1e-12 * max(1.0, abs(found)):
        return (
            f"This tree is optimal: no partition into {parts}, by a tree or by anything else, has a "
            "lower sum of conductances."
        )
    if bound <= 1e-12:
        return (
            f"The leaves' conductances sum to {figure(found)}. Nothing better than the trivial bound of 0 "
            f"is proved: some partition into {parts} of the graph may cut no edge at all."
        )
    return (
        f"The leaves' conductances sum to {figure(found)}, and no partition into {parts} can get below "
        f"{figure(bound)}: at most {figure(gap)} could be gained, by a tree or by anything else."
    )


def _certificate_parts(text: str) -> list[CertificatePart]:
    """Return the sections of the text; their lines are indented, their titles are not."""
    parts: list[CertificatePart] = []
    for line in text[:_LONGEST_CERTIFICATE].splitlines():
        if not line.strip():
            continue
        if line.startswith(" ") and parts:
            title, so_far = parts[-1]
            parts[-1] = CertificatePart(title, f"{so_far} {one_line(line)}".strip())
        else:
            parts.append(CertificatePart(one_line(line), ""))
    return parts
