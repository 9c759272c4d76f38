"""The segments of the report: a verdict, and a card for every cluster."""

from collections.abc import Sequence
from typing import NamedTuple

from spexplain.facts.schema import (
    ContrastFacts,
    FlowFacts,
    SegmentFacts,
    SegmentTellingFacts,
    TypicalFacts,
    region_of,
)
from spexplain.facts.text import amount_figure
from spexplain.messages import one_line
from spexplain.show.report.phrases import (
    RulePieces,
    brief,
    clipped,
    condition_of,
    excerpt,
    share,
)
from spexplain.show.report.sections import (
    Bar,
    ReportFacts,
    RowView,
    TableView,
    bend_of,
    color_class,
    place_on,
    range_of,
    share_bar,
)
from spexplain.tree import Column

MAX_SEGMENTS = 60
_LONGEST_TEXT = 300
_N_FLOWS = 3
_N_COLUMNS = 5


class TellingView(NamedTuple):
    """A telling column: what is said, and where the cluster and all rows lie on a scale of 0 to 100."""

    text: str
    inside: float | None
    overall: float | None
    is_share: bool
    note: str  # of a scale that is not even
    word: str = ""  # that documents contain; it stands between the texts before and after it
    before: str = ""
    after: str = ""


class FlowView(NamedTuple):
    """Rows that a cluster loses to another."""

    label: str
    color: str
    rows: str
    share: float


class NearestView(NamedTuple):
    """The nearest other cluster, and what tells the two apart."""

    label: str
    color: str
    rule: list[RulePieces]
    recall: float
    recall_other: float
    is_separated: bool


class SegmentView(NamedTuple):
    """A cluster as a card."""

    number: int
    label: str
    color: str
    has_rule: bool
    alternatives: list[RulePieces]
    rows: str
    share: float | None
    precision: float | None
    recall: float | None
    precision_bar: Bar | None
    recall_bar: Bar | None
    lift: float | None
    held_out: float | None  # recall on rows that were left out
    leaves: list[int]
    missed: list[FlowView]
    n_missed: str
    telling: list[TellingView]
    typical: TableView | None
    row_names: list[str]
    documents: list[tuple[str, list[tuple[str, bool]]]]  # names of rows, and their texts in pieces
    nearest: NearestView | None
    note: str


def segment_views(source: ReportFacts, texts: Sequence[str] | None = None) -> list[SegmentView]:
    """Return the cards of the clusters, in the order of their labels; with texts of the rows, examples of them."""
    segments = source.summary["segments"]
    largest = sorted(segments, key=lambda each: -(each["rows"] or 0))[:MAX_SEGMENTS]
    kept = {id(each) for each in largest}
    return [_view(source, each, texts) for each in segments if id(each) in kept]


def _view(source: ReportFacts, facts: SegmentFacts, texts: Sequence[str] | None) -> SegmentView:
    code = facts["code"]
    label = source.labels[code] if source.has_reference and code is not None else facts["name"]
    color = color_class(code)
    validation, held_out = source.summary["validation"], None
    if validation is not None and code is not None:
        held_out = validation["clusters"][code]["recall_held_out"]
    return SegmentView(
        number=code or 0,
        label=label,
        color=color,
        has_rule=bool(facts["leaves"]),
        alternatives=_alternatives(source, facts),
        rows="" if facts["rows"] is None else amount_figure(facts["rows"]),
        share=facts["share"],
        precision=facts["precision"],
        recall=facts["recall"],
        precision_bar=_bar(
            facts["precision"], "of the rows that the rule selects are right", color
        ),
        recall_bar=_bar(facts["recall"], "of the cluster is caught by the rule", color),
        lift=facts["lift"],
        held_out=held_out,
        leaves=facts["leaves"],
        missed=[_flow(source, each) for each in facts["missed_to"][:_N_FLOWS]],
        n_missed="" if not facts["missed"] else amount_figure(facts["missed"]),
        telling=[_telling(source, each) for each in facts["telling"]],
        typical=_typical(source, facts),
        row_names=[_row_name(each) for each in facts["typical"]],
        documents=[] if texts is None else _documents(source, facts, texts),
        nearest=None if facts["nearest"] is None else _nearest(source, facts["nearest"]),
        note=facts["note"] or "",
    )


def _row_name(facts: TypicalFacts) -> str:
    return str(facts["row"]) if facts["id"] is None else facts["id"]


def _documents(
    source: ReportFacts, facts: SegmentFacts, texts: Sequence[str]
) -> list[tuple[str, list[tuple[str, bool]]]]:
    """Return the texts of the typical rows, with the words of the rule and the telling ones marked."""
    asked = [(each["feature"], each["name"]) for part in facts["alternatives"] for each in part]
    words = [name for feature, name in asked if _column(source, feature, name).kind == "word"]
    words += [
        each["name"]
        for each in facts["telling"]
        if each["kind"] == "word" and each["difference"] > 0
    ]
    return [(_row_name(each), excerpt(str(texts[each["row"]]), words)) for each in facts["typical"]]


def _bar(part: float | None, text: str, color: str) -> Bar | None:
    return None if part is None else share_bar(part, f"{share(part)} {text}", color)


def _alternatives(source: ReportFacts, facts: SegmentFacts | ContrastFacts) -> list[RulePieces]:
    return [
        [
            condition_of(region_of(each), _column(source, each["feature"], each["name"]))
            for each in part
        ]
        for part in facts["alternatives"]
    ]


def _column(source: ReportFacts, feature: int, name: str) -> Column:
    """Return a column under the name that the report gives it."""
    return source.columns.get(feature) or Column(source.names.get(feature) or clipped(name, 60))


def _flow(source: ReportFacts, facts: FlowFacts) -> FlowView:
    return FlowView(
        source.label(facts["code"]) if source.has_reference else facts["name"],
        color_class(facts["code"]),
        amount_figure(facts["rows"]),
        facts["share"],
    )


def _telling(source: ReportFacts, facts: SegmentTellingFacts) -> TellingView:
    features = {each["feature"]: each for each in source.summary["features"]}
    feature = features.get(facts["feature"])
    shown = _column(source, facts["feature"], facts["name"]).name
    text = clipped(facts["text"].replace(facts["name"], shown, 1), _LONGEST_TEXT)
    inside, overall = facts["inside"], facts["overall"]
    is_share = facts["code"] is not None or " missing in " in facts["text"]
    if inside is None or overall is None:
        return TellingView(text, None, None, is_share, "")
    if is_share:
        before, quoted, after = text.partition(f'"{shown}"')
        is_word = bool(quoted) and facts["kind"] == "word"
        parts = (shown, before, after) if is_word else ()
        return TellingView(text, round(100 * inside, 2), round(100 * overall, 2), True, "", *parts)
    ends = None if feature is None else range_of(feature)
    if feature is None or ends is None:
        return TellingView(text, None, None, False, "")
    bend = bend_of(feature)
    places = [place_on(x, *ends, bend) for x in (inside, overall)]
    return TellingView(text, places[0], places[1], False, "logarithmic scale" if bend else "")


def _typical(source: ReportFacts, facts: SegmentFacts) -> TableView | None:
    if not facts["typical"]:
        return None
    first = facts["typical"][0]["values"][:_N_COLUMNS]
    columns = [_column(source, each["feature"], each["name"]) for each in first]
    rows = [
        RowView(
            each["row"],
            0,
            "",
            [
                brief(column, value["value"])
                for column, value in zip(columns, each["values"], strict=False)
            ],
            [],
        )
        for each in facts["typical"]
    ]
    is_text = [each.kind in ("category", "boolean", "date", "duration") for each in columns]
    return TableView([column.name for column in columns], is_text, rows)


def _nearest(source: ReportFacts, facts: ContrastFacts) -> NearestView:
    codes = [each["code"] for each in source.summary["segments"] if each["cluster"] == facts["b"]]
    code = codes[0] if codes else None
    label = facts["name_b"]
    if source.has_reference and code is not None:
        label = source.labels[code]
    return NearestView(
        one_line(label),
        color_class(code),
        _alternatives(source, facts),
        facts["recall_a"],
        facts["recall_b"],
        facts["n_conditions"] > 0,
    )
