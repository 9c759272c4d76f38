"""Whether new rows are like those that a model was fitted to: every difference, and what it may mean.

A difference is an alarm if it is larger than chance explains, and large enough to matter. How much
chance explains depends on the numbers of rows, then and now, and on how many differences are looked at:
all together, rows of the same distribution raise an alarm in at most one of a hundred files.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import exp, lgamma, log
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, get_args

import numpy as np
import scipy

from spexplain.aliases import Array, Floats, Ints
from spexplain.facts.profiles import MAX_PSI, ColumnProfile
from spexplain.facts.schema import Label, plain_label
from spexplain.facts.tally import SKETCH_ERROR, ColumnTally, Tally
from spexplain.facts.text import brief_text, percent
from spexplain.messages import counted, listed, one_line
from spexplain.tree import Column, about
from spexplain.tree.column import quoted_value

FindingKind: TypeAlias = Literal[
    "missing-column", "renamed-column", "kind-changed", "unreadable-values", "unit-jump", "out-of-range",
    "new-category", "lost-category", "missing-values", "drift", "segment-vanished", "segment-doubled",
    "segment-halved", "segment-drift", "fidelity", "row-numbers", "new-label",
]  # fmt: skip
KINDS: tuple[FindingKind, ...] = get_args(FindingKind)
Level: TypeAlias = Literal["alarm", "notice"]
NO_RULE = "no rule"  # what the rows that meet none are called
# All tests of one check together call rows of the same distribution different once in a hundred times.
_ALPHA = 0.01
_SMALL_SHARE = 0.01  # of the rows: changes in fewer rows are notices, not alarms
_MISSING_CHANGE = 0.02
_RIGHT_CHANGE = 0.1  # of the rows of a segment that are right
_DOUBLE = 2.0
_N_COMMON = 20  # categories that are compared one by one
_N_NAMED = 6
_LEAST_FACTOR = 1.5  # smallest factor that counts as a jump
_LIKELIER = (
    0.02  # population stability index by which a known unit may fit worse than the ratio of medians
)
_ALIKE = 0.1  # population stability index below which two columns are alike
_SAME_SHARE = 0.25  # relative difference of shares of a category and its new name
_DECILES = tuple(step / 10 for step in range(1, 10))
# What a factor or a shift may mean: multiplier, addition, question.
_UNITS: tuple[tuple[float, float, str], ...] = (
    (100.0, 0.0, "cents, or percent?"),
    (0.01, 0.0, "whole units instead of cents, or shares instead of percent?"),
    (1000.0, 0.0, "thousandths, such as grams, metres or milliseconds?"),
    (0.001, 0.0, "thousands, such as kilograms, kilometres or seconds?"),
    (1e6, 0.0, "millionths?"),
    (1e-6, 0.0, "millions?"),
    (10.0, 0.0, "millimetres instead of centimetres?"),
    (0.1, 0.0, "centimetres instead of millimetres?"),
    (60.0, 0.0, "minutes instead of hours, or seconds instead of minutes?"),
    (1 / 60, 0.0, "hours instead of minutes, or minutes instead of seconds?"),
    (3600.0, 0.0, "seconds instead of hours?"),
    (1 / 3600, 0.0, "hours instead of seconds?"),
    (24.0, 0.0, "hours instead of days?"),
    (1 / 24, 0.0, "days instead of hours?"),
    (12.0, 0.0, "per year instead of per month, or months instead of years?"),
    (1 / 12, 0.0, "per month instead of per year, or years instead of months?"),
    (7.0, 0.0, "days instead of weeks?"),
    (1 / 7, 0.0, "weeks instead of days?"),
    (2.20462, 0.0, "pounds instead of kilograms?"),
    (1 / 2.20462, 0.0, "kilograms instead of pounds?"),
    (2.54, 0.0, "centimetres instead of inches?"),
    (1 / 2.54, 0.0, "inches instead of centimetres?"),
    (3.28084, 0.0, "feet instead of metres?"),
    (0.3048, 0.0, "metres instead of feet?"),
    (1.609344, 0.0, "kilometres instead of miles?"),
    (1 / 1.609344, 0.0, "miles instead of kilometres?"),
    (1.8, 32.0, "Fahrenheit instead of Celsius?"),
    (1 / 1.8, -32 / 1.8, "Celsius instead of Fahrenheit?"),
)  # fmt: skip


class FindingFacts(TypedDict):
    """One difference between then and now."""

    kind: FindingKind
    level: Level
    fails: bool  # whether the check fails for it
    column: str | None
    segment: Label | None
    text: str


class ColumnFacts(TypedDict):
    """One column, then and now."""

    column: str
    kind: str
    psi: float | None
    p_value: float | None
    missing_then: float | None
    missing_now: float
    low_then: float | str | None  # texts of dates and durations
    high_then: float | str | None
    low_now: float | str | None
    high_now: float | str | None
    below: int
    above: int
    unreadable: dict[str, int]
    new_categories: dict[str, int]
    bins: list[str]
    shares_then: list[float]
    shares_now: list[float]


class SegmentChange(TypedDict):
    """One cluster or leaf, then and now."""

    segment: Label | None  # None: rows that meet no rule
    name: str
    leaves: list[int]
    rows_then: int
    rows_now: int
    share_then: float
    share_now: float
    psi: float
    right_then: float | None  # share of the rows in its leaves that belong to it
    right_now: float | None


class CheckFacts(TypedDict):
    """Everything that a check found, ready for JSON."""

    format: str
    version: int
    passed: bool
    method: str
    rows_then: int
    rows_now: int
    rows_unscored: int
    max_psi: float
    fail_on: list[str]
    findings: list[FindingFacts]
    columns: list[ColumnFacts]
    segment_psi: float | None
    segments: list[SegmentChange]
    leaves: list[SegmentChange]
    fidelity_then: float | None
    fidelity_now: float | None


class KnownLeaves(NamedTuple):
    """What a model knows of its leaves."""

    method: str
    sizes: Ints  # training rows of every leaf
    labels: list[Any] | None  # the cluster that every leaf stands for; None: rows that meet no rule
    codes: Ints  # its number; -1 for leaves that stand for no cluster
    purity: Floats | None  # share of a leaf's training rows that belong to it
    n_cuts: int  # cuts that the search for a test chose from, about
    has_leaves: bool = True  # otherwise rules decide, one a cluster


@dataclass(frozen=True)
class _Found:
    kind: FindingKind
    level: Level
    text: str
    column: str | None = None
    segment: Any = None


def psi(then: Sequence[int] | Array, now: Sequence[int] | Array) -> float:
    """Return the population stability index of two tables of counts.

    Half a row is added to every bin, so that empty ones have a logarithm.

    Examples
    --------
    >>> from spexplain.facts.drift import psi
    >>> psi([50, 50], [500, 500]), round(psi([50, 50], [20, 80]), 2)
    (0.0, 0.41)
    """
    return float(_psi_parts(np.asarray(then), np.asarray(now)).sum())


def _psi_parts(then: Array, now: Array) -> Floats:
    before, after = ((counts + 0.5) / (counts.sum() + 0.5 * len(counts)) for counts in (then, now))
    parts: Floats = (after - before) * np.log(after / before)
    return parts


def p_value(then: Sequence[int] | Array, now: Sequence[int] | Array) -> float:
    """Return how likely two tables of counts of one distribution differ as much as these (Pearson's test).

    Examples
    --------
    >>> from spexplain.facts.drift import p_value
    >>> p_value([50, 50], [500, 500]), p_value([50, 50], [20, 80]) < 1e-4
    (1.0, True)
    """
    table = np.array([then, now], dtype=np.float64)
    table = table[:, table.sum(axis=0) > 0]
    totals = table.sum(axis=1, keepdims=True)
    if table.shape[1] < 2 or not totals.all():
        return 1.0
    expected = totals * table.sum(axis=0) / table.sum()
    # Bins of hardly any row are joined: the test is about sums of many.
    is_rare = expected.min(axis=0) < 1
    if is_rare.any():
        rare = [each[:, is_rare].sum(axis=1, keepdims=True) for each in (table, expected)]
        table, expected = (
            np.hstack([each[:, ~is_rare], joined])
            for each, joined in zip((table, expected), rare, strict=True)
        )
    if table.shape[1] < 2:
        return 1.0
    statistic = float(np.sum((table - expected) ** 2 / expected))
    return float(scipy.special.chdtrc(table.shape[1] - 1, statistic))


def share_p_value(count_then: int, n_then: int, count_now: int, n_now: int) -> float:
    """Return how likely two samples of one distribution have shares that differ so much (Fisher's test).

    Examples
    --------
    >>> from spexplain.facts.drift import share_p_value
    >>> share_p_value(5, 100, 5, 100), share_p_value(0, 1000, 20, 1000) < 1e-5
    (1.0, True)
    """
    if not n_then or not n_now:
        return 1.0
    whole = scipy.stats.hypergeom(n_then + n_now, count_then + count_now, n_now)
    return float(min(1.0, 2 * min(whole.sf(count_now - 1), whole.cdf(count_now))))


def beyond_p_value(count: int, n_then: int, n_now: int) -> float:
    """Return how likely so many of `n_now` new values lie beyond all of `n_then` earlier ones.

    All of the greatest values of both samples together are then new ones.

    Examples
    --------
    >>> from spexplain.facts.drift import beyond_p_value
    >>> round(beyond_p_value(1, 50, 50), 6), beyond_p_value(20, 50, 50) < 1e-6
    (0.5, True)
    """
    if not count:
        return 1.0
    both = n_then + n_now
    return exp(
        lgamma(n_now + 1) - lgamma(n_now - count + 1) - lgamma(both + 1) + lgamma(both - count + 1)
    )


def compare(
    tally: Tally,
    absent: Sequence[Column],
    known: KnownLeaves,
    *,
    max_psi: float = MAX_PSI,
    fail_on: Sequence[str] = ("alarm",),
) -> CheckFacts:
    """Return every difference between what a model saw and new rows.

    Parameters
    ----------
    tally : Tally
        Counts of the new rows.
    absent : sequence of Column
        Columns that the model tests and the rows lack.
    known : KnownLeaves
        What the model knows of its leaves.
    max_psi : float, default=0.2
        Population stability index above which a column, or the segments, have drifted.
    fail_on : sequence of str
        "alarm", "any", or kinds of findings for which the check fails.
    """
    n_tests = 5 * len(tally.columns) + 3 * len(known.sizes) + 3
    alpha = _ALPHA / max(n_tests, 1)
    found: list[_Found] = list(_schema(tally, absent))
    columns = []
    for column in tally.columns.values():
        facts, differences = _column(column, max_psi, alpha)
        columns.append(facts)
        found += differences
    leaves: list[SegmentChange] = []
    segments: list[SegmentChange] = []
    drift: float | None = None
    right: tuple[float | None, float | None] = (None, None)
    if tally.has_leaves and tally.leaves.sum() and known.sizes.sum():
        leaves = _segments(tally, known, [[each] for each in range(len(known.sizes))], None)
        segments = leaves
        if known.labels is not None:
            groups: dict[Any, list[int]] = {}
            for leaf, label in enumerate(known.labels):
                groups.setdefault(label, []).append(leaf)
            segments = _segments(tally, known, list(groups.values()), list(groups))
        leaves = leaves if known.has_leaves else []
        drift, differences = _segment_findings(segments, max_psi, alpha)
        found += differences
        right, differences = _fidelity(tally, known, segments, alpha)
        found += differences
    order = {kind: place for place, kind in enumerate(KINDS)}
    found.sort(key=lambda each: (each.level != "alarm", order[each.kind]))
    findings = [_finding(each, fail_on) for each in found]
    return CheckFacts(
        format="spexplain.check",
        version=1,
        passed=not any(each["fails"] for each in findings),
        method=known.method,
        rows_then=int(known.sizes.sum()),
        rows_now=tally.n_rows,
        rows_unscored=tally.n_unscored,
        max_psi=max_psi,
        fail_on=list(fail_on),
        findings=findings,
        columns=columns,
        segment_psi=drift,
        segments=segments,
        leaves=leaves,
        fidelity_then=right[0],
        fidelity_now=right[1],
    )


def _finding(found: _Found, fail_on: Sequence[str]) -> FindingFacts:
    fails = "any" in fail_on or found.kind in fail_on
    fails = fails or ("alarm" in fail_on and found.level == "alarm")
    segment = None if found.segment is None else plain_label(found.segment)
    text = one_line(found.text)
    return FindingFacts(
        kind=found.kind,
        level=found.level,
        fails=fails,
        column=found.column,
        segment=segment,
        text=text,
    )


def _schema(tally: Tally, absent: Sequence[Column]) -> Iterator[_Found]:
    """Give what is wrong with the columns themselves."""
    for column in absent:
        likely = _likely_name(column, tally)
        name = one_line(column.name)
        if likely is None:
            text = f"The column {name}, which the model tests, is not there."
            yield _Found("missing-column", "alarm", text, column.name)
        else:
            text = f"The column {name}, which the model tests, is not there; {likely}"
            yield _Found("renamed-column", "alarm", text, column.name)
    for name, each in tally.columns.items():
        if each.watched.seen is not None and each.watched.seen.numbers_rows:
            text = (
                f"{one_line(name)} had a different value in every training row, like a row number; what it says "
                "about new rows is chance."
            )
            yield _Found("row-numbers", "notice", text, name)


def _likely_name(column: Column, tally: Tally) -> str | None:
    """Return which other column may be the absent one under a new name, as the end of a sentence."""
    folded = {_folded(name): name for name in reversed(tally.extra)}
    near = get_close_matches(_folded(column.name), folded, n=1, cutoff=0.6)
    alike = []
    for (wanted, name), guess in tally.guesses.items():
        seen = guess.watched.seen
        if wanted != column.name or seen is None or guess.n_known < 0.9 * max(guess.n_rows, 1):
            continue
        then, now, _ = _binned(seen, guess)
        if psi(then, now) < _ALIKE:
            alike.append(name)
    if near and folded[near[0]] in alike:
        return f"{one_line(folded[near[0]])} has nearly the same name and similar values: renamed?"
    if near:
        return f"{one_line(folded[near[0]])} has nearly the same name: renamed?"
    if alike:
        return f"{' or '.join(map(one_line, alike[:3]))} has similar values: renamed?"
    return None


def _folded(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum()) or name


def _binned(seen: ColumnProfile, now: ColumnTally) -> tuple[Array, Array, list[str]]:
    """Return rows then and now by bins or common categories, and what these are called."""
    column = now.watched.column
    then, after = np.array(seen.counts, dtype=np.int64), now.counts
    if column.kind != "category":
        borders = [brief_text(column, each) for each in seen.borders]
        if not borders:
            return then, after, ["all values"]
        names = [f"≤ {borders[0]}", *(f"≤ {each}" for each in borders[1:]), f"> {borders[-1]}"]
        return then, after, names
    order = np.argsort(-then, kind="stable")
    common, rare = order[:_N_COMMON], order[_N_COMMON:]
    names = [one_line(str(column.categories[each])) for each in common]
    n_others = int(then[rare].sum()), int(after[rare].sum()) + now.n_odd
    if any(n_others):
        names.append("others")
        return np.append(then[common], n_others[0]), np.append(after[common], n_others[1]), names
    return then[common], after[common], names


def _column(now: ColumnTally, max_psi: float, alpha: float) -> tuple[ColumnFacts, list[_Found]]:
    """Return one column then and now, and what is different."""
    seen, column = now.watched.seen, now.watched.column
    is_category = column.kind == "category"
    name = one_line(column.name)
    odd = dict(now.odd.most_common())
    facts = ColumnFacts(
        column=column.name,
        kind=column.kind,
        psi=None,
        p_value=None,
        missing_then=None if seen is None else seen.share_missing,
        missing_now=now.n_missing / max(now.n_rows, 1),
        low_then=None if seen is None else _plain_value(column, seen.low),
        high_then=None if seen is None else _plain_value(column, seen.high),
        low_now=None if is_category else _plain_value(column, now.low),
        high_now=None if is_category else _plain_value(column, now.high),
        below=now.n_below,
        above=now.n_above,
        unreadable={} if is_category else odd,
        new_categories=odd if is_category else {},
        bins=[],
        shares_then=[],
        shares_now=[],
    )
    found: list[_Found] = []

    def find(kind: FindingKind, level: Level, text: str) -> None:
        found.append(_Found(kind, level, text, column.name))

    _find_odd(now, name, find, alpha)
    if seen is None:
        return facts, found
    _find_missing(seen, now, name, find, alpha)
    then, after, bins = _binned(seen, now)
    if then.sum() and after.sum() and len(bins) > 1:
        moved, p = psi(then, after), p_value(then, after)
        facts["psi"], facts["p_value"], facts["bins"] = moved, p, bins
        facts["shares_then"] = (then / then.sum()).tolist()
        facts["shares_now"] = (after / after.sum()).tolist()
        told = f"PSI {about2(moved)}, limit {max_psi:g}."
        if p < alpha and moved > max_psi:
            find("drift", "alarm", f"{name} is distributed differently: {told}")
        elif p < alpha and moved > _ALIKE:
            find("drift", "notice", f"{name} has moved a little: {told}")
    if is_category:
        _find_lost(seen, now, name, find, alpha)
    elif seen.quantiles:
        _find_beyond(seen, now, name, find, alpha)
        jump = _unit_jump(seen, now, min(max_psi, MAX_PSI), alpha)
        if jump:
            find("unit-jump", "alarm", f"{name} {jump}")
    return facts, found


def about2(x: float) -> str:
    """Return a number to two digits, a large one without any after the point."""
    return f"{x:.0f}" if x >= 10 else f"{x:.2g}"


def _plain_value(column: Column, x: float) -> float | str | None:
    if not np.isfinite(x):
        return None
    return column.say(x) if column.kind in ("date", "duration") else x


def _find_odd(now: ColumnTally, name: str, find: Any, alpha: float) -> None:
    """Find values that could not be read, or were never seen."""
    column, seen = now.watched.column, now.watched.seen
    n_given = now.n_rows - now.n_missing
    if not now.n_odd:
        if now.kinds == {"category"} and column.kind != "category" and n_given:
            find(
                "kind-changed",
                "notice",
                f"{name} is text that can be read as {_noun(column)} values.",
            )
        return
    examples = listed((_quoted(each) for each in now.odd), _N_NAMED)
    rows = f"{counted(now.n_odd, 'row')} ({percent(now.n_odd / now.n_rows)})"
    if column.kind != "category":
        if now.n_odd > n_given / 2:
            text = f"{name} no longer holds {_noun(column)} values: {rows} have texts such as {examples}."
            find("kind-changed", "alarm", text)
        else:
            text = f"{name} has texts in {rows} that are not {_noun(column)} values: {examples}."
            find("unreadable-values", "alarm", text)
        return
    if now.n_odd == n_given and now.kinds and now.kinds <= {"number", "whole", "date", "duration"}:
        find("kind-changed", "alarm", f"{name} holds {_noun_of(now.kinds)} instead of texts.")
    counts = [] if seen is None else seen.counts
    singles, n_then = sum(count == 1 for count in counts), sum(counts)
    chance = n_given / (n_given + n_then) if n_then else 1.0
    p = 1.0
    if n_then:
        p = float(scipy.stats.binom.sf(now.n_odd - 1, now.n_odd + singles, chance))
    is_large = p < alpha and now.n_odd > _SMALL_SHARE * now.n_rows
    few = listed(
        (f"{_quoted(each)} ({count:,})" for each, count in now.odd.most_common()), _N_NAMED
    )
    values = counted(len(now.odd), "new value")
    text = f"{name} has {values} in {rows}: {few}.{_renamed_category(now)}"
    find("new-category", "alarm" if is_large else "notice", text)


def _renamed_category(now: ColumnTally) -> str:
    """Return which category may have a new name, as a sentence of its own."""
    column, seen = now.watched.column, now.watched.seen
    if seen is None or not seen.n_known or not now.odd:
        return ""
    n_given = now.n_rows - now.n_missing
    gone = [
        (code, count / seen.n_known)
        for code, count in enumerate(seen.counts)
        if not now.counts[code] and count > _SMALL_SHARE * seen.n_known
    ]
    for name, count in now.odd.most_common(_N_NAMED):
        folded = {_folded(str(column.categories[code])): code for code, _ in gone}
        near = get_close_matches(_folded(name), folded, n=1, cutoff=0.7)
        same = [code for code, share in gone if abs(count / n_given / share - 1) < _SAME_SHARE]
        for code in [*(folded[each] for each in near), *same][:1]:
            old = quoted_value(column.categories[code])
            return f" {old} is gone: renamed to {_quoted(name)}?"
    return ""


def _quoted(text: str) -> str:
    return quoted_value(one_line(text[:60]) or text[:60])


_NOUNS = {"boolean": "yes or no", "date": "date", "duration": "time span", "category": "text"}


def _noun(column: Column) -> str:
    return _NOUNS.get(column.kind, "number")


def _noun_of(kinds: Iterable[str]) -> str:
    return " and ".join(sorted({_NOUNS.get(kind, "number") + "s" for kind in kinds}))


def _find_missing(
    seen: ColumnProfile, now: ColumnTally, name: str, find: Any, alpha: float
) -> None:
    """Find a changed share of missing values."""
    p = share_p_value(seen.n_missing, seen.n_rows, now.n_missing, now.n_rows)
    share = now.n_missing / max(now.n_rows, 1)
    change = abs(share - seen.share_missing)
    text = (
        f"{name} lacks a value in {percent(share)} of the rows; it was "
        f"{percent(seen.share_missing)}."
    )
    if p < alpha and change > _MISSING_CHANGE:
        find("missing-values", "alarm", text)
    elif p < alpha or (now.n_missing and not seen.n_missing):
        find("missing-values", "notice", text)


def _find_lost(seen: ColumnProfile, now: ColumnTally, name: str, find: Any, alpha: float) -> None:
    """Find categories that no new row has."""
    n_then, n_now = seen.n_known, now.n_rows - now.n_missing
    gone = [
        code
        for code, count in enumerate(seen.counts)
        if count > _SMALL_SHARE * n_then
        and not now.counts[code]
        and share_p_value(count, n_then, 0, n_now) < alpha
    ]
    if gone:
        categories = now.watched.column.categories
        told = listed(
            f"{quoted_value(categories[code])} ({percent(seen.counts[code] / n_then)})"
            for code in gone
        )
        find("lost-category", "alarm", f"{name} no longer has rows with {told}.")


def _find_beyond(seen: ColumnProfile, now: ColumnTally, name: str, find: Any, alpha: float) -> None:
    """Find values outside the range that was seen."""
    column = now.watched.column
    for count, side, bound, extreme in (
        (now.n_below, "below the least", seen.low, now.low),
        (now.n_above, "above the greatest", seen.high, now.high),
    ):
        if not count:
            continue
        p = beyond_p_value(count, seen.n_known, now.n_known)
        # Values that lie a whole range or more away need fewer rows to be more than chance.
        n_far = _n_far(seen, now, above=side.startswith("above"))
        is_far = n_far > _SMALL_SHARE * now.n_known
        is_far = is_far and beyond_p_value(n_far, seen.n_known, now.n_known) < _ALPHA
        is_large = is_far or (p < alpha and count > _SMALL_SHARE * now.n_known)
        lie = "lies" if count == 1 else "lie"
        text = (
            f"{name}: {count:,} of {counted(now.n_known, 'value')} {lie} {side} value seen, "
            f"{brief_text(column, bound)} (now up to {brief_text(column, extreme)})."
        )
        if side.startswith("below"):
            text = text.replace("now up to", "now down to")
        find("out-of-range", "alarm" if is_large else "notice", text)


def _n_far(seen: ColumnProfile, now: ColumnTally, *, above: bool) -> int:
    """Return how many values lie further away from the range that was seen than it is wide."""
    values, counts = now.sketch.points()
    width = seen.high - seen.low
    is_far = values > seen.high + width if above else values < seen.low - width
    return int(counts[is_far].sum()) if len(values) else 0


def _unit_jump(seen: ColumnProfile, now: ColumnTally, max_psi: float, alpha: float) -> str | None:
    """Return by what all values were multiplied, if they were, and what that may mean."""
    then = np.array(seen.counts, dtype=np.int64)
    values, counts = now.sketch.points()
    if not len(values) or psi(then, now.counts) <= max_psi or p_value(then, now.counts) >= alpha:
        return None
    before = np.array([seen.quantiles[round(share * 20)] for share in _DECILES])
    after = np.array(now.sketch.quantiles(_DECILES))
    usable = before * after > 0
    if usable.sum() < 3:
        return None
    ratio = float(np.exp(np.median(np.log(after[usable] / before[usable]))))
    # Each candidate is undone; the one after which the values look as before is the answer.
    best: tuple[float, float, float, str] | None = None
    for factor, shift, question in ((ratio, 0.0, ""), *_UNITS):
        is_near = shift or abs(log(factor / ratio)) < log(1.4)
        if not is_near or max(factor, 1 / factor) < _LEAST_FACTOR:
            continue
        undone = _binned_points((values - shift) / factor, counts, seen.borders)
        rest = psi(then, undone)
        noise = p_value(then, undone) >= alpha
        if (rest <= max_psi / 2 or noise) and rest < psi(then, now.counts) / 2:
            # A unit that people use is likelier than the number itself.
            key = rest / 2 - _LIKELIER if question else rest
            if best is None or key < best[0]:
                best = key, factor, shift, question
    if best is None:
        return None
    _, factor, shift, question = best
    column = now.watched.column
    # The median of the new rows is known to one percent.
    middle = [brief_text(column, float(f"{x:.2g}")) for x in (seen.quantiles[10], after[4])]
    medians = f"median about {middle[0]} then, {middle[1]} now"
    if shift:
        return f"seems to be in another unit ({medians}): {question}"
    return f"is about {_factor_text(factor)} what it was ({medians}){f': {question}' if question else '.'}"


def _factor_text(factor: float) -> str:
    if factor >= 1:
        return f"{about(float(f'{factor:.2g}'))}×"
    return f"1/{about(float(f'{1 / factor:.2g}'))} of"


def _binned_points(values: Floats, counts: Ints, borders: Sequence[float]) -> Ints:
    """Return how many rows lie in each bin, where every value stands for several, as exactly as a sketch knows them."""
    ends = np.asarray(borders, dtype=np.float64)
    # A value that many rows have is a border, too, and the sketch may have it a little above.
    places = np.searchsorted(ends + SKETCH_ERROR * np.abs(ends), values, side="left")
    summed = np.bincount(places, counts, minlength=len(borders) + 1)
    return summed.astype(np.int64)


def _segments(
    tally: Tally, known: KnownLeaves, groups: list[list[int]], labels: list[Any] | None
) -> list[SegmentChange]:
    """Return segments then and now."""
    then = np.array([known.sizes[leaves].sum() for leaves in groups], dtype=np.int64)
    now = np.array([tally.leaves[leaves].sum() for leaves in groups], dtype=np.int64)
    parts = _psi_parts(then, now)
    found = []
    for place, leaves in enumerate(groups):
        label = leaves[0] if labels is None else labels[place]
        name = f"leaf {label}" if labels is None else one_line(str(label))
        found.append(
            SegmentChange(
                segment=None if label is None else plain_label(label),
                name=NO_RULE if label is None else name,
                leaves=leaves,
                rows_then=int(then[place]),
                rows_now=int(now[place]),
                share_then=float(then[place] / then.sum()),
                share_now=float(now[place] / now.sum()),
                psi=float(parts[place]),
                right_then=_right_then(known, leaves),
                right_now=_right_now(tally, known, leaves),
            )
        )
    return found


def _right_then(known: KnownLeaves, leaves: list[int]) -> float | None:
    sizes = known.sizes[leaves]
    if known.purity is None or not sizes.sum() or (known.codes[leaves] < 0).any():
        return None
    return float((known.purity[leaves] * sizes).sum() / sizes.sum())


def _hits(tally: Tally, known: KnownLeaves, leaves: list[int]) -> tuple[int, int]:
    """Return rows of some leaves with a known label, and those whose label is what their leaf stands for."""
    assert tally.labels is not None
    clustered = tally.labels[leaves, :-1]
    return int(clustered.sum()), int(tally.labels[leaves, known.codes[leaves]].sum())


def _right_now(tally: Tally, known: KnownLeaves, leaves: list[int]) -> float | None:
    if tally.labels is None or known.labels is None or (known.codes[leaves] < 0).any():
        return None
    n_rows, n_right = _hits(tally, known, leaves)
    return n_right / n_rows if n_rows else None


def _segment_findings(
    segments: list[SegmentChange], max_psi: float, alpha: float
) -> tuple[float, list[_Found]]:
    """Return how much all segments moved, and those that vanished, doubled or halved."""
    then = np.array([each["rows_then"] for each in segments])
    now = np.array([each["rows_now"] for each in segments])
    whole, found = psi(then, now), []
    if whole > max_psi and p_value(then, now) < alpha:
        text = f"The shares of the segments have moved: PSI {about2(whole)}, limit {max_psi:g}."
        found.append(_Found("segment-drift", "alarm", text))
    for each, before, after in zip(segments, then.tolist(), now.tolist(), strict=True):
        share, share_now = each["share_then"], each["share_now"]
        name, label = f"Segment {each['name']}", each["segment"]
        p = share_p_value(before, int(then.sum()), after, int(now.sum()))
        if p >= alpha or abs(share_now - share) < _SMALL_SHARE:
            continue
        told = f"{percent(share_now)} of the rows; it was {percent(share)}."
        if label is None:
            level: Level = "alarm" if share_now > share else "notice"  # fewer are not a problem
            kind: FindingKind = "segment-doubled" if share_now > share else "segment-halved"
            if max(share, share_now) >= _DOUBLE * min(share, share_now):
                found.append(_Found(kind, level, f"No rule holds for {told}"))
            continue
        if not after:
            found.append(
                _Found("segment-vanished", "alarm", f"{name} has vanished: it had {percent(share)} of the rows.",
                       segment=label)
            )  # fmt: skip
        elif share_now >= _DOUBLE * share:
            found.append(_Found("segment-doubled", "alarm", f"{name} has {told}", segment=label))
        elif share_now <= share / _DOUBLE:
            found.append(_Found("segment-halved", "alarm", f"{name} has {told}", segment=label))
    return whole, found


def _fidelity(
    tally: Tally, known: KnownLeaves, segments: list[SegmentChange], alpha: float
) -> tuple[tuple[float | None, float | None], list[_Found]]:
    """Return the share of rows right then and now, and segments in which it fell."""
    if tally.labels is None or known.labels is None or known.purity is None:
        return (None, None), []
    found: list[_Found] = []
    leaves = [leaf for leaf in range(len(known.sizes)) if known.codes[leaf] >= 0]
    n_rows, n_right = _hits(tally, known, leaves)
    if not n_rows:
        return (_right_then(known, leaves), None), found
    # The tree was chosen to be right on its training rows: of N cuts, the best is right by chance for
    # about log N rows that it is not made for.
    chosen = log(max(known.n_cuts, 2))
    for each in segments:
        before, after = each["right_then"], each["right_now"]
        if before is None or after is None:
            continue
        rows, right = _hits(tally, known, each["leaves"])
        n_right_then = max(round(before * each["rows_then"] - chosen), 0)
        p = share_p_value(n_right_then, each["rows_then"], right, rows)
        if (
            p < alpha
            and before - after > _RIGHT_CHANGE / 2
            and right / rows < n_right_then / each["rows_then"]
        ):
            level: Level = "alarm" if before - after > _RIGHT_CHANGE else "notice"
            text = f"Segment {each['name']}: {percent(after)} of its rows are right; it was {percent(before)}."
            found.append(_Found("fidelity", level, text, segment=each["segment"]))
    then, now = _right_then(known, leaves), n_right / n_rows
    n_then = int(known.sizes[leaves].sum())
    if then is not None and len(segments) > 1:
        # For the whole tree: where segments are small, none of them has enough rows.
        n_right_then = max(round(then * n_then - chosen * (len(leaves) - 1) / 2), 0)
        p = share_p_value(n_right_then, n_then, n_right, n_rows)
        if p < alpha and then - now > _RIGHT_CHANGE and now < n_right_then / n_then:
            which = "" if known.has_leaves else " that meet a rule"
            text = f"All segments: {percent(now)} of the rows{which} are right; it was {percent(then)}."
            found.append(_Found("fidelity", "alarm", text))
    if tally.other_labels:
        n_other = sum(tally.other_labels.values())
        told = (f"{_quoted(each)} ({count:,})" for each, count in tally.other_labels.most_common())
        is_large = n_other > _SMALL_SHARE * tally.n_rows
        is_large = is_large and share_p_value(0, n_then, n_other, tally.n_rows) < alpha
        text = f"Labels that the model does not know: {listed(told, _N_NAMED)}."
        found.append(_Found("new-label", "alarm" if is_large else "notice", text))
    return (then, now), found


def check_text(facts: CheckFacts) -> str:
    """Return what a check found in plain text, one line a finding."""
    return "\n".join([headline(facts), *(f"  {line}" for line in finding_lines(facts))])


def headline(facts: CheckFacts) -> str:
    """Return the outcome in one sentence."""
    levels = [each["level"] for each in facts["findings"]]
    told = [counted(levels.count(level), level) for level in get_args(Level) if level in levels]
    outcome = "passed" if facts["passed"] else "failed"
    return (
        f"Check {outcome}: {counted(facts['rows_now'], 'row')} against {facts['method']}, which saw "
        f"{facts['rows_then']:,}; {' and '.join(told) if told else 'no differences'}."
    )


def finding_lines(facts: CheckFacts) -> list[str]:
    """Return a line for every finding."""
    return [f"{each['level']:<7} {each['kind']}: {each['text']}" for each in facts["findings"]]
