"""Warnings that users can catch by name, and quoting of foreign text in messages."""

import sys
import warnings
from collections.abc import Iterable
from contextvars import ContextVar
from types import FrameType

_LONGEST_QUOTE = 40  # characters
_MOST_QUOTES = 5
# The frame that requested the work of this thread, if it is a helper thread.
waiting_frame: ContextVar[FrameType | None] = ContextVar("waiting_frame", default=None)


class LeafCountWarning(UserWarning):
    """The tree has fewer leaves than were asked for, because no valid cut was left."""


class LostClusterWarning(UserWarning):
    """Some clusters have no leaf that stands for them, although there are as many leaves as clusters."""


class ColumnWarning(UserWarning):
    """A column is left out of the explanation because it names rows or repeats the labels."""


class ClusterCountWarning(UserWarning):
    """The given number of clusters differs from that of the labels, or the labels do not look like clusters."""


class NoiseWarning(UserWarning):
    """Labels other than the integer -1 were taken to mean rows of no cluster."""


class WeightWarning(UserWarning):
    """Weights of rows were given, but the clusterer of the reference does not accept any."""


class RowOrderWarning(UserWarning):
    """The index of the labels or weights has the rows of the table in another order."""


class ProfileWarning(UserWarning):
    """Statistics of the training rows are not available any more, so new rows cannot be compared with them."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn with the location of the first caller outside this package."""
    frame: FrameType | None = waiting_frame.get() or sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("spexplain."):
        if frame.f_back is None:
            break
        frame = frame.f_back
    assert frame is not None
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        str(frame.f_globals.get("__name__", "<unknown>")),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


def quoted(value: object) -> str:
    r"""Return text from a file, quoted for a message: in plain characters and shortened, as it may be hostile.

    Examples
    --------
    >>> from spexplain.exceptions import quoted
    >>> print(quoted("\x1b[31mred"), quoted("x" * 1000)[-5:])
    '\x1b[31mred' xx...
    """
    text = ascii(value)
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "..."


def quoted_list(names: Iterable[object]) -> str:
    """Return a few names from a file, quoted for a message."""
    shown = sorted(map(quoted, names))
    return ", ".join(shown[:_MOST_QUOTES]) + (", ..." if len(shown) > _MOST_QUOTES else "")
