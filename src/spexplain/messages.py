"""Pieces of sentences: numbers with their nouns, lists of names, names in one line."""

import json
from collections.abc import Iterable
from difflib import get_close_matches

_N_NAMED = 6


def one_line(text: str) -> str:
    r"""Return a text without line breaks and escape sequences, which could rewrite a terminal.

    Examples
    --------
    >>> from spexplain.messages import one_line
    >>> one_line("a\x1b[31m\nb")
    'a [31m b'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a number and its noun.

    Examples
    --------
    >>> from spexplain.messages import counted
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "leaf", "leaves")
    ('1 row', '1,200 rows', '2 leaves')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(names: Iterable[str], n_named: int = _N_NAMED) -> str:
    """Return some names in one line, the first few of many.

    Examples
    --------
    >>> from spexplain.messages import listed
    >>> listed(["a", "b", "c", "d"], 2)
    'a, b and 2 more'
    """
    names = [one_line(name) for name in names]
    if len(names) <= n_named:
        return ", ".join(names)
    return f"{', '.join(names[:n_named])} and {len(names) - n_named:,} more"


def excerpt(text: str, longest: int = 60) -> str:
    """Return a value for a sentence: the end of a long one is left out.

    Examples
    --------
    >>> from spexplain.messages import excerpt
    >>> excerpt("about 12"), excerpt("a whole letter", 8)
    ('about 12', 'a whole…')
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def closest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return the end of a sentence about an unknown name, which suggests similar names.

    Examples
    --------
    >>> from spexplain.messages import closest
    >>> closest("specis", ["species", "width"])
    '; did you mean species?'
    >>> closest("species", [" species"])
    '; did you mean " species"?'
    """
    known = list(known)
    folded = {each.casefold(): each for each in reversed(known)}
    found = get_close_matches(name.casefold(), folded, n=3, cutoff=cutoff)
    if found:
        return f"; did you mean {' or '.join(_as_written(folded[each]) for each in found)}?"
    return f" (it has {listed(known, 12)})." if known else "."


def _as_written(name: str) -> str:
    """Return a name in one line, in quotes if spaces or characters that are not shown would be lost."""
    return name if one_line(name) == name else json.dumps(name, ensure_ascii=not name.isprintable())
