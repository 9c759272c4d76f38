"""What a search for rules maximises: a measure of the rows of a cluster that a rule covers, and of the others."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from spexplain.aliases import Bools, Floats, Ints

MeasureName: TypeAlias = Literal["f1", "f2", "f0.5", "balanced"]
# How much more recall counts than precision; none: the mean of both clusters' recalls.
MEASURES: dict[MeasureName, float | None] = {"f1": 1.0, "f2": 2.0, "f0.5": 0.5, "balanced": None}

_LOSS = 1e6  # what a barred row weighs, in weights of all rows together


@dataclass(frozen=True, eq=False)
class Task:
    """The weights of all rows inside and outside a cluster, and the measure of a rule.

    The measure is ``(a tp + b fp + c) / (d tp + e fp + f)`` of what a rule covers inside (tp) and outside
    (fp) of the cluster.

    Parameters
    ----------
    inside, outside : array of float, shape (n_rows,)
        What each row weighs in the cluster, and outside of it. Rows that weigh nothing do not count.
    form : array of float, shape (6,)
        a to f.
    memo : dict
        Where a search keeps what it needs again.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.rules import Task
    >>> task = Task.of(np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    >>> float(task.value(2.0, 1.0)), float(task.value(2.0, 0.0))
    (0.8, 1.0)
    """

    inside: Floats
    outside: Floats
    form: Floats
    memo: dict[Any, Any] = field(default_factory=dict)  # what a space remembers of it

    @classmethod
    def of(
        cls,
        inside: Floats,
        outside: Floats,
        measure: MeasureName | float = "f1",
        covered: Bools | None = None,
        barred: Bools | None = None,
    ) -> Self:
        """Return the task of a cluster.

        Parameters
        ----------
        inside, outside : array of float, shape (n_rows,)
            What each row weighs in the cluster, and outside of it.
        measure : {"f1", "f2", "f0.5", "balanced"} or float, default="f1"
            What is maximised; a number says how much more recall counts than precision.
        covered : array of bool, shape (n_rows,), optional
            Rows that other rules of the cluster cover already: they count neither for nor against a new rule.
        barred : array of bool, shape (n_rows,), optional
            Rows by which a rule loses more than it can win.
        """
        total, others = float(inside.sum()), float(outside.sum())
        beta = MEASURES[measure] if isinstance(measure, str) else measure
        if beta is None:
            form = np.array([0.5 / total, -0.5 / (others or 1.0), 0.5, 0.0, 0.0, 1.0])
        else:
            form = np.array([1 + beta**2, 0.0, 0.0, 1.0, 1.0, beta**2 * total])
        if covered is not None and covered.any():
            tp, fp = float(inside[covered].sum()), float(outside[covered].sum())
            form[2] += form[0] * tp + form[1] * fp
            form[5] += form[3] * tp + form[4] * fp
            inside, outside = np.where(covered, 0.0, inside), np.where(covered, 0.0, outside)
        if barred is not None:
            outside = np.where(barred, _LOSS * (total + others), outside)
        return cls(np.ascontiguousarray(inside), np.ascontiguousarray(outside), form)

    @cached_property
    def rows(self) -> Ints:
        """The rows that count."""
        return np.flatnonzero((self.inside > 0) | (self.outside > 0))

    @property
    def everything(self) -> float:
        """The measure of a rule that covers all rows."""
        return float(self.value(self.inside.sum(), self.outside.sum()))

    @property
    def nothing(self) -> float:
        """The measure of a rule that covers nothing."""
        return float(self.value(0.0, 0.0))

    def value(self, tp: Any, fp: Any) -> Any:
        """Return the measure of what is covered inside and outside."""
        a, b, c, d, e, f = self.form
        return (a * tp + b * fp + c) / (d * tp + e * fp + f)

    def gains(self, value: float) -> tuple[float, float, float]:
        """Return what a row inside, a row outside and no row at all add to the lead over a value."""
        a, b, c, d, e, f = self.form.tolist()
        return a - value * d, b - value * e, c - value * f

    def covered(self, rows: Bools) -> float:
        """Return the measure of a rule that covers some rows."""
        return float(self.value(self.inside[rows].sum(), self.outside[rows].sum()))
