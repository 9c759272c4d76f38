"""Work in threads of its own leaves nothing behind."""

import gc
import time
import weakref

from spexplain.threads import beside, works_beside


class Table:
    """Something whose end can be seen."""


def test_what_a_waiting_caller_holds_ends_with_it():
    def caller():
        table = Table()
        assert beside(lambda: 42) == 42
        return weakref.ref(table)

    gc.disable()  # what only a collection ends would stay for long, on workers of Dask too
    try:
        table = caller()
        end = time.monotonic() + 30
        while works_beside() and time.monotonic() < end:
            time.sleep(0.01)
        assert table() is None
    finally:
        gc.enable()
