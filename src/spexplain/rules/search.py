"""The search: the best rules of one more condition, kept by the dozen; two conditions exactly; then exchanges.

A rule is a tuple of clauses, all of which must hold; a clause is a tuple of literals, one of which must
hold; a literal is a column and what is asked of it, in the numbers of a `Space`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

from spexplain.aliases import Bools, Ints
from spexplain.rules.task import Task
from spexplain.tree.rule import Rule

Literal: TypeAlias = tuple[int, Any]
Clauses: TypeAlias = tuple[tuple[Literal, ...], ...]

_SAME = 1e-12  # values that differ by less are equal


class FoundRule(NamedTuple):
    """A rule and the measure it has."""

    value: float
    clauses: Clauses
    is_optimal: bool = False  # whether no rule of the space is better
    weight: float = 0.0  # of rules that are equally good, those of the greatest weight come first

    @property
    def size(self) -> int:
        """Number of its literals."""
        return sum(map(len, self.clauses))

    @property
    def rank(self) -> tuple[Any, ...]:
        """Sort key, least for the best rule; ties go to shorter rules, then heavier ones, then earlier columns."""
        return -round(self.value, 12), self.size, -self.weight, self.clauses

    @property
    def key(self) -> frozenset[frozenset[Literal]]:
        """A key that is equal for equal rules."""
        return clauses_key(self.clauses)


def clauses_key(clauses: Clauses) -> frozenset[frozenset[Literal]]:
    """Return a key that is equal for equal rules, whatever the order of their parts."""
    return frozenset(map(frozenset, clauses))


class Space(ABC):
    """All rules over the columns of a table."""

    width: ClassVar[int] = 16  # rules worth keeping at each length; more find nothing better

    def extensions(
        self, clauses: Clauses, task: Task, n_best: int, without: frozenset[int]
    ) -> list[FoundRule]:
        """Return the best rules that have one literal more, on columns that are not `without`.

        Searches come back to the same rules again and again, so answers are kept with the task.
        """
        key = n_best, without, clauses_key(clauses)
        if key not in task.memo:
            task.memo[key] = self._extensions(clauses, task, n_best, without)
        found: list[FoundRule] = task.memo[key]
        return found

    @abstractmethod
    def _extensions(
        self, clauses: Clauses, task: Task, n_best: int, without: frozenset[int]
    ) -> list[FoundRule]:
        """Search for what `extensions` returns."""

    @abstractmethod
    def best_pair(
        self, task: Task, value: float, without: frozenset[int]
    ) -> tuple[FoundRule | None, bool]:
        """Return the best rule of two literals if it is above a value, and whether none can be better."""

    @abstractmethod
    def rows(self, clauses: Clauses) -> Bools:
        """Return the rows that a rule covers."""

    @abstractmethod
    def affinity(self, task: Task) -> Ints:
        """Return how much every row looks like those of the task, to break ties between examples."""

    @abstractmethod
    def simplified(self, clauses: Clauses, task: Task) -> Clauses:
        """Return a shorter form of a rule that covers the same counted rows."""

    @abstractmethod
    def to_rule(self, clauses: Clauses) -> Rule:
        """Return a rule in values of the table."""


def best_rule(
    space: Space,
    task: Task,
    *,
    max_conditions: int = 3,
    width: int = 8,
    without: frozenset[int] = frozenset(),
    exact: bool = True,
) -> FoundRule:
    """Return the best rule of at most so many conditions; of equal ones the shortest.

    Rules of one and of two conditions are the best there are. Longer ones are searched from the best
    shorter ones; then each condition in turn is replaced by the best there is beside the others, until
    nothing improves.

    Parameters
    ----------
    space : Space
        What is searched.
    task : Task
        What is maximised.
    max_conditions : int, default=3
        Most literals.
    width : int, default=8
        How many rules are kept at each length.
    without : frozenset of int
        Columns that must not be used.
    exact : bool, default=True
        Whether pairs of conditions are searched exactly.
    """
    best = FoundRule(task.nothing, (), is_optimal=max_conditions == 0)
    kept: list[FoundRule] = [best]
    is_proved = True
    for n_conditions in range(1, max_conditions + 1):
        found = [
            longer
            for each in kept
            for longer in space.extensions(each.clauses, task, width, without)
        ]
        kept = _best_of(found, width)
        if n_conditions > 1:
            # Exchanges often end at the same few rules; others are better starts for longer ones.
            kept = _best_of(
                [*(_exchanged(space, each, task, without) for each in kept), *kept], width
            )
        if n_conditions == 2 and exact:
            value = max([best.value, *(each.value for each in kept)])
            pair, is_proved = space.best_pair(task, value, without)
            kept = kept if pair is None else _best_of([pair, *kept], width)
        if kept and kept[0].value > best.value + _SAME:
            best = kept[0]
    return best._replace(
        clauses=space.simplified(best.clauses, task),
        is_optimal=max_conditions <= (2 if exact and is_proved else 1),
    )


def _best_of(found: Sequence[FoundRule], width: int) -> list[FoundRule]:
    """Return the best rules, each once."""
    different = {each.key: each for each in reversed(found)}
    return sorted(different.values(), key=lambda each: each.rank)[:width]


def _exchanged(space: Space, start: FoundRule, task: Task, without: frozenset[int]) -> FoundRule:
    """Return a rule in which no single literal can be replaced by a better one."""
    best, is_better = start, True
    while is_better:
        is_better = False
        for rest in _shorter(best.clauses):
            for other in space.extensions(rest, task, 1, without):
                if other.value > best.value + _SAME:
                    best, is_better = other, True
            if is_better:
                break
    return best


def _shorter(clauses: Clauses) -> Iterator[Clauses]:
    """Give the rules that have one literal less."""
    for place, clause in enumerate(clauses):
        for left_out in range(len(clause)):
            rest = clause[:left_out] + clause[left_out + 1 :]
            yield clauses[:place] + ((rest,) if rest else ()) + clauses[place + 1 :]
