"""Formulas as text: a score that is plain arithmetic is called once with symbols, and written down in C."""

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from spexplain.objectives.base import COMPILABLE
from spexplain.records import Side

# Divided as doubles, whatever the numbers are; the functions are those of ``scores.cu``.
_IN_C: dict[Any, str] = {
    np.add: "({} + {})",
    np.subtract: "({} - {})",
    np.multiply: "({} * {})",
    np.negative: "(-{})",
    np.true_divide: "(real({}) / real({}))",
    np.floor_divide: "floored({}, {})",
    np.minimum: "least({}, {})",
    np.maximum: "most({}, {})",
}
_MOST = 2**31  # whole numbers that C reads as such


@cache
def formula_in_c(score: Callable[..., Any]) -> str | None:
    """Return the text of a formula in the sums of left side, right side and node; None if it has none.

    Its names are ``left_inner`` to ``node_size``.

    Examples
    --------
    >>> from spexplain.engines.cupy.formula import formula_in_c
    >>> from spexplain.objectives.crossing import parted_per_pair
    >>> formula_in_c(parted_per_pair)
    '(real(floored(((node_inner - left_inner) - right_inner), 2)) / real((left_size * right_size)))'
    """
    if score not in COMPILABLE:
        return None
    terms = [_Term("_".join(name)) for name in product(("left", "right", "node"), Side._fields)]
    try:
        found = score(Side(*terms[:3]), Side(*terms[3:6]), Side(*terms[6:]))
    except TypeError:  # it does something that has no text
        return None
    return found.text if isinstance(found, _Term) else None


class _Term(NDArrayOperatorsMixin):
    """A part of a formula, which writes down what is done to it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        texts = [_text_of(each) for each in inputs]
        pattern = _IN_C.get(ufunc) if method == "__call__" and not options else None
        if pattern is None or None in texts:
            return NotImplemented
        return _Term(pattern.format(*texts))


def _text_of(value: Any) -> str | None:
    if isinstance(value, _Term):
        return value.text
    is_short = isinstance(value, int) and abs(value) < _MOST
    return repr(value) if is_short or (isinstance(value, float) and np.isfinite(value)) else None
