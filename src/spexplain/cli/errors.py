"""Errors: one sentence and an exit status; tracebacks are for ``--debug``."""

import errno
import sys
import traceback
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
        Exit status; 2 where the files do not fit the command.
    """

    def __init__(self, message: str, *, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def usage_error(message: str) -> NoReturn:
    """Refuse options that do not go together: exit status 2."""
    raise _UsageError(one_line(message))


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
            if error.errno == errno.EPIPE or "os error 32" in str(error):
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
    if ctx.meta.get(DEBUG):
        for line in traceback.format_exc().splitlines():
            indent = line[: len(line) - len(line.lstrip())]
            print(indent + one_line(line), file=sys.stderr)
    first = one_line(sentence.strip()) or "It failed without a message."
    print(f"Error: {first}", file=sys.stderr, flush=True)
    raise typer.Exit(status)


def _file_sentence(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}."
