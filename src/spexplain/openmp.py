"""OpenMP after a fork: threads of GNU's library do not exist in a forked child, which would wait for them for ever."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_LIBRARY = "libgomp"  # other OpenMP libraries restart their threads
_loaded_in = os.getpid()


def is_forked() -> bool:
    """Whether this process was forked from one that had loaded this package."""
    return os.getpid() != _loaded_in


@contextmanager
def fork_safe() -> Iterator[None]:
    """Run OpenMP code inside, such as scikit-learn's, in one thread in forked processes.

    Examples
    --------
    >>> from spexplain.openmp import fork_safe
    >>> with fork_safe():
    ...     print("safe in any process")
    safe in any process
    """
    if not is_forked():
        yield
        return
    from threadpoolctl import ThreadpoolController

    with ThreadpoolController().select(prefix=_LIBRARY).limit(limits=1):
        yield
