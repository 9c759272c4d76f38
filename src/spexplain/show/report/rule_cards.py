"""The report of rules per cluster: one card a cluster, with example documents where texts are given."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spexplain.messages import counted, one_line
from spexplain.show.report.phrases import excerpt, figure, share
from spexplain.show.report.render import rendered_page
from spexplain.show.report.sections import color_class
from spexplain.tree.words import has_or

if TYPE_CHECKING:
    from spexplain.explanation.rule_set import ClusterRule, RuleSet
    from spexplain.tree.rule import Rule

_MOST_OVERLAPS = 12  # pairs of clusters that are listed
_NOT_SAID = ("feature_names", "n_jobs", "verbose")


def render_rules(
    rule_set: "RuleSet", *, title: str | None = None, texts: Sequence[str] | None = None
) -> str:
    """Return the report of rules as one HTML page that loads nothing.

    Parameters
    ----------
    rule_set : RuleSet
        The rules.
    title : str, optional
        Heading of the report.
    texts : sequence of str, optional
        The documents, one per training row: three of every cluster are shown.

    Returns
    -------
    html : str
        The same for the same rules. Names, labels and texts are escaped.
    """
    labels = [one_line(str(label)) for label in rule_set.labels]
    noun = "weight" if rule_set.is_weighted else "rows"
    k = len(labels)
    pairs = sorted(
        (-float(rule_set.overlap[one, other]), one, other)
        for one in range(k)
        for other in range(one + 1, k)
        if rule_set.overlap[one, other] > 0
    )
    covered = 1 - rule_set.uncovered / rule_set.total if rule_set.total else 0.0
    facts: dict[str, Any] = {
        "version": rule_set.version,
        "noun": noun,
        "verdict": (
            f"A rule per cluster covers {share(covered)} of the rows; what the rules predict has a mean F1 of "
            f"{figure(rule_set.macro_f1, 2)}."
        ),
        "tiles": [
            (
                "Mean F1",
                figure(rule_set.macro_f1, 3),
                "of what the rules predict, over the clusters",
            ),
            ("Covered", share(covered), "rows that meet a rule"),
            (
                "Clusters",
                f"{k:,}",
                f"{sum(bool(each.rules) for each in rule_set.clusters):,} with a rule",
            ),
            ("Columns used", f"{len(rule_set.used):,}", f"of {len(rule_set.fields):,}"),
        ],
        "clusters": [_card(rule_set, code, label, texts) for code, label in enumerate(labels)],
        "closing": rule_set.closing_text(),
        "order": [labels[code] for code in rule_set.order],
        "overlaps": [
            (labels[one], labels[other], _weight(-weight))
            for weight, one, other in pairs[:_MOST_OVERLAPS]
        ],
        "settings": [
            (name, one_line(str(value)))
            for name, value in rule_set.parameters.items()
            if name not in _NOT_SAID
        ],
    }
    heading = one_line(title or "") or f"{counted(k, 'cluster')} in a rule each"
    return rendered_page("rule_set.html", {"title": heading, "facts": facts})


def _card(
    rule_set: "RuleSet", code: int, label: str, texts: Sequence[str] | None
) -> dict[str, Any]:
    cluster = rule_set.clusters[code]
    words = [
        word
        for one in (cluster, *cluster.alternatives)
        for rule in one.rules
        for condition in rule.conditions
        for word in condition.parts(rule_set.fields)[1]
    ]
    examples: list[tuple[int, str]] = []
    if texts is not None and rule_set.examples:
        examples = list(zip(rule_set.examples[code], rule_set.example_names[code], strict=True))
    return _facts(rule_set, cluster) | {
        "label": label,
        "color": color_class(code),
        "alternatives": [_facts(rule_set, each) for each in cluster.alternatives],
        "texts": [
            (name, excerpt(str(texts[row]), words)) for row, name in examples if texts is not None
        ],
    }


def _facts(rule_set: "RuleSet", rule: "ClusterRule") -> dict[str, Any]:
    return {
        "rules": [_conditions(rule_set, each) for each in rule.rules],
        "covered": _weight(rule.covered),
        "precision": rule.precision,
        "recall": rule.recall,
        "f1": rule.f1,
    }


def _conditions(rule_set: "RuleSet", rule: "Rule") -> list[tuple[str, list[str]]]:
    """Return the conditions of a rule, in brackets where "or" would be read past an "and"."""
    found = [condition.parts(rule_set.fields) for condition in rule.conditions]
    several = len(found) > 1
    return [
        (f"({text})" if several and not words and has_or(text) else text, words)
        for text, words in found
    ]


def _weight(weight: float) -> str:
    return f"{int(weight):,}" if float(weight).is_integer() else figure(weight)
