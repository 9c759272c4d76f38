"""Texts that a spreadsheet would run as formulas, and how CSV files disarm them."""

import re

# Spreadsheets run cells that start like this; some read the full-width signs of East Asian keyboards too,
# and drop a byte-order mark or NUL characters before them.
FORMULA = "^[\ufeff\0]*[=+\\-@\t\r\n＝＋－＠]"


def disarmed(text: str) -> str:
    """Return the text with an apostrophe in front if a spreadsheet would run it; numbers stay.

    Examples
    --------
    >>> from spexplain.export.spreadsheets import disarmed
    >>> disarmed("=1+1"), disarmed("-1.5"), disarmed("plain")
    ("'=1+1", '-1.5', 'plain')
    """
    if re.match(FORMULA, text) is None:
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text if text[0] in "+-" else f"'{text}"
