"""The certificate in plain words, and on a scale."""

from typing import NamedTuple

from spexplain.facts.text import one_line
from spexplain.show.report.phrases import counted, figure
from spexplain.show.report.source import Source

_LONGEST = 4000


class Part(NamedTuple):
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
    parts: list[Part]


def certificate_view(source: Source) -> CertificateView | None:
    """Return the certificate, or None if there is none."""
    facts, text = source.summary["certificate"], source.summary["certificate_text"]
    if facts is None or text is None:
        return None
    bound, found, n_parts = facts["lower_bound"], facts["objective"], facts["n_parts"]
    top = max(bound, found, 1e-12) * 1.1
    return CertificateView(
        _verdict(bound, found, facts["gap"], n_parts),
        round(100 * bound / top, 2),
        round(100 * found / top, 2),
        figure(bound),
        figure(found),
        _parts(text),
    )


def _verdict(bound: float, found: float, gap: float, n_parts: int) -> str:
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


def _parts(text: str) -> list[Part]:
    """Return the sections of the text; their lines are indented, their titles are not."""
    parts: list[Part] = []
    for line in text[:_LONGEST].splitlines():
        if not line.strip():
            continue
        if line.startswith(" ") and parts:
            title, so_far = parts[-1]
            parts[-1] = Part(title, f"{so_far} {one_line(line)}".strip())
        else:
            parts.append(Part(one_line(line), ""))
    return parts
