"""Is it any good? A level and plain sentences, computed from what is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from math import comb, log, sqrt
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from spexplain.aliases import Floats
from spexplain.facts.schema import ValidationFacts, VerdictFacts
from spexplain.facts.segments import Clusters
from spexplain.facts.text import lost_text, named_parts, named_text, percent
from spexplain.facts.validation import in_sample_confusion
from spexplain.table.reference import has_label_per_row
from spexplain.tree import Column

Level: TypeAlias = Literal["good", "usable", "weak", "none"]
LEVELS: tuple[Level, ...] = get_args(Level)

NO_BETTER = "No better than guessing; do not use."
# Rows right, and that beyond what chance gives to the same numbers of rows (Cohen's kappa).
_GOOD, _USABLE = (0.9, 0.8), (0.75, 0.5)
_LOOKS_LIKE = 0.3  # share of a cluster in the leaves of another from which on both are mixed up
_SEPARATED = 0.75  # mean recall of two clusters from which on a rule counts as separating them
_WORTH = 0.01  # rows right that a step must add
GOOD_ENOUGH = 0.95  # rows right from which on nothing needs to be done
_LUCK = 0.75  # of the margin, which the best trees for random labels do not reach
_NO_LUCK = 0.9  # of what is possible beyond chance
_FITS_ANY = 0.6  # of the logarithm of the number of trees, from which on they fit any labels
_MOST_MERGES = 40  # clusters up to which all pairs are tried


@dataclass(frozen=True)
class Verdict:
    """Whether an explanation is any good.

    Parameters
    ----------
    level : {"good", "usable", "weak", "none"}
        In one word; "none" is no better than guessing.
    sentences : tuple of str
        The same in words: against guessing, on rows that were left out, the weakest cluster, clusters that
        are lost or mixed up, and the next step.
    facts : dict
        What they are computed from, see `spexplain.facts.schema.VerdictFacts`.

    Examples
    --------
    >>> from spexplain import BestTree
    >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]] * 10
    >>> verdict = BestTree().fit(X, (["new"] * 3 + ["VIP"] * 3) * 10).verdict_
    >>> verdict.level
    'good'
    >>> print(verdict)
    Good: 100% of the rows are put into their own cluster; always guessing VIP is right for 50%.
    Not checked on rows that were left out (validate).
    """

    level: Level
    sentences: tuple[str, ...]
    facts: VerdictFacts

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        return f"<p>{'<br>'.join(map(escape, self.sentences))}</p>"


class OtherSize(NamedTuple):
    """A tree of the same method with another number of leaves."""

    n_leaves: int
    fidelity: float


class Mixed(NamedTuple):
    """Two clusters, of which many rows of the first are in leaves of the second."""

    a: int
    b: int
    share: float  # of the rows of a
    text: str | None  # what would separate them, if anything does, with marks for names
    is_searched: bool = (
        True  # whether the rows were searched for that, not only the tests of the tree
    )


def better_than_guessing(clusters: Clusters, fields: Sequence[Column], n_columns: int) -> bool:
    """Whether more rows are right than trees of this size reach on labels that are drawn at random.

    Hoeffding's bound for every tree, and the number of trees over these columns with as many leaves, give a margin:
    the chance that any of these trees is right for more rows than chance and the margin together is at most one in
    twenty. A test of a number could have as many thresholds as there are rows, a test of categories as many sets as
    there are of that size. The best trees that are found for random labels reach 0.4 to 0.7 of the margin, whatever
    the numbers of rows, columns, categories, clusters and leaves; a tree below three quarters of it may be one of them.

    In few rows, the margin may exceed what is possible. There, a tree that is right nearly everywhere is no accident
    either, unless it has so many leaves that it fits any labels: trees for random labels are right everywhere once the
    logarithm of the number of trees is about twice that of the number of ways to label the rows.
    """
    table = in_sample_confusion(clusters)
    total = float(table.sum())
    if not total:
        return False
    right, chance = _right_and_chance(table)
    n_rows = max(float(clusters.tree.size[0]), 1.0)  # weights do not add thresholds
    n_trees = clusters.tree.n_leaves * log(max(len(clusters.labels), 2))
    for test in clusters.tree.tests.values():
        n_values, n_tests = len(fields[test.feature].categories), log(n_rows)
        if test.values is not None and n_values:
            n_tests = log(n_values) + log(comb(n_values, len(test.values)))
        n_trees += max(log(n_columns) + n_tests, log(2))
    margin = sqrt((n_trees + log(20)) / (2 * n_rows))
    shares = table.sum(axis=1) / total
    shares = shares[shares > 0]
    n_labellings = -n_rows * float(shares @ np.log(shares))  # a logarithm, as is that of the trees
    fits_any = clusters.tree.n_leaves >= n_rows or _FITS_ANY * n_trees >= n_labellings
    return right > chance + min(_LUCK * margin, (1.0 if fits_any else _NO_LUCK) * (1 - chance))


def beats_guessing(validation: ValidationFacts) -> bool:
    """Whether rows that were left out are right more often than by chance: two standard errors apart."""
    right, chance = validation["held_out"]["fidelity"], validation["chance"]
    error = sqrt(max(chance * (1 - chance), 1e-12) / max(validation["rows"], 1))
    return right > chance + 2 * error


def _right_and_chance(table: Floats) -> tuple[float, float]:
    """Return the share of rows that are right, and the share expected by chance for the same counts."""
    total = float(table.sum())
    right = float(np.diagonal(table).sum()) / total
    clusters, predicted = table.sum(axis=1) / total, table.sum(axis=0)[:-1] / total
    return right, float(clusters @ predicted)


def mixed_pairs(clusters: Clusters) -> list[tuple[int, int, float]]:
    """Return pairs of clusters of which the first has many rows in leaves of the second, the most mixed first."""
    table = in_sample_confusion(clusters)
    sizes = np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    shares = (table / sizes)[:, :-1]
    np.fill_diagonal(shares, 0.0)
    found = [(int(a), int(b), float(shares[a, b])) for a, b in np.argwhere(shares >= _LOOKS_LIKE)]
    seen: set[frozenset[int]] = set()
    pairs = []
    for a, b, share in sorted(found, key=lambda each: -each[2]):
        if frozenset((a, b)) not in seen:
            seen.add(frozenset((a, b)))
            pairs.append((a, b, share))
    return pairs


def best_merge(clusters: Clusters) -> tuple[int, int, float] | None:
    """Return the two clusters whose union makes most rows right, and how many; leaves stand for their commonest.

    Only pairs that are confused with each other are worth a look.
    """
    counts = clusters.leaf_counts.astype(np.float64)
    n_clusters, total = counts.shape[1], counts.sum()
    if n_clusters < 3 or n_clusters > _MOST_MERGES or not total:
        return None
    found = []
    for a, b in combinations(range(n_clusters), 2):
        others = np.delete(counts, [a, b], axis=1)
        both = counts[:, [a, b]].sum(axis=1, keepdims=True)
        right = np.hstack([others, both]).max(axis=1).sum() / total
        found.append((a, b, float(right)))
    return max(found, key=lambda each: each[2])


def verdict_of(
    clusters: Clusters,
    fields: Sequence[Column],
    n_columns: int,
    *,
    validation: ValidationFacts | None = None,
    mixed: Sequence[Mixed] = (),
    more_leaves: Sequence[OtherSize] = (),
    leaves_for_all: int | None = None,
) -> Verdict:
    """Return the verdict on an explanation.

    Parameters
    ----------
    clusters : Clusters
        What is explained, and the counts of the leaves.
    fields : sequence of Column
        What the columns of the tree hold.
    n_columns : int
        Number of columns that tests could use.
    validation : dict, optional
        What `validate` found.
    mixed : sequence of Mixed
        Clusters that are mixed up.
    more_leaves : sequence of OtherSize
        Larger trees of the same method.
    leaves_for_all : int, optional
        With how many leaves every cluster has one.
    """
    table = in_sample_confusion(clusters)
    names, clusters = clusters.names, clusters.marked
    total = float(table.sum())
    is_judged = clusters.is_reference or validation is not None
    if len(clusters.labels) < 2 or not clusters.is_counted or not total or not is_judged:
        return _unknown(clusters)
    right, chance = _right_and_chance(table)
    fidelity, held_out = right, validation is not None
    if validation is not None:
        fidelity = validation["held_out"]["fidelity"]
    largest = int(table.sum(axis=1).argmax())
    guessing = float(table.sum(axis=1).max()) / total
    kappa = (fidelity - chance) / (1 - chance) if chance < 1 else 0.0
    lost = [code for code in range(len(clusters.labels)) if not len(clusters.leaves_of(code))]
    is_better = (
        better_than_guessing(clusters, fields, n_columns)
        if validation is None
        else beats_guessing(validation)
    )
    level = _level(fidelity, kappa, is_whole=not lost) if is_better else "none"
    sentences = [NO_BETTER] if level == "none" else []
    where = "rows that were left out" if held_out else "the rows"
    start = "" if level == "none" else f"{level.capitalize()}: "
    sentences.append(
        f"{start}{percent(fidelity)} of {where} are put into their own cluster; always guessing "
        f"{clusters.names[largest]} is right for {percent(guessing)}."
    )
    if validation is not None:
        sentences.append(_loss_text(validation))
    elif level == "none" and fidelity > guessing:
        sentences.append("A tree of this size can be right this often on labels drawn at random.")
    n_clusters, n_rows = len(clusters.labels), int(clusters.tree.size[0])
    if has_label_per_row(n_clusters, n_rows):
        sentences.append(
            f"There are {n_clusters:,} clusters for {n_rows:,} rows, so hardly any two rows share one."
        )
    weakest = _weakest(table)
    if level != "none":
        if validation is None:
            sentences.append("Not checked on rows that were left out (validate).")
        sentences += _weak_text(clusters, table, weakest)
    if lost:
        sentences.append(lost_text([clusters.names[code] for code in lost], leaves_for_all))
    parted = [pair for pair in mixed if pair.text is None]
    if level != "none":
        sentences += [_mixed_text(clusters, pair) for pair in mixed[:3]]
    steps = _next_steps(clusters, right, more_leaves) if level != "none" else []
    if steps:
        sentences.append(f"Next step: {', or '.join(steps)}.")
    facts: VerdictFacts = {
        "level": level,
        "sentences": [named_text(each, names) for each in sentences],
        "parts": [named_parts(each, names) for each in sentences],
        "fidelity": fidelity,
        "held_out": held_out,
        "guessing": guessing,
        "weakest": clusters.labels[weakest],
        "lost": [clusters.labels[code] for code in lost],
        "mixed": [[clusters.labels[each.a], clusters.labels[each.b]] for each in parted],
        "next_steps": [named_text(each, names) for each in steps],
    }
    return Verdict(level, tuple(facts["sentences"]), facts)


def _level(fidelity: float, kappa: float, *, is_whole: bool) -> Level:
    """Return the level of a tree that is better than guessing; only one without lost clusters is good."""
    if fidelity >= _GOOD[0] and kappa >= _GOOD[1] and is_whole:
        return "good"
    return "usable" if fidelity >= _USABLE[0] and kappa >= _USABLE[1] else "weak"


def _unknown(clusters: Clusters) -> Verdict:
    """Return what can be said where nothing is known to compare with."""
    sentence = (
        "There are no clusters to compare the leaves with, so nobody can say how good this tree is."
    )
    if not clusters.is_counted:
        sentence = "This model does not hold the rows of each cluster in every leaf, so nobody can say how good it is."
    facts: VerdictFacts = {
        "level": "weak",
        "sentences": [sentence],
        "parts": [named_parts(sentence, [])],
        "fidelity": None,
        "held_out": False,
        "guessing": None,
        "weakest": None,
        "lost": [],
        "mixed": [],
        "next_steps": [],
    }
    return Verdict("weak", (sentence,), facts)


def _loss_text(validation: ValidationFacts) -> str:
    before, after = validation["in_sample"]["fidelity"], validation["held_out"]["fidelity"]
    loss = before - after
    share = percent(before)
    if loss < 0.02:
        return f"On the rows that the rules were found on it is {share}: they hold on others."
    points = round(100 * loss)
    return (
        f"On the rows that the rules were found on it is {share}: {points} points are lost on others"
        f"{'' if loss < 0.1 else ', so the tree fits these rows too closely'}."
    )


def _weakest(table: Floats) -> int:
    """Return the cluster with the lowest recall."""
    sizes = table.sum(axis=1)
    recalls = np.where(sizes > 0, np.diagonal(table) / np.maximum(sizes, 1e-300), np.inf)
    return int(recalls.argmin())


def _weak_text(clusters: Clusters, table: Floats, weakest: int) -> list[str]:
    if not len(clusters.leaves_of(weakest)):
        return []  # reported as lost
    recall = table[weakest, weakest] / table[weakest].sum()
    if recall >= 0.9:
        return []
    return [
        f"Weakest cluster: {clusters.names[weakest]}, of which the rules catch {percent(float(recall))}."
    ]


def _mixed_text(clusters: Clusters, pair: Mixed) -> str:
    a, b = clusters.names[pair.a], clusters.names[pair.b]
    if pair.text is None and pair.is_searched:
        return f"These columns do not separate {a} from {b}: {percent(pair.share)} of {a} look like {b}."
    mixed = (
        f"This tree mixes {a} and {b} up: {percent(pair.share)} of {a} fall under the rule of {b}."
    )
    if pair.text is None:
        return f"{mixed} Only the rows can tell whether other tests part them."
    return f"{mixed} What separates them{'' if pair.is_searched else ' in this tree'}: {pair.text}"


def _next_steps(clusters: Clusters, right: float, more_leaves: Sequence[OtherSize]) -> list[str]:
    """Return what would make more rows right, with the figure."""
    if right >= GOOD_ENOUGH:
        return []
    steps = []
    larger = [
        each
        for each in more_leaves
        if each.fidelity >= right + _WORTH * (each.n_leaves - clusters.tree.n_leaves)
    ]
    if larger:
        # The fewest leaves that come near the best.
        best = max(each.fidelity for each in larger)
        taken = next(each for each in larger if each.fidelity >= best - _WORTH)
        count = taken.n_leaves - clusters.tree.n_leaves
        steps.append(
            f"{_number(count)} more {'leaf' if count == 1 else 'leaves'}: {percent(taken.fidelity)}"
        )
    merge = best_merge(clusters)
    if merge is not None and merge[2] >= right + 2 * _WORTH:
        a, b, share = merge
        steps.append(f"merge {clusters.names[a]} and {clusters.names[b]}: {percent(share)}")
    return steps


def _number(count: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six")
    return words[count] if count < len(words) else f"{count:,}"


def is_separated(balanced: float) -> bool:
    """Whether a rule separates two clusters, by their mean recall."""
    return balanced >= _SEPARATED
