"""The report of rules per cluster: one card a cluster, with example documents where texts are given."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spexplain.facts.schema import plain_label
from spexplain.facts.text import amount_figure
from spexplain.messages import counted, one_line
from spexplain.show.report.phrases import (
    clipped_names,
    condition_of,
    excerpt,
    share,
    shown_labels,
    shown_values,
)
from spexplain.show.report.render import rendered_page
from spexplain.show.report.sections import color_class, share_bar

if TYPE_CHECKING:
    from spexplain.explanation.rule_set import ClusterRule, RuleSet
    from spexplain.tree.rule import Rule

_MOST_OVERLAPS = 12  # pairs of clusters that are listed
_MEASURES = {
    "f1": "F1",
    "f2": "F2",
    "f0.5": "F0.5",
    "balanced": "mean recall of the cluster and the rest",
}
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
    labels = shown_labels([plain_label(label) for label in rule_set.labels])
    rule_set = _shown(rule_set)
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
            f"{_what_tells(rule_set)} {share(covered)} of the {noun}; what they predict has a mean F1 of "
            f"{rule_set.macro_f1:.3f}."
        ),
        "tiles": [
            (
                "Mean F1",
                f"{rule_set.macro_f1:.3f}",
                "of what the rules predict, over the clusters",
            ),
            (
                "Covered",
                share(covered),
                f"{noun} that meet{'s' if rule_set.is_weighted else ''} a rule",
            ),
            (
                "Clusters",
                f"{k:,}",
                f"{sum(bool(each.rules) for each in rule_set.clusters):,} with a rule",
            ),
            ("Columns used", f"{len(rule_set.used):,}", f"of {len(rule_set.fields):,}"),
        ],
        "clusters": [_card(rule_set, code, label, texts) for code, label in enumerate(labels)],
        "closing": rule_set.closing_text(),
        "is_weighted": rule_set.is_weighted,
        "measure": _MEASURES.get(rule_set.measure, rule_set.measure),
        "most": counted(int(str(rule_set.parameters.get("max_conditions", 2))), "condition"),
        "order": [labels[code] for code in rule_set.order],
        "overlaps": [
            (labels[one], labels[other], amount_figure(-weight))
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


def _what_tells(rule_set: "RuleSet") -> str:
    """Return the beginning of the first sentence."""
    n_rules = sum(len(each.rules) for each in rule_set.clusters)
    n_clusters = sum(bool(each.rules) for each in rule_set.clusters)
    verb = "covers" if n_rules == 1 else "cover"
    return f"{counted(n_rules, 'rule')} for {counted(n_clusters, 'cluster')} {verb}"


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
    color = color_class(code)
    return _facts(rule_set, cluster) | {
        "label": label,
        "color": color,
        "rows": amount_figure(cluster.total),
        "share": cluster.total / rule_set.total if rule_set.total else 0.0,
        "precision_bar": share_bar(
            cluster.precision,
            f"{share(cluster.precision)} of the rows it holds for are right",
            color,
        ),
        "recall_bar": share_bar(
            cluster.recall, f"{share(cluster.recall)} of the cluster meets it", color
        ),
        "alternatives": [_facts(rule_set, each) for each in cluster.alternatives],
        "texts": [
            (name, excerpt(str(texts[row]), words)) for row, name in examples if texts is not None
        ],
    }


def _facts(rule_set: "RuleSet", rule: "ClusterRule") -> dict[str, Any]:
    return {
        "rules": [_conditions(rule_set, each) for each in rule.rules],
        "covered": amount_figure(rule.covered),
        "precision": rule.precision,
        "recall": rule.recall,
        "f1": f"{rule.f1:.3f}",
        "proved": rule.is_optimal,
    }


def _shown(rule_set: "RuleSet") -> "RuleSet":
    """Return the rules with names of columns and of values that are short enough to be read."""
    used = set(rule_set.used)
    names = clipped_names({each: rule_set.names[each] for each in used})
    fields = [
        replace(each, name=names[place], categories=shown_values(each.categories))
        if place in used
        else each
        for place, each in enumerate(rule_set.fields)
    ]
    return replace(rule_set, fields=fields)


def _conditions(rule_set: "RuleSet", rule: "Rule") -> list[dict[str, Any]]:
    """Return the conditions of a rule: what is said before words, and these; or pieces, any of which holds."""
    found = []
    for condition in rule.conditions:
        asked = [rule_set.fields[each] for each in condition.columns]
        lead, words = condition.parts(rule_set.fields)
        pieces = [piece for each in asked for piece in condition_of(condition.region, each)]
        found.append({"lead": lead, "words": words, "pieces": pieces})
    return found
