"""OpenMP after a fork: the threads of GNU's library do not live on in a forked child, which would wait for ever."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_LIBRARY = "libgomp"  # other OpenMP libraries start their threads anew
_loaded_in = os.getpid()


def is_forked() -> bool:
    """Whether this process was forked from one that had loaded this package."""
    return os.getpid() != _loaded_in


@contextmanager
def fork_safe() -> Iterator[None]:
    """Let OpenMP code inside, such as scikit-learn's, run in one thread in forked processes.

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
