"""Tables of the report: leaves against clusters, features, tests, settings."""

import json
from typing import NamedTuple

from spexplain.facts.schema import Feature, Node
from spexplain.show.report.bars import Bar, share_bar
from spexplain.show.report.phrases import Condition, clipped, condition_of, figure, share
from spexplain.show.report.source import Source, bounds, color_class

_N_CLUSTERS = 24  # columns of the confusion; the other clusters share one
_N_FEATURES = 20
_N_SHADES = 9
_LONGEST_SETTING = 200


class Cell(NamedTuple):
    """Rows of one cluster in one leaf; the shade goes with its share of the leaf."""

    size: int
    shade: int
    text: str


class ConfusionRow(NamedTuple):
    """A leaf by clusters."""

    leaf: int
    label: str
    color: str
    cells: list[Cell]
    size: int


class Confusion(NamedTuple):
    """Leaves (rows) by clusters (columns)."""

    heads: list[tuple[str, str]]  # name and colour
    rows: list[ConfusionRow]
    totals: list[int]
    n_rows: int


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
    test: Condition
    size: int
    score: str
    importance: str
    second: Condition
    second_score: str


def confusion(source: Source) -> Confusion | None:
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
        cells = [_cell(count, leaf["size"]) for count in own]
        label, color = source.leaf_label(leaf), source.leaf_color(leaf)
        rows.append(ConfusionRow(leaf["leaf"], label, color, cells, leaf["size"]))
    totals = [sum(row.cells[at].size for row in rows) for at in range(len(heads))]
    return Confusion(heads, rows, totals, source.summary["n_rows"])


def _cell(count: int, size: int) -> Cell:
    part = count / size if size else 0.0
    return Cell(count, round(_N_SHADES * part), share(part))


def feature_rows(source: Source) -> list[FeatureRow]:
    """Return the tested features, the most important first."""
    tested = [each for each in source.summary["features"] if each["n_tests"]]
    tested.sort(key=lambda each: (-each["importance"], -each["n_tests"], each["feature"]))
    return [_feature_row(source, each) for each in tested[:_N_FEATURES]]


def _feature_row(source: Source, feature: Feature) -> FeatureRow:
    importance = share(feature["importance"])
    known = feature["min"] is not None and feature["max"] is not None
    return FeatureRow(
        source.names[feature["feature"]],
        clipped(feature["name"], 500),
        feature["n_tests"],
        importance,
        share_bar(min(1.0, feature["importance"]), f"importance {importance}", "k-accent"),
        f"{figure(feature['min'])} to {figure(feature['max'])}" if known else "",
    )


def question_rows(source: Source) -> list[QuestionRow]:
    """Return the tests in the order in which they were made."""
    inner = [node for node in source.summary["nodes"] if node["feature"] is not None]
    return [_question_row(source, node) for node in inner]


def _question_row(source: Source, node: Node) -> QuestionRow:
    second = node["runner_up"]
    condition: Condition = []
    score, second_score = node["score"], None
    if second is not None:
        name = source.names[second["feature"]]
        condition = condition_of([bounds([None, second["threshold"]])], name)
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


def settings_rows(source: Source) -> list[tuple[str, str]]:
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
