"""Errors: one sentence and an exit status; tracebacks are for ``--debug``."""

import errno
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from spexplain.messages import one_line

DEBUG = "spexplain.debug"
# BadParameter's own parent, which typer exports under no name, does not say "Invalid value" first.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class UserError(Exception):
    """An error that the user can mend; its message is one sentence that says how.

    Parameters
    ----------
    message : str
        The sentence.
    status : int, default=1
        Exit status; 3 where a check or ``--fail-under`` fails.
    """

    def __init__(self, message: str, *, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def usage_error(message: str) -> NoReturn:
    """Refuse options that do not go together: exit status 2."""
    raise _UsageError(one_line(message))


class Ending:
    """Signals that ask the process to end: it ends as if by an error, so that temporary files go.

    Foreign code that calls back into Python can swallow the exception that a signal raises; before a
    command keeps anything, it therefore asks `check`.
    """

    _received: int | None = None

    @classmethod
    def listen(cls) -> None:
        """End by SIGTERM and, unless a parent such as nohup ignores it, by SIGHUP."""
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                with suppress(ValueError):  # not the main thread
                    signal.signal(number, cls._end)

    @classmethod
    def _end(cls, number: int, frame: object) -> None:
        cls._received = number
        cls.check()

    @classmethod
    def check(cls) -> None:
        """Raise SystemExit if the process was asked to end."""
        if cls._received is not None:
            sys.exit(128 + cls._received)


@contextmanager
def output_errors(name: str) -> Iterator[None]:
    """Give errors of writing, also those that polars words as its own, an errno and a file."""
    try:
        yield
    except Exception as error:
        number = error.errno if isinstance(error, OSError) else None
        found = re.search(r"\(os error (\d+)\)", str(error))
        if number is None and found is not None:
            number = int(found.group(1))
        if number is None:
            raise
        raise OSError(number, os.strerror(number), name) from None


class Commands(TyperGroup):
    """The group of all commands; turns their exceptions into sentences and exit statuses."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; typer itself handles wrong usage (2) and Ctrl-C (130)."""
        try:
            return super().invoke(ctx)
        except UserError as error:
            _fail(ctx, str(error), error.status)
        except (ValueError, TypeError, ImportError) as error:
            # The library refuses bad parameters and tables in sentences of this kind.
            _fail(ctx, str(error))
        except OSError as error:
            if error.errno == errno.EPIPE:
                # The reader of our output has left, as `head` does.
                raise BrokenPipeError(errno.EPIPE, "broken pipe") from None
            _fail(ctx, _file_sentence(error))
        except MemoryError as error:
            # The library's own sentence says what needs how much; NumPy's and Python's do not.
            own = str(error) if type(error) is MemoryError else ""
            _fail(ctx, own or "There is not enough memory for this; fewer rows or columns may do.")
        except Exception as error:
            if _is_usage_error(error):
                raise
            told = f"{type(error).__name__}: {error}".splitlines()[0]
            _fail(ctx, f"Something went wrong inside spexplain ({told}); --debug shows where.")


def _is_usage_error(error: Exception) -> bool:
    """Whether typer handles this itself: wrong usage, or a request to exit."""
    return isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "exit_code")


def _fail(ctx: Any, sentence: str, status: int = 1) -> NoReturn:
    """Say what is wrong and exit."""
    if sys.stderr is None:  # closed: `print` would take standard output instead
        raise typer.Exit(status)
    if ctx.meta.get(DEBUG):
        for line in traceback.format_exc().splitlines():
            indent = line[: len(line) - len(line.lstrip())]
            print(indent + one_line(line), file=sys.stderr)
    first = one_line(sentence.strip()) or "It failed without a message."
    print(f"Error: {first}", file=sys.stderr, flush=True)
    raise typer.Exit(status)


def _file_sentence(error: OSError) -> str:
    if error.strerror is None:
        return str(error)
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"The output could not be written: {error.strerror}."
    return f"{error.strerror}."
