"""A card for every leaf: its rule, its rows, and what sets them apart."""

from typing import NamedTuple

from spexplain.facts.schema import Feature, Leaf, Part, Profile, Row
from spexplain.show.report.outline import RuleView, rule_view
from spexplain.show.report.phrases import clipped, figure
from spexplain.show.report.source import Source, color_class

MAX_CARDS = 60  # the largest leaves; all are in the table of rules
_N_PARTS = 6
_N_PROFILES = 6
_N_COLUMNS = 4
_N_SAMPLE_COLUMNS = 8
_N_DEVIATIONS = 3.0  # outliers beyond would squeeze the profile bars


class PartView(NamedTuple):
    """Rows of one cluster in a leaf."""

    label: str
    color: str
    size: int
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
    text: str


class RowView(NamedTuple):
    """A training row."""

    row: int
    leaf: int
    label: str
    values: list[str]
    exact: list[float]  # of all tested features


class TableView(NamedTuple):
    """Some training rows."""

    columns: list[str]
    rows: list[RowView]


class Card(NamedTuple):
    """What is said about a leaf."""

    head: RuleView
    parts: list[PartView]
    n_more_parts: int
    profiles: list[ProfileView]
    exemplars: TableView


def cards(source: Source) -> list[Card]:
    """Return the cards of the largest leaves, from left to right."""
    leaves = source.summary["leaves"]
    largest = sorted(leaves, key=lambda leaf: -leaf["size"])[:MAX_CARDS]
    return [_card(source, leaf) for leaf in sorted(largest, key=lambda leaf: leaf["leaf"])]


def _card(source: Source, leaf: Leaf) -> Card:
    features = {each["feature"]: each for each in source.summary["features"]}
    tested = [each["feature"] for each in leaf["conditions"]]
    profiles = [each for each in leaf["profile"] if each["feature"] in features][:_N_PROFILES]
    ordered = dict.fromkeys([*tested, *(each["feature"] for each in profiles)])
    views = [_profile(source, each, features[each["feature"]]) for each in profiles]
    return Card(
        head=rule_view(source, leaf),
        parts=[_part(source, part) for part in leaf["composition"][:_N_PARTS]],
        n_more_parts=max(0, len(leaf["composition"]) - _N_PARTS),
        profiles=[view for view in views if view is not None],
        exemplars=rows_table(source, leaf["leaf"], leaf["exemplars"], list(ordered)[:_N_COLUMNS]),
    )


def _part(source: Source, part: Part) -> PartView:
    label, color = source.label(part["code"]), color_class(part["code"])
    return PartView(label, color, part["count"], part["share"])


def _profile(source: Source, profile: Profile, feature: Feature) -> ProfileView | None:
    ends = _range(feature)
    known = profile["q05"], profile["q25"], profile["q75"], profile["q95"]
    quantiles = [x for x in known if x is not None]
    if ends is None or len(quantiles) < len(known):
        return None
    low, first, third, high = (_place(x, *ends) for x in quantiles)
    name, difference = source.names[profile["feature"]], profile["difference"]
    here, everywhere = figure(profile["median"]), figure(feature["median"])
    middle = f"half of its rows lie from {figure(profile['q25'])} to {figure(profile['q75'])}"
    return ProfileView(
        name,
        low,
        first,
        third,
        high,
        None if feature["median"] is None else _place(feature["median"], *ends),
        here,
        "" if difference is None else _signed(difference),
        f"{name}: median {here} in this leaf, {everywhere} in all rows; {middle}.",
    )


def _range(feature: Feature) -> tuple[float, float] | None:
    """Return the ends of a profile bar: all values, but not what lies far out."""
    low, high, mean, std = feature["min"], feature["max"], feature["mean"], feature["std"]
    if low is None or high is None:
        return None
    if mean is not None and std is not None:
        low, high = max(low, mean - _N_DEVIATIONS * std), min(high, mean + _N_DEVIATIONS * std)
    return (low, high) if low < high else None


def _place(x: float, low: float, high: float) -> float:
    """Return where x lies on a scale of 0 to 100; halves keep huge ranges finite."""
    return round(100 * min(1.0, max(0.0, (x / 2 - low / 2) / (high / 2 - low / 2))), 2)


def _signed(x: float) -> str:
    """Return a difference in standard deviations.

    Examples
    --------
    >>> from spexplain.show.report.cards import _signed
    >>> _signed(-1.57), _signed(0.0)
    ('-1.6 SD', '0.0 SD')
    """
    return f"{x:+.1f} SD".replace("+0.0 ", "0.0 ").replace("-0.0 ", "0.0 ")


def rows_table(source: Source, leaf: int, rows: list[Row], columns: list[int]) -> TableView:
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
            [figure(row["values"][place[column]], 5) for column in columns],
            [row["values"][place[feature]] for feature in tested],
        )
        for row in rows
    ]
    return TableView([source.names[column] for column in columns], views)


def _row_label(source: Source, row: Row) -> str:
    reference = source.summary["reference"]
    if reference is not None and row["label"] in reference["labels"]:
        return source.labels[reference["labels"].index(row["label"])]
    return "noise" if row["label"] == -1 else clipped(str(row["label"]), 40)


def tested_features(source: Source) -> list[int]:
    """Return the features that the tree tests, those of most tests first, then of most importance."""
    tested = [each for each in source.summary["features"] if each["n_tests"]]
    tested.sort(key=lambda each: (-each["n_tests"], -each["importance"], each["feature"]))
    return [each["feature"] for each in tested]


def sampled_rows(source: Source) -> TableView:
    """Return random rows of all leaves, as many of each as a table can show."""
    leaves = source.summary["leaves"]
    each = max(1, 100 // max(1, len(leaves)))
    columns = tested_features(source)[:_N_SAMPLE_COLUMNS]
    tables = [
        rows_table(source, leaf["leaf"], leaf["sample"][:each], columns) for leaf in leaves[:100]
    ]
    return TableView(
        tables[0].columns if tables else [], [row for table in tables for row in table.rows]
    )
