"""Rules: conditions on columns, all of which must hold; and their trees, which test the rows."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from spexplain.aliases import Bools
from spexplain.records import Cut
from spexplain.tree.column import Column, as_column
from spexplain.tree.region import Region, any_of_text, word_parts
from spexplain.tree.tree import Tree


class Condition(NamedTuple):
    """A condition: the value of a column, or of at least one of some columns, lies in a region.

    Examples
    --------
    >>> from spexplain.tree import Column, Region
    >>> from spexplain.tree.rule import Condition
    >>> words = [Column("nodes", "word"), Column("digraph", "word")]
    >>> Condition((0, 1), Region(((0.0, float("inf")),), False)).text(words)
    'contains any of "nodes", "digraph"'
    """

    columns: tuple[int, ...]
    region: Region

    def text(self, columns: Sequence[Column | str], most: int | None = None) -> str:
        """Return the condition in words; if asked for, with at most so many values of a list."""
        return any_of_text(self.region, [as_column(columns[each]) for each in self.columns], most)

    def parts(self, columns: Sequence[Column]) -> tuple[str, list[str]]:
        """Return the condition as a text and the words that follow it; without words, the text alone."""
        asked = [columns[each] for each in self.columns]
        return word_parts(self.region, asked) or (self.text(columns), [])


class Rule(NamedTuple):
    """Conditions, all of which must hold.

    Examples
    --------
    >>> from spexplain.tree import Region
    >>> from spexplain.tree.rule import Condition, Rule
    >>> rule = Rule((Condition((1,), Region(((2.0, 5.0),), False)), Condition((0,), Region(((0.0, 1.0),), False))))
    >>> rule.text(["age", "pay"])
    '2 < pay ≤ 5 and 0 < age ≤ 1'
    """

    conditions: tuple[Condition, ...]

    @property
    def used(self) -> list[int]:
        """The columns that it uses, in increasing order."""
        return sorted({column for each in self.conditions for column in each.columns})

    @property
    def size(self) -> int:
        """How many conditions it has; each of several words counts."""
        return sum(len(each.columns) for each in self.conditions)

    def text(self, columns: Sequence[Column | str], most: int | None = None) -> str:
        """Return the rule in one line; if asked for, with at most so many values of a list."""
        from spexplain.tree.words import joined_by_and

        return joined_by_and([each.text(columns, most) for each in self.conditions])

    def tree(self, columns: Sequence[Column]) -> tuple[Tree, Bools]:
        """Return a tree that tests the conditions one by one, and which of its leaves meet all of them."""
        tree = Tree.root(n_features=len(columns), size=0)
        splits, asking, n_nodes = [], [0], 1
        for condition in self.conditions:
            passed: list[int] = []
            for column in condition.columns:
                cut, failed = _cut(column, condition.region, columns[column]), []
                for node in asking:
                    splits.append((node, cut, (0, 0), (np.nan, np.nan)))
                    passed.append(n_nodes)
                    failed.append(n_nodes + 1)
                    n_nodes += 2
                asking = failed
            asking = passed
        tree = tree.grown(splits)
        return tree, np.isin(tree.leaves, asking)


def _cut(feature: int, region: Region, column: Column) -> Cut:
    """Return the test of one region."""
    if column.kind == "category":
        codes = tuple(region.codes(len(column.categories)))
        return Cut(feature, np.nan, np.nan, np.nan, -inf, region.missing, codes)
    lower, upper = region.intervals[0] if region.intervals else (-inf, -inf)
    return Cut(feature, upper, np.nan, np.nan, lower, region.missing, None)
