"""The command line: files in, a tree in the terminal, files out; only `main` is for others."""

import atexit
import errno
import gc
import os
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

_NEEDED = ("typer", "rich", "polars")
# Objects made before garbage is collected: modules make so many while they load that it would happen all the time.
_MANY_OBJECTS = 200_000
_SIGNALLED = 128  # more than this is the exit status of a command that a signal ended


def main() -> int | None:
    """Run the command line; without its extra, say in one sentence how to get it.

    Returns
    -------
    status : int or None
        1 if packages are missing, 130 after Ctrl-C while they are loaded. Otherwise the process ends
        with the exit status of the command: 0 for success, 1 for a failure, 2 for wrong usage, 130
        after Ctrl-C.
    """
    gc.set_threshold(_MANY_OBJECTS)
    atexit.register(gc.disable)  # nor once more at the end, when memory goes back anyway
    try:
        missing = [name for name in _NEEDED if find_spec(name) is None]
        if missing:
            sentence = f"The command line needs {', '.join(missing)}"
            print(f'{sentence}: pip install "spexplain[cli]"', file=sys.stderr)
            return 1
        from spexplain.cli.app import run

        run()
    except KeyboardInterrupt:  # before there is a command that could handle it
        return 130
    except SystemExit as ending:
        _leave_threads(ending.code)
        raise SystemExit(_flushed(ending.code)) from None
    except OSError as error:  # of the help or the version: commands word their own errors
        if error.filename is not None:
            raise
        _say_unwritten(error)
        raise SystemExit(_flushed(1)) from None
    return None


def _say_unwritten(error: OSError) -> None:
    with suppress(OSError, ValueError):
        print(f"Error: The output could not be written: {error.strerror}.", file=sys.stderr)


def _flushed(status: Any) -> Any:
    """Write what is left of the output and return the exit status, which is 1 if output is lost.

    What cannot be written is dropped: otherwise Python would try once more at its end, and fail with a
    status and a message of its own.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except ValueError:  # it is closed
            continue
        except OSError as error:
            with suppress(OSError, ValueError, AttributeError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if not status and error.errno != errno.EPIPE:
                status = 1
                _say_unwritten(error)
    return status


def _leave_threads(status: object) -> None:
    """End at once where a command was interrupted while threads are still at work.

    These threads compile a kernel or belong to polars. A thread of foreign code that calls Python while the
    interpreter shuts down aborts the process with another status and message.
    """
    from spexplain.threads import works_beside

    was_signalled = isinstance(status, int) and status > _SIGNALLED
    if was_signalled or works_beside():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # closed, or there is none
                stream.flush()
        os._exit(status if isinstance(status, int) else 1)
