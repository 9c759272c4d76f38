"""The best rule of a few conditions for one cluster of a table: what a search maximises, and the search.

Import `Task` and `best_rule` from here, and what they search from `space_of`.
"""

from spexplain.rules.search import FoundRule, Space, best_rule
from spexplain.rules.spaces import space_of
from spexplain.rules.task import MEASURES, MeasureName, Task

__all__ = ["MEASURES", "FoundRule", "MeasureName", "Space", "Task", "best_rule", "space_of"]
