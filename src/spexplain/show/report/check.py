"""A check of new rows as one page: the outcome, every finding, segments and columns then and now."""

from typing import Any, NamedTuple

from spexplain._version import __version__
from spexplain.facts.drift import CheckFacts, ColumnFacts, SegmentChange, about2
from spexplain.facts.text import percent
from spexplain.messages import counted, listed, one_line
from spexplain.show.report.render import Tile, environment, palette, policy, trusted
from spexplain.tree import about

_WIDTH, _HEIGHT = 300, 78  # of the chart of a column
_NOTHING = "–"


def render_check(facts: CheckFacts, *, title: str | None = None) -> str:
    """Return a check as one HTML page that loads nothing and runs nothing.

    Parameters
    ----------
    facts : dict
        From `spexplain.facts.drift.compare`.
    title : str, optional
        Heading of the page.

    Returns
    -------
    html : str
        Names and values are escaped; the page's own policy forbids scripts and connections.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import CART
    >>> from spexplain.show.report import render_check
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> model = CART(feature_names=["<b>"]).fit(X, [0, 0, 0, 1, 1, 1])
    >>> html = render_check(model.check(X).facts)
    >>> "The rows are like those of training." in html, "<b>" in html, "&lt;b&gt;" in html
    (True, False, True)
    """
    templates = environment()
    style = templates.get_template("check.css").render(palette())
    page = templates.get_template("check.html")
    alarming = {each["column"] for each in facts["findings"] if each["level"] == "alarm"}
    return page.render(
        title=one_line(title or "") or "New rows, checked",
        verdict=_verdict(facts),
        tiles=_tiles(facts),
        check=facts,
        segments=[_segment_row(each, facts["segments"]) for each in facts["segments"]],
        has_right=any(each["right_now"] is not None for each in facts["segments"]),
        columns=[_column_card(each, alarming) for each in facts["columns"]],
        version=__version__,
        style=trusted(style),
        policy=policy("", style),
    )


def _verdict(facts: CheckFacts) -> str:
    n_alarms = sum(each["level"] == "alarm" for each in facts["findings"])
    if n_alarms:
        return f"The rows differ from those of training: {counted(n_alarms, 'alarm')}."
    if facts["findings"]:
        return f"No alarm, but {counted(len(facts['findings']), 'notice')}."
    return "The rows are like those of training."


def _tiles(facts: CheckFacts) -> list[Tile]:
    tiles = [
        Tile("Check", "passed" if facts["passed"] else "failed", f"of {facts['method']}"),
        Tile("Rows", f"{facts['rows_now']:,}", f"{facts['rows_then']:,} in training"),
    ]
    if facts["rows_unscored"]:
        tiles.append(
            Tile(
                "Without a label",
                f"{facts['rows_unscored']:,}",
                "rows with a value that cannot be read",
            )
        )
    if facts["segment_psi"] is not None:
        hint = f"of the segments; limit {facts['max_psi']:g}"
        tiles.append(Tile("PSI", about2(facts["segment_psi"]), hint))
    moved = [each for each in facts["columns"] if (each["psi"] or 0) > facts["max_psi"]]
    tiles.append(
        Tile(
            "Columns",
            f"{len(facts['columns'])}",
            f"{len(moved)} above a PSI of {facts['max_psi']:g}",
        )
    )
    if facts["fidelity_now"] is not None and facts["fidelity_then"] is not None:
        hint = f"of the rows right; {percent(facts['fidelity_then'])} in training"
        tiles.append(Tile("Fidelity", percent(facts["fidelity_now"]), hint))
    return tiles


def _segment_row(segment: SegmentChange, all_segments: list[SegmentChange]) -> dict[str, Any]:
    most = max(max(each["share_then"], each["share_now"]) for each in all_segments) or 1.0
    return {
        "name": segment["name"],
        "then_width": f"{100 * segment['share_then'] / most:.1f}",
        "now_width": f"{100 * segment['share_now'] / most:.1f}",
        "then": percent(segment["share_then"]),
        "now": percent(segment["share_now"]),
        "psi": about2(segment["psi"]) if segment["psi"] >= 0.005 else "0",
        "right_then": _share(segment["right_then"]),
        "right_now": _share(segment["right_now"]),
    }


def _share(share: float | None) -> str:
    return _NOTHING if share is None else percent(share)


class _Bar(NamedTuple):
    x: str
    now_x: str
    width: str
    then_y: str
    then_height: str
    now_y: str
    now_height: str


def _bars(column: ColumnFacts) -> list[_Bar]:
    """Return the bars of a chart, two for every bin."""
    pairs = list(zip(column["shares_then"], column["shares_now"], strict=True))
    if not pairs:
        return []
    most = max(max(pair) for pair in pairs) or 1.0
    step = _WIDTH / len(pairs)
    width = min(step * 0.4, 24.0)
    bars = []
    for place, (then, now) in enumerate(pairs):
        tall, short = (_HEIGHT * share / most for share in (then, now))
        left = place * step + step / 2 - width
        numbers = (left, left + width, width, 80 - tall, tall, 80 - short, short)
        bars.append(_Bar(*(f"{number:.1f}" for number in numbers)))
    return bars


def _column_card(column: ColumnFacts, alarming: set[str | None]) -> dict[str, Any]:
    pairs = zip(column["bins"], column["shares_then"], column["shares_now"], strict=True)
    told = "; ".join(f"{name}: {percent(then)}, {percent(now)}" for name, then, now in pairs)
    bins = column["bins"]
    span = f"from {bins[0]} to {bins[-1]}" if len(bins) > 1 else ""
    if column["kind"] == "category":
        span = listed(bins, 8)
    facts = [("Missing", _share(column["missing_then"]), _share(column["missing_now"]))]
    if column["kind"] != "category":
        facts.append(("Least", _value(column["low_then"]), _value(column["low_now"])))
        facts.append(("Greatest", _value(column["high_then"]), _value(column["high_now"])))
        facts.append(("Out of range", _NOTHING, f"{column['below'] + column['above']:,}"))
    for name, counts in (
        ("Unreadable", column["unreadable"]),
        ("New values", column["new_categories"]),
    ):
        if counts:
            facts.append(
                (name, _NOTHING, listed((f"{key} ({n:,})" for key, n in counts.items()), 4))
            )
    return {
        "name": one_line(column["column"]),
        "psi": "" if column["psi"] is None else f"PSI {about2(column['psi'])}",
        "bars": _bars(column),
        "told": told,
        "bins": span,
        "facts": facts,
        "has_alarm": column["column"] in alarming,
    }


def _value(value: float | str | None) -> str:
    if value is None:
        return _NOTHING
    return value if isinstance(value, str) else about(value)
