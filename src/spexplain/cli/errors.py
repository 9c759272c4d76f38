"""Errors of the user, said in one sentence; everything else keeps its traceback for ``--debug``."""

import errno
import sys
import traceback
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

DEBUG = "spexplain.debug"
_N_NAMED = 6
# BadParameter's own parent, which typer exports under no name, does not say "Invalid value" first.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class UserError(Exception):
    """What the user can mend, in one sentence that says how."""


def usage_error(message: str) -> NoReturn:
    """Refuse options that do not go together: exit status 2."""
    raise _UsageError(printable(message))


def listed(names: Iterable[str], n_named: int = _N_NAMED) -> str:
    """Return some names in one line, the first few of many.

    Examples
    --------
    >>> from spexplain.cli.errors import listed
    >>> listed(["a", "b", "c", "d"], 2)
    'a, b and 2 more'
    """
    names = [printable(name) for name in names]
    if len(names) <= n_named:
        return ", ".join(names)
    return f"{', '.join(names[:n_named])} and {len(names) - n_named:,} more"


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a number and its noun.

    Examples
    --------
    >>> from spexplain.cli.errors import counted
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def closest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return the end of a sentence about an unknown name: what may have been meant.

    Examples
    --------
    >>> from spexplain.cli.errors import closest
    >>> closest("specis", ["species", "width"])
    '; did you mean species?'
    """
    known = list(known)
    folded = {each.casefold(): each for each in reversed(known)}
    found = get_close_matches(name.casefold(), folded, n=3, cutoff=cutoff)
    if found:
        return f"; did you mean {' or '.join(printable(folded[each]) for each in found)}?"
    return f" (it has {listed(known, 12)})." if known else "."


def printable(text: str) -> str:
    r"""Return a text without line breaks and escape sequences, which could rewrite the terminal.

    Examples
    --------
    >>> from spexplain.cli.errors import printable
    >>> printable("a\x1b[31m\nb")
    'a [31m b'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


class Commands(TyperGroup):
    """The commands, with one place where their failures become sentences and exit statuses."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; typer itself handles wrong usage (2) and Ctrl-C (130)."""
        try:
            return super().invoke(ctx)
        except UserError as error:
            _fail(ctx, str(error))
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


def _fail(ctx: Any, sentence: str) -> NoReturn:
    """Say what is wrong and exit with status 1."""
    if ctx.meta.get(DEBUG):
        for line in traceback.format_exc().splitlines():
            indent = line[: len(line) - len(line.lstrip())]
            print(indent + printable(line), file=sys.stderr)
    first = printable(sentence.strip()) or "It failed without a message."
    print(f"Error: {first}", file=sys.stderr, flush=True)
    raise typer.Exit(1)


def _file_sentence(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}."
