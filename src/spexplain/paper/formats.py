"""Numbers as the paper writes them."""


def score(value: float | None) -> str:
    """Return a number between -1 and 1 with three decimals and no leading zero.

    Examples
    --------
    >>> from spexplain.paper.formats import score
    >>> score(0.4296), score(-0.013), score(1.0), score(None)
    ('.430', '-.013', '1', '–')
    """
    if value is None:
        return "–"
    if round(value, 3) in (0.0, 1.0):
        return str(round(value))
    return f"{value:.3f}".replace("0.", ".", 1)


def difference(value: float | None) -> str:
    """Return a difference with its sign, "=" for none.

    Examples
    --------
    >>> from spexplain.paper.formats import difference
    >>> difference(0.0), difference(-0.004), difference(None)
    ('=', '-.004', '')
    """
    if value is None:
        return ""
    return "=" if value == 0 else f"{value:+.3f}".replace("0.", ".", 1)


def price(value: float | None) -> str:
    """Return a price with three decimals."""
    return "–" if value is None else f"{value:.3f}"


def seconds(value: float | None) -> str:
    """Return seconds with three digits, in milliseconds where they are few.

    Examples
    --------
    >>> from spexplain.paper.formats import seconds
    >>> seconds(0.00836), seconds(1.8), seconds(940.0), seconds(None)
    ('8.36 ms', '1.80 s', '940 s', '–')
    """
    if value is None:
        return "–"
    amount, unit = (value, "s") if value >= 1 else (value * 1000, "ms")
    decimals = 2 if amount < 10 else 1 if amount < 100 else 0
    return f"{amount:.{decimals}f} {unit}"


def ratio(ours: float | None, theirs: float | None) -> str:
    """Return how many times as long as ours the paper's took.

    Examples
    --------
    >>> from spexplain.paper.formats import ratio
    >>> ratio(0.5, 100.0), ratio(2.0, 1.0)
    ('200', '0.5')
    """
    if not ours or theirs is None:
        return ""
    times = theirs / ours
    return f"{times:.0f}" if times >= 10 else f"{times:.1f}"
